"""Changes: what a commit does to entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lavagna.checks import (
    checked_count,
    checked_flag,
    checked_number,
    checked_text,
    checked_texts,
    checked_type,
)
from lavagna.times import Seconds, duration
from lavagna.v1 import entries_pb2 as wire
from lavagna.values import Value, encoded, json_text


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
    checked_type(change, (Put, Patch, Append, Delete), field=field)
    if isinstance(change, Append):
        message = wire.Change(key=checked_text(change.prefix, field=f"{field}.prefix"))
    else:
        message = wire.Change(key=checked_text(change.key, field=f"{field}.key"))
    _set_operation(message, change, field=field)
    if isinstance(change, _Versioned):
        message.overwrite = checked_flag(change.overwrite, field=f"{field}.overwrite")
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
    message.tags.extend(checked_texts(labels.tags, field=f"{field}.tags"))
    message.sources.extend(checked_texts(labels.sources, field=f"{field}.sources"))
    if labels.confidence is not None:
        message.confidence = checked_number(labels.confidence, field=f"{field}.confidence")
    if labels.ttl is not None:
        message.ttl.CopyFrom(duration(labels.ttl, field=f"{field}.ttl"))
