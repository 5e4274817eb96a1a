"""What a log holds as rows, and rows as what a log holds: each pair undoes the other.

A row is a tuple in the order of its table's columns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from lavagna_server.domain.entries import (
    Cause,
    ChangeType,
    Commit,
    Entry,
    EntryId,
    Kind,
    Occasion,
    Space,
    SpaceName,
)
from lavagna_server.domain.triggers import TriggerId
from lavagna_server.domain.values import Form, Value
from lavagna_server.ports.store import EdgeId, Effect
from lavagna_server.storage.damage import of_row

Row: TypeAlias = "Sequence[Any]"
Cells: TypeAlias = tuple[object, ...]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Looking a value up in its enumeration takes eight times as long.
_KINDS = {kind.value: kind for kind in Kind}
_CHANGES = {change.value: change for change in ChangeType}
_OCCASIONS = {occasion.value: occasion for occasion in Occasion}
_FORMS = {form.value: form for form in Form}
_encoded = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def micros(moment: datetime) -> int:
    """A moment as it is stored."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(number: int) -> datetime:
    """A stored moment."""
    return _EPOCH + timedelta(microseconds=number)


def micros_or_none(when: datetime | None) -> int | None:
    """A moment that may be unset, as it is stored."""
    return None if when is None else micros(when)


def moment_or_none(number: int | None) -> datetime | None:
    """A stored moment that may be unset."""
    return None if number is None else moment(number)


def names_text(names: tuple[str, ...]) -> str | None:
    """A list of names as it is stored; None when it is empty."""
    return _encoded(names) if names else None


def names_of(text: str | None) -> tuple[str, ...]:
    """A stored list of names."""
    return tuple(json.loads(text)) if text else ()


def space_cells(space: Space) -> Cells:
    """A space's row, without its number."""
    return (
        *space.name,
        space.epoch,
        space.head,
        space.oldest,
        space.activations,
        micros_or_none(space.committed_at),
        space.digest,
    )


@of_row
def space_of(row: Row) -> Space:
    """The space of a row, without its number."""
    board, owner, epoch, head, oldest, activations, committed_at, digest = row
    return Space(
        SpaceName(board, owner),
        epoch,
        head,
        oldest,
        activations,
        moment_or_none(committed_at),
        digest,
    )


def commit_cells(space: int, commit: Commit) -> Cells:
    """A commit's row."""
    return (
        space,
        commit.revision,
        micros(commit.committed_at),
        commit.author,
        commit.occasion.value,
        _cause_text(commit.cause),
        commit.request_id,
        commit.compacted_to,
        commit.compacted_path,
        len(commit.entries),
        commit.digest,
        commit.content_digest,
    )


@of_row
def commit_of(row: Row, name: SpaceName, entries: tuple[Entry, ...]) -> Commit:
    """The commit of a row."""
    (
        _,
        revision,
        at,
        author,
        occasion,
        cause,
        request_id,
        compacted_to,
        compacted_path,
        _,
        digest,
        content,
    ) = row
    return Commit(
        name,
        revision,
        moment(at),
        author,
        _OCCASIONS[occasion],
        entries,
        _cause_of(cause),
        request_id,
        compacted_to,
        compacted_path,
        digest,
        content,
    )


def version_cells(space: int, ordinal: int, entry: Entry) -> Cells:
    """The row of a version, the `ordinal`-th of its commit."""
    value = entry.value
    content = None if value is None else value.content
    stored = content.encode() if isinstance(content, str) else content
    return (
        space,
        entry.revision,
        ordinal,
        entry.kind.value,
        entry.key,
        entry.version,
        entry.change.value,
        entry.author,
        micros(entry.committed_at),
        _cause_text(entry.cause),
        names_text(entry.tags),
        entry.confidence,
        names_text(entry.sources),
        micros_or_none(entry.expires_at),
        None if value is None else value.form.value,
        entry.basis or None,
        entry.weight_bytes,
        stored,
    )


@of_row
def version_of(row: Row) -> Entry:
    """The version of a row."""
    (
        _,
        revision,
        _,
        kind,
        key,
        version,
        change,
        author,
        at,
        cause,
        tags,
        confidence,
        sources,
        expires_at,
        form,
        basis,
        _,
        content,
    ) = row
    return Entry(
        _KINDS[kind],
        key,
        version,
        revision,
        _CHANGES[change],
        _value_of(form, content),
        author,
        moment(at),
        names_of(tags),
        confidence,
        names_of(sources),
        moment_or_none(expires_at),
        _cause_of(cause),
        basis or "",
    )


def head_cells(space: int, ordinal: int, entry: Entry) -> Cells:
    """The row that points to a version as the newest."""
    ended = not entry.exists
    return (
        space,
        entry.kind.value,
        entry.key,
        entry.version,
        entry.revision,
        ordinal,
        None if ended else micros_or_none(entry.expires_at),
        ended,
    )


def edge_cells(edge: EdgeId) -> Cells:
    """The row of an edge."""
    (board, owner), name = edge.trigger
    return (board, owner, name, edge.binding, edge.entry.kind.value, edge.entry.key)


@of_row
def edge_of(row: Row) -> EdgeId:
    """The edge of a row."""
    board, owner, name, binding, kind, key = row
    return EdgeId(TriggerId(SpaceName(board, owner), name), binding, EntryId(_KINDS[kind], key))


def effect_cells(effect: Effect) -> Cells:
    """The row of what a request came to."""
    return (
        effect.board,
        effect.agent,
        effect.request_id,
        effect.fingerprint,
        effect.response,
        micros(effect.at),
    )


@of_row
def effect_of(row: Row) -> Effect:
    """What a request came to, from its row."""
    board, agent, request_id, fingerprint, response, at = row
    return Effect(board, agent, request_id, fingerprint, response, moment(at))


def _value_of(form: str | None, stored: bytes | None) -> Value | None:
    if form is None or stored is None:
        return None
    kind = _FORMS[form]
    return Value(kind, stored if kind is Form.DATA else stored.decode())


def _cause_text(cause: Cause | None) -> str | None:
    if cause is None:
        return None
    return _encoded(
        (cause.activation, cause.trigger, cause.fired_revision, cause.depth, cause.root)
    )


def _cause_of(text: str | None) -> Cause | None:
    return Cause(*json.loads(text)) if text else None
