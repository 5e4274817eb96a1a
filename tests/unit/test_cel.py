"""Conditions and ratings in CEL: what they see, what they may say, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lavagna_server.conditions.cel import CelConditions
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits

NOW = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
CEL = CelConditions(Limits())


def entry(value: Any = None, **fields: Any) -> dict[str, Any]:
    return {
        "key": "tasks/7",
        "kind": "note",
        "value": value,
        "version": 2,
        "revision": 9,
        "change": "updated",
        "author": "cto",
        "tags": ("urgent", "backend"),
        "confidence": None,
        "sources": (),
        "basis": {},
        "committed_at": NOW - timedelta(minutes=5),
        **fields,
    }


def names(value: Any = None, **others: Any) -> Mapping[str, Any]:
    return {
        "entry": entry(value),
        "old": None,
        "board": {},
        "bind": {"task": "7"},
        "now": NOW,
        **others,
    }


TASK = {"status": "ready", "priority": 3, "weight": 2.5, "needs": ["design", "tests"], "note": None}


@pytest.mark.parametrize(
    ("source", "holds"),
    [
        ("entry.value.status == 'ready'", True),
        ("entry.value.status == 'done'", False),
        ("entry.value.priority > 2 && entry.value.weight < 3", True),
        ("entry.value.priority >= 2.5", True),
        ("entry.value.priority == 3 && type(entry.value.priority) == int", True),
        ("entry.value.note == null", True),
        ("has(entry.value.status) && !has(entry.value.owner)", True),
        ("entry.key == 'tasks/' + bind.task", True),
        ("entry.key.split('/')[1] == bind.task", True),
        ("entry.kind == 'note' && entry.change == 'updated' && entry.author == 'cto'", True),
        ("entry.version == 2 && entry.revision == 9", True),
        ("'urgent' in entry.tags && entry.sources.size() == 0", True),
        ("entry.confidence == null", True),
        ("now - entry.committed_at == duration('5m')", True),
        ("now.getHours() == 12 && now.getHours('Europe/Rome') == 14", True),
        ("old == null", True),
        ("entry.value.needs.all(need, board[need].done)", True),
        ("board.exists(key, board[key].done == false)", False),
        ("'design' in board && board.design.done", True),
        ("entry.value.needs.filter(need, board[need].done).size() >= 2", True),
        ("entry.value.needs.exists_one(need, need == 'tests')", True),
        ("entry.value.status.matches('^rea(dy|son)$')", True),
        ("entry.value.status.startsWith('re') && entry.value.status.contains('ead')", True),
        ("entry.value.status.upperAscii() == 'READY'", True),
        ("entry.value.needs.map(need, need.size()) == [6, 5]", True),
    ],
)
def test_a_condition_sees_the_entry_the_board_the_bindings_and_the_time(
    source: str, holds: bool
) -> None:
    board = {"design": {"done": True}, "tests": {"done": True}}
    outcome = CEL.condition(source, field="when").evaluate(names(TASK, board=board))
    assert outcome == (holds, "")


def test_a_condition_sees_what_the_entry_was() -> None:
    condition = CEL.condition(
        "old.value.status != entry.value.status && old.version + 1 == entry.version", field="when"
    )
    before = entry({"status": "open"}, version=1)
    assert condition.evaluate(names({"status": "ready"}, old=before)) == (True, "")
    assert condition.evaluate(names({"status": "open"}, old=before)) == (False, "")


@pytest.mark.parametrize(
    "value", [True, 3, -(2**63), 2**63 - 1, 2.5, "text", b"bytes", None, [], {}, ["x", {"y": [1]}]]
)
def test_every_value_arrives_as_it_is(value: Any) -> None:
    assert CEL.condition("entry.value == old.value", field="when").evaluate(
        names(value, old=entry(value))
    ) == (True, "")
    assert CEL.condition("entry.value == [7]", field="when").evaluate(names(value)) == (False, "")


def test_an_empty_condition_holds_and_an_empty_rating_is_zero() -> None:
    assert CEL.condition("", field="when").evaluate(names()) == (True, "")
    assert CEL.rating("", field="rating").evaluate(names()) == (0, "")


def test_a_rating_is_an_integer() -> None:
    assert CEL.rating("entry.value.priority", field="rating").evaluate(names(TASK)) == (3, "")
    assert CEL.rating("entry.value.status == 'ready' ? 10 : 0", field="rating").evaluate(
        names(TASK)
    ) == (10, "")
    assert CEL.rating("-5", field="rating").evaluate(names()) == (-5, "")


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("entry.value.owner == 'x'", 'Key not found in map : "owner"'),
        ("1 / (entry.value.priority - 3) == 1", "divide by zero"),
        ("entry.value.priority", "it gives INT, and must give BOOL"),
        (
            "entry.value.status + entry.value.priority == 1",
            "No matching overloads found : _+_(string, int64)",
        ),
        ("int(entry.value.status) == 1", "cannot convert string to int"),
    ],
)
def test_what_goes_wrong_in_an_evaluation_is_an_error_and_never_true(
    source: str, error: str
) -> None:
    assert CEL.condition(source, field="when").evaluate(names(TASK)) == (None, error)


def test_a_rating_that_is_no_integer_is_an_error() -> None:
    outcome = CEL.rating("entry.value.weight", field="rating").evaluate(names(TASK))
    assert outcome == (None, "it gives DOUBLE, and must give INT")


def test_names_that_are_not_given_are_an_error() -> None:
    outcome = CEL.condition("entry.value == 1", field="when").evaluate({})
    assert outcome.value is None
    assert "entry" in outcome.error


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("entry.value.status = 'ready'", "Syntax error"),
        ("nothing == 1", "undeclared reference to 'nothing' at line 1 column 1"),
        ("\n  nothing == 1", "at line 2 column 3"),
        ("entry.vlaue == 1", "an entry has no 'vlaue'; it has author, basis"),
        ("old.vlaue == 1", "an entry has no 'vlaue'"),
        ("bind.task == 7", "found no matching overload"),
        ("entry.version", None),
        ("'yes'", "it gives STRING, and must give BOOL"),
        ("entry.value.matches(entry.key)", "the pattern of matches must be a literal string"),
        ("now.getHours(entry.key) == 1", "the time zone of getHours must be a literal string"),
        ("'%s'.format(['x']) == 'x'", "the function format is not offered"),
        (
            "google.protobuf.Timestamp{} == now",
            "messages such as google.protobuf.Timestamp cannot be made",
        ),
        ("'\ud800' == ''", "text must not contain lone surrogates"),
        (
            "'" + "x" * 2_048 + "' == ''",
            "limited to 2048 bytes (condition_bytes_max), this has 2056",
        ),
        (
            "'" + "é" * 1_024 + "' == ''",
            "limited to 2048 bytes (condition_bytes_max), this has 2056",
        ),
    ],
)
def test_a_condition_that_cannot_work_is_refused_when_it_is_set(
    source: str, rule: str | None
) -> None:
    if rule is None:
        assert CEL.condition(source, field="when").evaluate(names()).error
        return
    with pytest.raises(Invalid) as refusal:
        CEL.condition(source, field="trigger.when")
    assert refusal.value.field == "trigger.when"
    assert rule in refusal.value.rule


@pytest.mark.parametrize("source", ["2.5", "'high'", "entry.value == 1", "null"])
def test_a_rating_that_is_certainly_no_integer_is_refused(source: str) -> None:
    with pytest.raises(Invalid, match="must give INT"):
        CEL.rating(source, field="rating")


def test_the_same_source_may_be_a_condition_and_be_refused_as_a_rating() -> None:
    assert CEL.condition("true", field="when").evaluate(names()) == (True, "")
    with pytest.raises(Invalid):
        CEL.rating("true", field="rating")


def test_a_loops_variable_hides_the_entry() -> None:
    condition = CEL.condition("[{'mine': 1}].exists(entry, entry.mine == 1)", field="when")
    assert condition.evaluate(names()) == (True, "")


def test_a_costly_condition_is_evaluated_over_small_values_and_refused_over_large_ones() -> None:
    condition = CEL.condition("board.exists(key, entry.value.contains(key + '!'))", field="when")
    board = {f"key-{number}": number for number in range(1_000)}
    assert condition.evaluate(names("see key-7!", board=board)) == (True, "")
    outcome = condition.evaluate(names("x" * 1_000_000, board=board))
    assert outcome == (None, "it may take more than 10000000 steps over values of this size")


def test_the_usual_conditions_have_no_bound_on_the_size_of_values() -> None:
    large = {"status": "ready", "text": "x" * 1_000_000, "list": list(range(100_000))}
    for source in (
        "entry.value.status == 'ready' && entry.value.list[99999] == 99999",
        "board.all(key, board[key].status == 'ready')",
        "'all' in board && size(entry.value.list) == 100000",
        "entry.value.list.exists(number, number == 77)",
    ):
        board = {"all": large, "same": large}
        assert CEL.condition(source, field="when").evaluate(names(large, board=board)) == (
            True,
            "",
        ), source


def test_what_a_condition_does_not_look_at_costs_nothing() -> None:
    condition = CEL.condition(
        "entry.value.needs.all(need, ('results/' + need) in board"
        " && board['results/' + need].attempt == board['tasks/' + need].attempt)",
        field="when",
    )
    needs = [f"task-{number}" for number in range(100)]
    large = {"attempt": 1, "log": "x" * 100_000, "lines": ["y" * 1_000] * 50}
    board = {f"{kind}/{need}": large for kind in ("results", "tasks") for need in needs}
    value = {"needs": needs, "brief": "z" * 500_000}
    assert condition.evaluate(names(value, board=board)) == (True, "")


def test_iterations_are_limited() -> None:
    condition = CEL.condition("entry.value.all(a, entry.value.all(b, a + b >= 0))", field="when")
    assert condition.evaluate(names(list(range(90)))) == (True, "")
    assert condition.evaluate(names(list(range(110)))) == (None, "Iteration budget exceeded")


def test_one_condition_serves_many_threads() -> None:
    condition = CEL.condition(
        "entry.value.n % 2 == 0 && board.exists(key, board[key] == entry.value.n)", field="when"
    )

    def evaluate(number: int) -> bool:
        return bool(condition.evaluate(names({"n": number}, board={"a": number, "b": -1})).value)

    with ThreadPoolExecutor(4) as pool:
        held = list(pool.map(evaluate, range(2_000)))
    assert held == [number % 2 == 0 for number in range(2_000)]
