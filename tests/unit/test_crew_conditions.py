"""When the crew wakes: the conditions of its triggers, evaluated as the server does."""

from collections.abc import Mapping
from typing import Any

import pytest

from lavagna_crew.roles.ceo import DISAGREED, HOPELESS, STALE
from lavagna_crew.roles.cto import NEXT, UNDIVIDED
from lavagna_crew.roles.programmer import BROKEN, CRITICISED, READY
from lavagna_crew.roles.tester import COMPLETE, UNTESTED
from lavagna_crew.terms import (
    BRIEF_CHARACTERS_MAX,
    DESIGNS_MAX,
    FAILURE_CHARACTERS_MAX,
    FAILURES_MAX,
    NOTE_CHARACTERS_MAX,
    TRIES_MAX,
)
from lavagna_server.conditions.cel import CelConditions
from lavagna_server.domain.limits import Limits

CONDITIONS = CelConditions(Limits())


def holds(
    condition: str,
    value: Mapping[str, Any],
    board: Mapping[str, Any],
    task: str = "a",
    old: Mapping[str, Any] | None = None,
) -> bool:
    """Whether a condition holds for an entry's value on a board; that it can be evaluated."""
    before = None if old is None else {"value": old}
    names = {"entry": {"value": value}, "old": before, "board": board, "bind": {"task": task}}
    outcome = CONDITIONS.condition(condition, field="when").evaluate(names)
    assert not outcome.error
    return bool(outcome.value)


def result(*, ok: bool, attempt: int = 1, edition: int = 1) -> Mapping[str, Any]:
    """What the tester writes."""
    return {"ok": ok, "attempt": attempt, "edition": edition}


@pytest.mark.parametrize(
    ("board", "ready"),
    [
        ({}, False),
        ({"results/b": result(ok=True)}, False),
        ({"results/b": result(ok=True), "results/c": result(ok=False)}, False),
        ({"results/b": result(ok=True), "results/c": result(ok=True)}, True),
        (
            {
                "results/b": result(ok=True),
                "results/c": result(ok=True),
                "submissions/a": {"attempt": 1},
            },
            False,
        ),
    ],
    ids=["nothing", "half", "one fails", "all pass", "begun"],
)
def test_a_task_is_written_once_all_that_it_builds_on_passes(
    board: Mapping[str, Any], ready: bool
) -> None:
    assert holds(READY, {"depends_on": ["b", "c"]}, board) is ready


def test_a_task_that_builds_on_nothing_is_ready_at_once() -> None:
    assert holds(READY, {"depends_on": []}, {})


@pytest.mark.parametrize(
    ("board", "untested"),
    [
        ({}, False),
        ({"suites/a": {"edition": 1}}, True),
        ({"suites/a": {"edition": 1}, "results/a": result(ok=False)}, True),
        ({"suites/a": {"edition": 1}, "results/a": result(ok=False, attempt=2)}, False),
        ({"suites/a": {"edition": 2}, "results/a": result(ok=False, attempt=2)}, True),
    ],
    ids=["no tests yet", "never run", "an older attempt", "run", "an older edition"],
)
def test_tests_are_run_when_their_result_is_not_about_just_these(
    board: Mapping[str, Any], untested: bool
) -> None:
    assert holds(UNTESTED, {"attempt": 2}, board) is untested


@pytest.mark.parametrize(
    ("value", "more", "broken"),
    [
        (result(ok=True), {}, False),
        (result(ok=False), {}, True),
        (result(ok=False), {"submissions/a": {"attempt": 2}}, False),
        (result(ok=False), {"suites/a": {"edition": 2}}, False),
        (result(ok=False), {"objections/a": {"edition": 1, "attempt": 1}}, False),
        (
            result(ok=False, edition=2),
            {"suites/a": {"edition": 2}, "objections/a": {"edition": 1, "attempt": 1}},
            True,
        ),
        (
            result(ok=False, attempt=TRIES_MAX - 1),
            {"submissions/a": {"attempt": TRIES_MAX - 1}},
            False,
        ),
    ],
    ids=["passes", "fails", "repaired", "tests revised", "objected", "overruled", "hopeless"],
)
def test_code_is_repaired_when_its_newest_attempt_fails_the_newest_tests(
    value: Mapping[str, Any], more: Mapping[str, Any], broken: bool
) -> None:
    board = {"submissions/a": {"attempt": 1}, "suites/a": {"edition": 1}, **more}

    assert holds(BROKEN, value, board) is broken


