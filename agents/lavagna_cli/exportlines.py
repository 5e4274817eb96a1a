"""The export format, version 1: JSON lines, one object with one member each.

`{"header": …}` first, `{"state": …}` per entry that was there before the oldest readable revision,
`{"commit": …}` per commit in order, and `{"end": …}` last, so that a file cut short is told apart.
Values are strings inside it (`{"json": "…"}`, `{"text": "…"}`, `{"data": "base64"}`), so that not a
byte of them changes on the way.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from lavagna import Commit, Entry, Space
from lavagna_cli import documents, jsontext, values
from lavagna_cli.jsontext import Document
from lavagna_cli.values import Form

FORMAT_NAME = "lavagna-export"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Header:
    """What an export is of."""

    board: str
    space: Space
    epoch: str
    revision: int
    """The last revision of the space when the export began."""
    exported_at: datetime


def header_line(header: Header) -> bytes:
    """The first line of an export."""
    return _line(
        "header",
        {
            "format": FORMAT_NAME,
            "version": FORMAT_VERSION,
            "board": header.board,
            "space": header.space.value,
            "epoch": header.epoch,
            "revision": header.revision,
            "exported_at": documents.time(header.exported_at),
        },
    )


def state_line(entry: Entry) -> bytes:
    """The line of an entry that the export begins with."""
    return _line("state", _entry(entry))


def commit_line(commit: Commit) -> bytes:
    """The line of a commit."""
    return _line(
        "commit",
        {
            "revision": commit.revision,
            "committed_at": documents.time(commit.committed_at),
            "author": commit.author,
            "occasion": commit.occasion.value,
            "cause": documents.of(commit.cause),
            "entries": [_entry(entry) for entry in commit.entries],
        },
    )


def end_line(lines: int) -> bytes:
    """The last line, which says how many lines came before it."""
    return _line("end", {"lines": lines})


def _line(name: str, content: Document) -> bytes:
    return jsontext.dumped({name: content}).encode() + b"\n"


def _entry(entry: Entry) -> Mapping[str, Document]:
    return {
        "key": entry.key,
        "kind": entry.kind.value,
        "version": entry.version,
        "revision": entry.revision,
        "change": entry.change.value,
        "author": entry.author,
        "committed_at": documents.time(entry.committed_at),
        "value": _value(entry),
        "tags": list(entry.tags),
        "confidence": entry.confidence,
        "sources": list(entry.sources),
        "expires_at": documents.time(entry.expires_at),
        "basis": documents.of(entry.basis) if entry.basis else None,
    }


def _value(entry: Entry) -> Document:
    form, content = values.form_of(entry), values.stored(entry)
    if form is None:
        return None
    return {form: base64.b64encode(content).decode() if form is Form.DATA else content.decode()}
