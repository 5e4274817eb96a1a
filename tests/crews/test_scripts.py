"""The recorded replies: each has its shape, fails first for a reason, and is really repaired."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from lavagna_crew.models.errors import InvalidReply, NoScript
from lavagna_crew.models.port import Message, Prompt
from lavagna_crew.models.scripted import Script, ScriptedModel, read, scripts
from lavagna_crew.models.shapes import Shape
from lavagna_crew.program import Plan, suite_file
from lavagna_crew.records import Design, Goal, Task
from lavagna_crew.roles.ceo import GOAL, VERDICT
from lavagna_crew.roles.cto import DESIGN
from lavagna_crew.roles.programmer import CODE
from lavagna_crew.roles.tester import SUITE
from lavagna_crew.roles.voter import OPINION
from lavagna_crew.sandbox.suites import SuiteRun, run_suite
from lavagna_crew.terms import DESIGNS_MAX

SHAPES = {"cto": DESIGN, "tester": SUITE, "programmer": CODE}

each_script = pytest.mark.parametrize("script", scripts(), ids=lambda script: script.name)


def shape_of(turn: str) -> Shape:
    """The shape that a turn's reply must have."""
    role, _, rest = turn.partition("/")
    if role == "ceo":
        return GOAL if rest == "goal" else VERDICT
    return OPINION if rest.startswith("vote-") else SHAPES[role]


def designs(script: Script) -> list[Mapping[str, Any]]:
    """The designs that the script's CTO proposes, in order."""
    return [reply for turn, reply in script.replies.items() if turn.startswith("cto/design-")]


def choices(script: Script, edition: int) -> list[str]:
    """How all vote on a design, its author first."""
    votes = [
        reply["choice"]
        for turn, reply in script.replies.items()
        if turn.endswith(f"/vote-{edition}")
    ]
    return ["accept", *votes]


def plan_of(script: Script) -> Plan:
    """The plan that is accepted in the end."""
    edition = len(designs(script))
    design = designs(script)[-1]
    tasks = {task["name"]: cast("Task", task) for task in design["tasks"]}
    goal = cast("Goal", script.replies["ceo/goal"])
    accepted = Design(edition=edition, summary=design["summary"], tasks=list(tasks), parts=tasks)
    return Plan(goal, accepted, tasks)


def attempts(script: Script, task: str) -> list[dict[str, str]]:
    """The code that the script's programmers hand in for a task, in order."""
    replies = [
        reply
        for turn, reply in script.replies.items()
        if turn.startswith(f"programmer/{task}/") and not reply["objection"]
    ]
    return [{file["path"]: file["text"] for file in reply["files"]} for reply in replies]


def suites(script: Script, task: str) -> list[dict[str, str]]:
    """The editions of a task's tests, in order."""
    prefix = f"tester/{task}/suite-"
    return [
        {suite_file(task): reply["text"]}
        for turn, reply in script.replies.items()
        if turn.startswith(prefix)
    ]


def finished(script: Script, tasks: list[str]) -> dict[str, str]:
    """The code of these tasks as it is in the end."""
    return {name: text for task in tasks for name, text in attempts(script, task)[-1].items()}


async def outcomes(script: Script) -> Mapping[str, list[SuiteRun]]:
    """What comes of every attempt at every task, under the newest tests of then."""
    whole, runs = plan_of(script), dict[str, list[SuiteRun]]()
    for task in whole.tasks:
        base = finished(script, whole.foundations(task))
        tests = suites(script, task)[-1]
        runs[task] = [await run_suite({**base, **code, **tests}) for code in attempts(script, task)]
    return runs


def test_there_are_at_least_three_scripts_and_each_task_is_another() -> None:
    names = {script.name for script in scripts()}
    tasks = {script.task for script in scripts()}

    assert len(names) == len(tasks) == len(scripts()) >= 3