def test_a_task_is_given_up_exactly_when_it_is_not_repaired_any_more() -> None:
    for attempt in range(1, TRIES_MAX):
        board = {"submissions/a": {"attempt": attempt}, "suites/a": {"edition": 1}}
        value = result(ok=False, attempt=attempt)
        assert holds(BROKEN, value, board) is not holds(HOPELESS, value, {})

    settled = {"verdict": {"final": True}}
    assert not holds(HOPELESS, result(ok=False, attempt=TRIES_MAX), settled)


@pytest.mark.parametrize(
    ("more", "complete"),
    [
        ({}, True),
        ({"results/b": result(ok=False)}, False),
        ({"submissions/b": {"attempt": 2}}, False),
        ({"report": {"attempts": {"a": 1, "b": 1}}}, False),
        ({"report": {"attempts": {"a": 1, "b": 0}}}, True),
    ],
    ids=["all pass", "one fails", "one is being reworked", "reported", "reported before"],
)
def test_the_program_is_tested_when_every_newest_attempt_passes_and_no_report_says_so(
    more: Mapping[str, Any], complete: bool
) -> None:
    board = {
        "results/a": result(ok=True),
        "results/b": result(ok=True),
        "submissions/a": {"attempt": 1},
        "submissions/b": {"attempt": 1},
        **more,
    }

    assert holds(COMPLETE, {"tasks": ["a", "b"]}, board) is complete


def test_the_ceo_judges_each_report_once() -> None:
    assert holds(STALE, {"round": 1}, {})
    assert not holds(STALE, {"round": 1}, {"verdict": {"round": 1}})
    assert holds(STALE, {"round": 2}, {"verdict": {"round": 1}})


def test_a_review_is_about_the_attempt_that_it_names() -> None:
    assert holds(CRITICISED, {"attempt": 1}, {"submissions/a": {"attempt": 1}})
    assert not holds(CRITICISED, {"attempt": 1}, {"submissions/a": {"attempt": 2}})


def test_the_crew_gives_up_exactly_when_no_better_design_is_tried() -> None:
    for edition in range(1, DESIGNS_MAX + 1):
        again = holds(NEXT, {}, {}, old={"edition": edition})
        assert again is not holds(DISAGREED, {}, {}, old={"edition": edition})
        assert again is (edition < DESIGNS_MAX)
        for condition in (NEXT, DISAGREED):
            assert not holds(condition, {}, {"design": {}}, old={"edition": edition})


def test_tasks_are_handed_out_until_all_are_there() -> None:
    assert holds(UNDIVIDED, {"tasks": ["a", "b"]}, {"tasks/a": {}})
    assert not holds(UNDIVIDED, {"tasks": ["a", "b"]}, {"tasks/a": {}, "tasks/b": {}})


def test_the_largest_program_that_a_crew_may_plan_stays_within_what_a_condition_may_cost() -> None:
    names = [f"task-{number}" for number in range(8)]
    failure = {"test": "t" * 200, "text": "x" * FAILURE_CHARACTERS_MAX}
    note = "n" * NOTE_CHARACTERS_MAX
    board: dict[str, Any] = {"report": {"attempts": dict.fromkeys(names, 0)}}
    for name in names:
        board[f"results/{name}"] = {**result(ok=True), "failures": [failure] * FAILURES_MAX}
        board[f"submissions/{name}"] = {"attempt": 1, "files": ["f.py"] * 4, "note": note}
    task = {"depends_on": names[1:], "brief": "b" * BRIEF_CHARACTERS_MAX}

    design = {"tasks": names, "summary": note, "parts": dict.fromkeys(names, task)}
    assert holds(COMPLETE, design, board)
    assert holds(UNDIVIDED, design, {f"tasks/{name}": task for name in names[1:]})
    assert holds(NEXT, {}, {}, old={**design, "edition": 1})
    assert holds(READY, task, board, task="another")
    assert not holds(READY, task, board, task=names[0])
