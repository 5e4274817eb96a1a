"""Values and changes: what a program writes is what the wire carries, or is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lavagna import (
    Absent,
    Append,
    Delete,
    Exists,
    Invalid,
    JsonText,
    Patch,
    Put,
    UnchangedSince,
    ValueIs,
    VersionIs,
)
from lavagna.changes import Change, change_message
from lavagna.conditions import Condition, condition_message
from lavagna.times import duration, seconds_of, time_of, timestamp
from lavagna.v1 import entries_pb2 as wire
from lavagna.values import decoded, encoded


@pytest.mark.parametrize(
    "value",
    [
        "",
        "plain text",
        "\N{SNOWMAN} and \N{GRINNING FACE}",
        b"",
        b"\x00\xff",
        None,
        True,
        0,
        2**63 - 1,
        -1.5,
        [],
        {"status": "ready", "nested": [1, {"caf\u00e9": None}]},
    ],
)
def test_a_value_comes_back_as_it_was_written(value: Any) -> None:
    assert decoded(encoded(value)) == value
    assert type(decoded(encoded(value))) is type(value)


def test_text_travels_as_text_bytes_as_data_and_all_else_as_compact_json() -> None:
    assert encoded("caf\u00e9") == wire.Value(text="caf\u00e9")
    assert encoded(bytearray(b"ab")) == wire.Value(data=b"ab")
    assert encoded({"caf\u00e9": [1, 2]}) == wire.Value(json='{"caf\u00e9":[1,2]}')


def test_json_text_is_written_byte_for_byte() -> None:
    text = '{ "b": 1.10,\n  "a": 1e3 }'
    assert encoded(JsonText(text)) == wire.Value(json=text)
    assert change_message(Patch("k", JsonText(text))).patch.merge_json == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), [1j], "\ud800"])
def test_a_value_that_cannot_travel_is_refused_by_the_name_of_its_field(value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        encoded(value, field="changes[3].value")
    assert [violation.field for violation in refused.value.violations] == ["changes[3].value"]


def test_a_value_that_nests_too_deep_for_json_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Invalid, match="value: JSON cannot hold it"):
        encoded(deep)


def test_a_put_says_all_that_its_author_said() -> None:
    put = Put(
        "plan/1",
        {"a": 1},
        expected_version=4,
        overwrite=True,
        tags=["x", "y"],
        confidence=0.25,
        sources=["plan/0@3"],
        ttl=timedelta(seconds=1.5),
    )
    message = change_message(put)
    assert message.key == "plan/1"
    assert message.put.value.json == '{"a":1}'
    assert message.expected_version == 4
    assert message.overwrite
    assert list(message.tags) == ["x", "y"]
    assert message.confidence == 0.25
    assert list(message.sources) == ["plan/0@3"]
    assert seconds_of(message.ttl) == 1.5


def test_what_a_change_leaves_unsaid_stays_unset_on_the_wire() -> None:
    message = change_message(Put("k", 0))
    unset = [name for name in ("expected_version", "confidence", "ttl") if message.HasField(name)]
    assert not unset
    assert not message.overwrite


def test_an_expected_version_of_zero_is_said_and_not_left_out() -> None:
    assert change_message(Put("k", 0, expected_version=0)).HasField("expected_version")


@pytest.mark.parametrize(
    ("change", "operation"),
    [
        (Patch("k", {"a": None}), "patch"),
        (Append("log", "x"), "append"),
        (Delete("k", expected_version=1), "delete"),
    ],
)
def test_each_change_names_its_operation(change: Change, operation: str) -> None:
    assert change_message(change).WhichOneof("operation") == operation


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (Put("\udc00", 1), "change.key"),
        (Put("k", 1, expected_version=-1), "change.expected_version"),
        (Put("k", 1, expected_version=2**63), "change.expected_version"),
        (Put("k", 1, ttl=-1), "change.ttl"),
        (Put("k", 1, ttl=float("nan")), "change.ttl"),
        (Put("k", 1, tags=["\udc00"]), "change.tags[0]"),
        (Patch("k", {"a": float("inf")}), "change.merge"),
    ],
)
def test_a_part_out_of_range_is_refused_by_name(change: Change, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        change_message(change)
    assert refused.value.violations[0].field == field


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (VersionIs("k", 0), wire.Condition(key="k", version=0)),
        (Exists("k"), wire.Condition(key="k", exists=True)),
        (Absent("k"), wire.Condition(key="k", exists=False)),
        (ValueIs("k", "v"), wire.Condition(key="k", value=wire.Value(text="v"))),
        (UnchangedSince("k", 7), wire.Condition(key="k", unchanged_since=7)),
    ],
)
def test_each_condition_says_what_must_hold(condition: Condition, expected: wire.Condition) -> None:
    assert condition_message(condition) == expected


@pytest.mark.parametrize("length", [0, 0.001, 1, 1.999999999, 3600, timedelta(days=3), 1e9])
def test_a_length_of_time_comes_back_to_the_nanosecond(length: float | timedelta) -> None:
    expected = length.total_seconds() if isinstance(length, timedelta) else length
    assert seconds_of(duration(length, field="ttl")) == pytest.approx(expected, abs=1e-9)


def test_a_time_comes_back_in_utc_and_one_without_a_zone_is_refused() -> None:
    moment = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
    assert time_of(timestamp(moment, field="at")) == moment
    assert time_of(timestamp(moment, field="at")).tzinfo is UTC
    with pytest.raises(Invalid, match="no time zone"):
        timestamp(moment.replace(tzinfo=None), field="at")
