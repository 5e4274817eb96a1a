"""Values on the command line: how they are read, and how they are shown."""

import io
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer

from lavagna import ChangeType, Entry, Kind
from lavagna.values import JsonText
from lavagna_cli import values
from lavagna_cli.values import Form


def entry(value: object, json_text: str | None = None) -> Entry:
    """An entry that holds this value."""
    return Entry(
        key="plan/goal",
        kind=Kind.NOTE,
        version=3,
        revision=17,
        change=ChangeType.UPDATED,
        value=value,
        author="ada",
        committed_at=datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
        json_text=json_text,
    )


@pytest.mark.parametrize(
    "text", ['{"a": 1.0}', "[]", "true", "null", "0", '"quoted"', " [1,\n 2] ", "1e400", "-0.0"]
)
def test_what_parses_as_json_is_json_and_keeps_its_spelling(text: str) -> None:
    assert values.read(text) == JsonText(text)


@pytest.mark.parametrize("text", ["", "hello", "{", "NaN", "-Infinity", "日本語 🧠", "01", "'a'"])
def test_what_does_not_parse_as_json_is_text(text: str) -> None:
    assert values.read(text) == text


def test_what_is_not_utf8_is_bytes() -> None:
    assert values.in_form(b"\xff\x00\xfe", None) == b"\xff\x00\xfe"


def test_a_form_that_was_asked_for_is_kept() -> None:
    assert values.read("42", Form.TEXT) == "42"
    assert values.read("42", Form.DATA) == b"42"
    assert values.read("42", Form.JSON) == JsonText("42")


def test_a_value_that_lacks_its_form_is_refused_with_the_reason() -> None:
    with pytest.raises(typer.BadParameter, match="not JSON: JSON has no NaN"):
        values.read("[NaN]", Form.JSON)
    with pytest.raises(typer.BadParameter, match="pass --data"):
        values.in_form(b"\xff", Form.TEXT)


def test_json_nested_too_deeply_to_parse_is_text() -> None:
    deep = "[" * 100_000

    assert values.read(deep) == deep


def test_an_at_sign_reads_a_file_byte_for_byte(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_bytes(b"line one\r\nline two\n\n")

    assert values.read(f"@{file}") == "line one\r\nline two\n\n"
    assert values.read(f"@{file}", Form.DATA) == b"line one\r\nline two\n\n"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="missing: No such file"):
        values.read(f"@{tmp_path / 'missing'}")


def test_a_doubled_at_sign_is_text() -> None:
    assert values.read("@@home") == "@home"


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xc3\xa9\n")))

    assert values.read("-") == "café\n"


def test_a_form_follows_from_what_was_stored_and_not_from_what_it_looks_like() -> None:
    assert values.form_of(entry("1")) is Form.TEXT
    assert values.form_of(entry("x", json_text='"x"')) is Form.JSON
    assert values.form_of(entry(None, json_text="null")) is Form.JSON
    assert values.form_of(entry(b"")) is Form.DATA
    assert values.form_of(entry(None)) is None


def test_stored_bytes_are_the_authors() -> None:
    assert values.stored(entry({"a": 1.0}, json_text='{ "a":1.0 }')) == b'{ "a":1.0 }'
    assert values.stored(entry("é")) == b"\xc3\xa9"
    assert values.stored(entry(b"\x00")) == b"\x00"
    assert values.stored(entry(None)) == b""


def test_a_document_holds_json_as_it_is_and_bytes_in_base64() -> None:
    assert values.document(entry([1], json_text="[1]")) == JsonText("[1]")
    assert values.document(entry("text")) == "text"
    assert values.document(entry(b"\xff")) == "/w=="
    assert values.document(entry(None)) is None


def test_a_shown_value_never_commands_the_terminal() -> None:
    shown = values.shown(entry("\x1b[2Jgone\a\nnext\u202eevil"))

    assert shown == r"\x1b[2Jgone\x07\nnext\u202eevil"
    assert shown.isprintable()


def test_joined_emoji_and_other_scripts_are_shown_as_they_are() -> None:
    assert values.printable("👩‍🚀 हिन्दी") == "👩‍🚀 हिन्दी"


def test_bytes_are_shown_by_their_number() -> None:
    assert values.shown(entry(bytes(2048))) == "<2,048 bytes>"


def test_a_short_text_is_left_whole_and_a_long_one_ends_in_an_ellipsis() -> None:
    assert values.shortened("abcde", 5) == "abcde"
    assert values.shortened("abcdef", 5) == "abcd…"
