"""Durations, times and JSON as people and programs spell them."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import typer

from lavagna.values import JsonText
from lavagna_cli import documents, jsontext
from lavagna_cli.durations import duration, spelt
from lavagna_cli.moments import moment


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("30", timedelta(seconds=30)),
        ("0.5", timedelta(milliseconds=500)),
        ("30s", timedelta(seconds=30)),
        ("1h30m", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("2d", timedelta(days=2)),
        (" 5m ", timedelta(minutes=5)),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, span: timedelta) -> None:
    assert duration(text) == span


@pytest.mark.parametrize("text", ["", "fast", "-5s", "5 m", "1e9", "s", "5min", "nan", "inf"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a duration"):
        duration(text)


def test_a_duration_beyond_all_measure_is_refused() -> None:
    with pytest.raises(typer.BadParameter, match="too long"):
        duration("99999999999999999d")


@pytest.mark.parametrize("text", ["0s", "1s", "1m30s", "2d3h", "500ms"])
def test_a_duration_is_spelt_as_it_is_read(text: str) -> None:
    assert spelt(duration(text)) == text


def test_a_moment_with_an_offset_is_that_moment() -> None:
    assert moment("2026-03-01T09:00:00Z") == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert moment("2026-03-01T09:00+02:00") == datetime(2026, 3, 1, 7, tzinfo=UTC)


def test_a_moment_without_an_offset_is_local_and_knows_its_zone() -> None:
    local = moment("2026-03-01T09:00")

    assert local.tzinfo is not None
    assert (local.hour, local.minute) == (9, 0)


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-13-01", "9:00"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a time"):
        moment(text)


def test_a_time_in_a_document_has_microseconds_and_is_in_utc() -> None:
    assert documents.time(datetime(2026, 3, 1, 9, tzinfo=UTC)) == "2026-03-01T09:00:00.000000Z"
    assert documents.time(None) is None


def test_a_document_is_one_line_of_json() -> None:
    line = jsontext.dumped({"a": [1, True, None, "é\n"], "b": {"c": 0.5}})

    assert line == '{"a": [1, true, null, "é\\n"], "b": {"c": 0.5}}'


def test_stored_json_goes_into_a_document_as_its_author_spelt_it() -> None:
    stored = '{\n  "n": 1.10,\r\n  "big": 12345678901234567890123, "s": "a\\nb"\n}'
    line = jsontext.dumped({"value": JsonText(stored)})

    assert "\n" not in line
    assert '"n": 1.10,' in line
    assert '"big": 12345678901234567890123' in line
    assert json.loads(line) == {"value": json.loads(stored)}


def test_a_document_holds_nothing_that_any_program_takes_for_a_line_end() -> None:
    ends = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
    line = jsontext.dumped({"text": ends, "json": JsonText('[\r\n"\x85\u2028\u2029"]')})

    assert len(line.splitlines()) == 1
    assert json.loads(line) == {"text": ends, "json": ["\x85\u2028\u2029"]}
