"""Reads the lines of an export back, and says which line is wrong and how."""

import base64
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lavagna import ChangeType, Entry, Kind, Space
from lavagna_cli.exportlines import FORMAT_NAME, FORMAT_VERSION, Header
from lavagna_cli.failures import BadInput
from lavagna_cli.fields import Fields, Wrong, only_member, parsed_json

_NEVER_IN_KEYS = "*{}"
"""They belong to patterns."""
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
"""Unicode's categories of what nobody sees; a key may have the joiner of emoji alone."""
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an export: an entry of the state that it begins with, or a commit."""

    number: int
    is_state: bool
    entries: tuple[Entry, ...]
    size_bytes: int
    left_out: int = 0
    """Entries of kinds that only a server makes, such as ballots; no import can write them."""


def read_header(line: bytes) -> Header:
    """The header of an export.

    Raises:
        BadInput: The line is no header, or one of a format that this version cannot read.
    """
    try:
        return _header(*only_member(line))
    except Wrong as wrong:
        raise BadInput(f"Line 1: {wrong}.", hint="Is it a file of `lavagna export`?") from None


def read_lines(lines: Iterable[bytes]) -> Iterator[Line]:
    """The lines between the header and the end.

    Raises:
        BadInput: A line is malformed, or the end is missing or not the last; names the line.
    """
    number = 1
    lines = iter(lines)
    for line in lines:
        number += 1
        try:
            name, content = only_member(line)
            if name == "end":
                _check_end(content, number - 1)
                number += 1
                _check_nothing_follows(lines)
                return
            entries = _entries(name, content)
            notes = tuple(entry for entry in entries if entry.kind is Kind.NOTE)
            left_out = len(entries) - len(notes)
            yield Line(number, name == "state", notes, len(line), left_out)
        except Wrong as wrong:
            raise BadInput(f"Line {number}: {wrong}.", hint="Export again, or mend it.") from None
    raise BadInput(
        f"Line {number} is the last, but no end line: the file was cut short.",
        hint="Export again.",
    )


def _header(name: str, content: Fields) -> Header:
    if name != "header" or content.text("format") != FORMAT_NAME:
        raise Wrong("the line is not the header of an export")
    version = content.count("version")
    if version != FORMAT_VERSION:
        raise Wrong(f"format version {version} cannot be read, only {FORMAT_VERSION}")
    return Header(
        board=content.text("board"),
        space=content.choice("space", Space),
        epoch=content.text("epoch"),
        revision=content.count("revision"),
        exported_at=content.time("exported_at"),
    )


def _check_end(content: Fields, lines: int) -> None:
    if content.count("lines") != lines:
        raise Wrong(f"there are {lines} lines before the end and not {content.count('lines')}")


def _check_nothing_follows(rest: Iterator[bytes]) -> None:
    if any(line.strip() for line in rest):
        raise Wrong("something follows the end")


def _entries(name: str, content: Fields) -> tuple[Entry, ...]:
    if name == "state":
        return (_entry(content),)
    if name == "commit":
        items = enumerate(content.items("entries"))
        return tuple(_entry(Fields.of(each, f"commit.entries[{at}]")) for at, each in items)
    raise Wrong(f"{name!r} is not a kind of line")


def _entry(content: Fields) -> Entry:
    value, json_text = _value(content)
    return Entry(
        key=_key(content),
        kind=content.choice("kind", Kind),
        version=content.count("version"),
        revision=content.count("revision"),
        change=content.choice("change", ChangeType),
        value=value,
        author=content.text("author"),
        committed_at=content.time("committed_at"),
        tags=content.texts("tags"),
        confidence=content.share("confidence") if content.has("confidence") else None,
        sources=content.texts("sources"),
        expires_at=content.time("expires_at") if content.has("expires_at") else None,
        json_text=json_text,
    )


def _key(content: Fields) -> str:
    """A key; what only the server can tell, such as its own limits, it tells at the commit."""
    key = content.text("key")
    if not {"", ".", ".."}.isdisjoint(key.split("/")):
        raise Wrong(f"{content.where}.key has an empty, '.' or '..' segment")
    for c in key:
        if c in _NEVER_IN_KEYS or (unicodedata.category(c) in _UNSEEN and c != _JOINER):
            raise Wrong(f"{content.where}.key has {c!a}, which no key has")
    return key


def _value(content: Fields) -> tuple[Any, str | None]:
    """The value, and its text when that is JSON."""
    where = f"{content.where}.value"
    match content.content.get("value"):
        case None:
            return None, None
        case {"json": str(text)}:
            return parsed_json(text, f"{where}.json"), text
        case {"text": str(text)}:
            return text, None
        case {"data": str(text)}:
            return _bytes(text, f"{where}.data"), None
        case _:
            raise Wrong(f"{where} is none of json, text and data as a string")


def _bytes(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as unfit:
        raise Wrong(f"{where} is not base64 ({unfit})") from None
