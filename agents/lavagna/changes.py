"""Changes: what a commit does to entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lavagna.errors import Invalid
from lavagna.times import Seconds, duration
from lavagna.v1 import entries_pb2 as wire
from lavagna.values import Value, checked_text, encoded, json_text


@dataclass(frozen=True, kw_only=True)
class _Versioned:
    """What a change of an entry that may exist can say."""

    expected_version: int | None = None
    """The version that the author saw; 0 means: only if the key was never written."""
    overwrite: bool = False
    """Says in so many words that whatever is there may be replaced unseen."""


@dataclass(frozen=True, kw_only=True)
class _Labelled:
    """What a change that stores a value can say about it."""

    tags: Sequence[str] = ()
    """Free labels, for filters; at most 32 of 128 bytes."""
    confidence: float | None = None
    """How sure the author is, from 0 to 1."""
    sources: Sequence[str] = ()
    """Where the value comes from: entry keys, addresses, anything; at most 64 of 512 bytes."""
    ttl: Seconds | None = None
    """The entry expires this long after the commit."""


@dataclass(frozen=True)
class Put(_Labelled, _Versioned):
    """Stores a value."""

    key: str
    value: Value


@dataclass(frozen=True)
class Patch(_Labelled, _Versioned):
    """Merges a JSON merge patch (RFC 7396) into an entry that holds JSON, or does not exist."""

    key: str
    merge: Value
    """The patch: a dict whose None members delete what they name."""


@dataclass(frozen=True)
class Append(_Labelled):
    """Stores a value under a new key below the prefix, which never conflicts."""

    prefix: str
    value: Value


@dataclass(frozen=True)
class Delete(_Versioned):
    """Deletes an entry; its version goes on counting."""

    key: str


Change: TypeAlias = Put | Patch | Append | Delete
"""One change of one entry."""


def change_message(change: Change, *, field: str = "change") -> wire.Change:
    """The change as the wire has it.

    Raises:
        Invalid: JSON cannot hold the value, or a part of the change is out of its range.
    """
    key = change.prefix if isinstance(change, Append) else change.key
    message = wire.Change(key=checked_text(key, field=f"{field}.key"))
    _set_operation(message, change, field=field)
    if isinstance(change, _Versioned):
        message.overwrite = change.overwrite
        if change.expected_version is not None:
            message.expected_version = checked_count(
                change.expected_version, field=f"{field}.expected_version"
            )
    if isinstance(change, _Labelled):
        _set_labels(message, change, field=field)
    return message


def _set_operation(message: wire.Change, change: Change, *, field: str) -> None:
    match change:
        case Put(value=value):
            message.put.value.CopyFrom(encoded(value, field=f"{field}.value"))
        case Patch(merge=merge):
            message.patch.merge_json = json_text(merge, field=f"{field}.merge")
        case Append(value=value):
            message.append.value.CopyFrom(encoded(value, field=f"{field}.value"))
        case Delete():
            message.delete.SetInParent()


def _set_labels(message: wire.Change, labels: _Labelled, *, field: str) -> None:
    message.tags.extend(checked_text(tag, field=f"{field}.tags") for tag in labels.tags)
    message.sources.extend(checked_text(each, field=f"{field}.sources") for each in labels.sources)
    if labels.confidence is not None:
        message.confidence = labels.confidence
    if labels.ttl is not None:
        message.ttl.CopyFrom(duration(labels.ttl, field=f"{field}.ttl"))


def checked_count(number: int, *, field: str) -> int:
    """The same number, once it is known that the wire can carry it.

    Raises:
        Invalid: The number is negative or needs more than 64 bits.
    """
    if not 0 <= number < 2**63:
        raise Invalid.field(field, f"{number} is not a number from 0 to 2^63 - 1")
    return number
