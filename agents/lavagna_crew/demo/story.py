"""The story of a crew: what its entries and activations say, in words for people."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lavagna import Activation, ChangeType, Choice, Entry, Kind
from lavagna_crew import keys

FAILED_SHOWN_MAX = 3

DEEDS: Mapping[str, str] = {
    "set_goal": "sets the goal",
    "design": "designs the program",
    "redesign": "designs it better",
    "weigh_design": "weighs the design",
    "hand_out": "hands out the tasks",
    "give_up_design": "gives the design up",
    "write_tests": "writes the tests of {task}",
    "build": "writes {task}",
    "run_tests": "runs the tests of {task}",
    "repair": "repairs {task}",
    "revise_tests": "looks at the tests of {task} again",
    "report": "tests the whole program",
    "judge": "judges the program",
    "rework": "does {task} better",
    "give_up": "gives {task} up",
}
"""What the functions behind the triggers do."""


def deed(activation: Activation) -> str:
    """What whoever works on an activation does."""
    verb = activation.trigger_id.rpartition(".")[2]
    return DEEDS.get(verb, verb).format(task=activation.bind.get("task", activation.key))


def told(entry: Entry) -> str | None:
    """What an entry says; None for those that say nothing to people."""
    if entry.kind is not Kind.NOTE:
        return DEBATE[entry.kind](entry) if entry.kind in DEBATE else None
    first, _, rest = entry.key.partition("/")
    teller = TELLERS.get(first)
    return teller(rest, entry.value) if teller and entry.exists else None


def _proposal(entry: Entry) -> str:
    if entry.change is ChangeType.DECIDED:
        poll = entry.basis["poll"]
        return f"the {poll['target']} is {poll['outcome'].upper()}: {poll['reason']}"
    if not entry.key.startswith(f"{keys.DESIGN}/"):
        return f"proposes another {entry.key.rpartition('/')[0]}"
    value = entry.value
    tasks = ", ".join(value["tasks"])
    return f"proposes design {value['edition']}, split into {tasks}. {value['summary']}"


def _ballot(entry: Entry) -> str:
    reason = f": {entry.value['reason']}" if entry.value["reason"] else ""
    return f"votes {VOTES[Choice(entry.value['choice'])]}{_sure(entry)}{reason}"


def _claim(entry: Entry) -> str | None:
    return f"estimates {hours(entry.value)}{_sure(entry)}" if entry.exists else None


def _sure(entry: Entry) -> str:
    return "" if entry.confidence is None else f", {entry.confidence:.0%} sure"


VOTES = {Choice.ACCEPT: "yes", Choice.REJECT: "NO", Choice.ABSTAIN: "neither yes nor no"}
"""Choices, as people say them."""

DEBATE: Mapping[Kind, Callable[[Entry], str | None]] = {
    Kind.PROPOSAL: _proposal,
    Kind.BALLOT: _ballot,
    Kind.CLAIM: _claim,
}


def hours(value: float) -> str:
    """A time that work takes."""
    return f"{value:g} {'hour' if value == 1 else 'hours'}"


def _request(_: str, value: Any) -> str:
    return f"asks: {value['task']}"


def _presence(_: str, value: Any) -> str:
    return f"is up, process {value['process']}"


def _goal(_: str, value: Any) -> str:
    return f"sets the goal: {value['title']}. {value['statement']}"


def _suite(task: str, value: Any) -> str:
    again = f", edition {value['edition']}" if value["edition"] > 1 else ""
    return f"has tests for {task}{again}: {value['note']}"


def _submission(task: str, value: Any) -> str:
    return f"hands in {task}, attempt {value['attempt']}: {value['note']}"


def _result(task: str, value: Any) -> str:
    return f"{task}, attempt {value['attempt']}: {outcome(value)}"


def _objection(task: str, value: Any) -> str:
    return f"objects to the tests of {task}: {value['objection']}"


def _report(_: str, value: Any) -> str:
    return f"the whole program: {outcome(value)}"


def _review(task: str, value: Any) -> str:
    return f"wants {task} done better: {value['remark']}"


def _verdict(_: str, value: Any) -> str:
    return f"{'accepts' if value['accepted'] else 'rejects'} the program: {value['reason']}"


TELLERS = {
    "request": _request,
    "crew": _presence,
    "goal": _goal,
    "suites": _suite,
    "submissions": _submission,
    "results": _result,
    "objections": _objection,
    "report": _report,
    "reviews": _review,
    "verdict": _verdict,
}


def outcome(value: Mapping[str, Any]) -> str:
    """How tests came out: `9 passed, 2 FAILED (test_a, test_b)`."""
    passed = f"{value['passed']} passed"
    if value["ok"]:
        return passed
    why = "out of time" if value["timed_out"] else "out of memory" if value["out_of_memory"] else ""
    names = ", ".join(_names(value)) + (f"; {why}" if why else "")
    return f"{passed}, {value['failed']} FAILED ({names})"


def _names(value: Mapping[str, Any]) -> Iterator[str]:
    tests = [failure["test"].split(" ")[0].rpartition(".")[2] for failure in value["failures"]]
    distinct = list(dict.fromkeys(tests))
    yield from distinct[:FAILED_SHOWN_MAX]
    if len(distinct) > FAILED_SHOWN_MAX:
        yield "…"