@each_script
def test_every_reply_has_the_shape_that_its_turn_asks_for(script: Script) -> None:
    invalid = {
        turn: outcome
        for turn, reply in script.replies.items()
        if not hasattr(outcome := shape_of(turn).judge(reply), "value")
    }

    assert invalid == {}


@each_script
def test_everybody_votes_on_every_design_and_only_the_last_one_is_accepted(script: Script) -> None:
    accepted = [choices(script, edition).count("accept") for edition in range(1, DESIGNS_MAX + 1)]
    count = len(designs(script))

    assert all(len(choices(script, edition)) == 4 for edition in range(1, count + 1))
    assert [votes >= 3 for votes in accepted[:count]] == [False] * (count - 1) + [True]
    before = {task["brief"] for design in designs(script)[:-1] for task in design["tasks"]}
    assert before.isdisjoint(task["brief"] for task in designs(script)[-1]["tasks"])


def test_somebody_is_outvoted_and_a_design_is_rejected_in_some_script() -> None:
    last = [choices(script, len(designs(script))) for script in scripts()]

    assert any("reject" in voted for voted in last)
    assert any(len(designs(script)) > 1 for script in scripts())


@each_script
async def test_a_first_attempt_really_fails_and_its_repair_really_passes(script: Script) -> None:
    runs = await outcomes(script)

    repaired = {task: tries for task, tries in runs.items() if not tries[0].ok}
    assert len(repaired) >= 1
    assert {task: tries[-1].failures for task, tries in runs.items()} == dict.fromkeys(runs, ())
    for tries in repaired.values():
        assert tries[0].passed >= 1
        assert not tries[0].timed_out


@each_script
async def test_the_whole_program_passes_all_of_its_tests(script: Script) -> None:
    tasks = list(plan_of(script).tasks)
    tests = {name: text for task in tasks for name, text in suites(script, task)[-1].items()}

    run = await run_suite({**finished(script, tasks), **tests})

    assert run.failures == ()
    assert run.passed >= 10
    assert run.output == ""


async def test_the_objection_in_the_script_is_right_about_the_tests() -> None:
    (roman,) = [script for script in scripts() if script.name == "roman"]
    before, after = suites(roman, "numerals")
    code = finished(roman, ["numerals"])

    (failure,) = (await run_suite({**code, **before})).failures
    assert failure.test.endswith("test_eight_may_be_written_as_two_before_ten")
    assert (await run_suite({**code, **after})).ok


async def test_a_scripted_model_gives_the_same_reply_every_time_and_spends_nothing() -> None:
    script = Script("a", "b", {"turn": {"note": "n", "text": "t"}})
    model = ScriptedModel(script, pace=0)
    prompt = Prompt("turn", "role", (Message("user", "go"),), SUITE)

    first, second = await model.reply(prompt), await model.reply(prompt)

    assert first == second
    assert first.value == {"note": "n", "text": "t"}
    assert (first.tokens.prompt, first.tokens.completion, first.model) == (0, 0, "scripted")


@pytest.mark.parametrize(
    ("replies", "error"),
    [({}, NoScript), ({"turn": {"note": 1}}, InvalidReply)],
    ids=["no reply", "another shape"],
)
async def test_a_script_that_does_not_fit_is_an_error(
    replies: Mapping[str, Any], error: type[Exception]
) -> None:
    model = ScriptedModel(Script("a", "b", replies), pace=0)

    with pytest.raises(error, match=r"turn|suite"):
        await model.reply(Prompt("turn", "role", (), SUITE))


def test_long_texts_of_a_recording_are_lines_in_its_file() -> None:
    recording = '{"name": "n", "task": "t", "replies": {"a": {"text": {"lines": ["x", "", "y"]}}}}'

    assert read(recording).replies == {"a": {"text": "x\n\ny\n"}}
    assert read(recording).seconds == {}


def test_a_recording_may_say_how_long_a_turn_takes() -> None:
    recording = '{"name": "n", "task": "t", "seconds": {"a": 1.5}, "replies": {"a": {}}}'

    assert read(recording).seconds == {"a": 1.5}
