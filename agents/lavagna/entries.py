"""Entries: what a board holds, and what became of changing it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from lavagna.checks import checked_choice, checked_several
from lavagna.names import last_part
from lavagna.times import optional_time, time_of
from lavagna.v1 import entries_pb2 as wire
from lavagna.values import Value, decoded


class Space(StrEnum):
    """Which log of a board."""

    SHARED = "shared"
    """The log that the crew shares."""
    PRIVATE = "private"
    """The caller's own log; nobody else's can be named."""


class Kind(StrEnum):
    """What an entry is."""

    NOTE = "note"
    """Free-form board content."""
    PROPOSAL = "proposal"
    """A write that waits for votes, below the key that it would change."""
    BALLOT = "ballot"
    """One agent's vote, below its proposal as `@{agent}`."""
    CLAIM = "claim"
    """What one agent holds to be true about a key, below that key as `@{agent}`."""
    UNKNOWN = "unknown"
    """A kind that this SDK is too old to know."""


class ChangeType(StrEnum):
    """How a version came about."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    EXPIRED = "expired"
    PROPOSED = "proposed"
    """Somebody proposed a change; the entry is the proposal."""
    DECIDED = "decided"
    """A proposal was decided or came to nothing, or a claim was resolved: its end."""
    UNKNOWN = "unknown"


_GONE = frozenset({ChangeType.DELETED, ChangeType.EXPIRED, ChangeType.DECIDED})

_SPACES = {Space.SHARED: wire.SPACE_SHARED, Space.PRIVATE: wire.SPACE_PRIVATE}
_CHANGE_TYPES = {
    ChangeType.CREATED: wire.CHANGE_TYPE_CREATED,
    ChangeType.UPDATED: wire.CHANGE_TYPE_UPDATED,
    ChangeType.DELETED: wire.CHANGE_TYPE_DELETED,
    ChangeType.EXPIRED: wire.CHANGE_TYPE_EXPIRED,
    ChangeType.PROPOSED: wire.CHANGE_TYPE_PROPOSED,
    ChangeType.DECIDED: wire.CHANGE_TYPE_DECIDED,
}
_CHANGE_TYPE_OF = {number: change for change, number in _CHANGE_TYPES.items()}
_KINDS = {
    Kind.NOTE: wire.KIND_NOTE,
    Kind.PROPOSAL: wire.KIND_PROPOSAL,
    Kind.BALLOT: wire.KIND_BALLOT,
    Kind.CLAIM: wire.KIND_CLAIM,
}
_KIND_OF = {number: kind for kind, number in _KINDS.items()} | {wire.KIND_UNSPECIFIED: Kind.NOTE}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a commit happened; the server alone sets it."""

    activation_id: str
    """The activation whose holder made the commit; empty for a commit from outside."""
    trigger_id: str
    """The trigger of that activation."""
    fired_revision: int
    """The revision that fired the activation."""
    depth: int
    """How many activations lie between the first cause and the commit."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One version of one entry."""

    key: str
    kind: Kind
    version: int
    """Counts the changes of this entry, for ever, deletions included."""
    revision: int
    """The revision of the commit that made this version."""
    change: ChangeType
    """How this version came about."""
    value: Value
    """What the author wrote; None in a deleted version and where only keys were asked for."""
    author: str
    """The agent that made this version; empty for the server's own."""
    committed_at: datetime
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    """How sure the author is, from 0 to 1."""
    sources: tuple[str, ...] = ()
    """Where the value comes from, as the author named it."""
    expires_at: datetime | None = None
    cause: Cause | None = None
    """Why it was written; None when no activation led to it."""
    json_text: str | None = field(default=None, repr=False)
    """The value byte for byte as its author wrote it, when that is JSON; None for text and bytes."""
    basis: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """What the version rests on, by the server's word alone; empty for a plain write.

    `poll` for a proposal, `decision` for what a proposal changed, `merge` for what is merged of
    claims, `resolution` for what was resolved. `board.explain` says it in words.
    """

    @property
    def exists(self) -> bool:
        """Whether the entry exists in this version: it was not deleted, expired or decided by it."""
        return self.change not in _GONE


@dataclass(frozen=True, slots=True)
class Written:
    """One change that took effect; where others have a say, what it became: `kind` tells."""

    key: str
    """The key in its normal form; for an append the key that was made, for a proposal or a claim
    that of the proposal or the claim."""
    version: int
    """The version that the change made; 0 where the caller may write but not read."""
    revision: int
    """The revision of the commit."""
    change: ChangeType
    kind: Kind = Kind.NOTE
    """A proposal where the write waits for votes, a claim where claims are merged."""

    @property
    def exists(self) -> bool:
        """Whether the entry exists since then."""
        return self.change not in _GONE


@dataclass(frozen=True, slots=True)
class FailedCondition:
    """A condition that did not hold, with what the loser needs to decide again."""

    key: str
    current: Entry | None
    """The entry that was found; None when there is none."""
    message: str
    """What was expected and what was found, for people."""


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of a commit."""

    revision: int
    succeeded: bool
    """Whether the conditions held, so that the changes and not the otherwise-changes took effect."""
    results: tuple[Written, ...]
    """One per change that took effect, in order."""
    failed: tuple[FailedCondition, ...]
    """The conditions that did not hold."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How one entry differs between two revisions."""

    key: str
    before: Entry | None
    """The entry at the first revision; None when it did not exist."""
    after: Entry | None
    """The entry at the second revision; None when it did not exist."""
    merge_json: str
    """A JSON merge patch from before to after, where both values are JSON; else empty."""
    unified: str
    """A unified diff of lines, for people; empty for bytes."""


def space_number(space: Space, *, field: str = "space") -> wire.Space.ValueType:
    """The space as the wire has it.

    Raises:
        Invalid: It is none.
    """
    return checked_choice(space, _SPACES, field=field)


def space_of(number: wire.Space.ValueType) -> Space:
    """The space that the wire names."""
    return Space.PRIVATE if number == wire.SPACE_PRIVATE else Space.SHARED


def kind_number(kind: Kind, *, field: str = "kind") -> wire.Kind.ValueType:
    """The kind as the wire has it.

    Raises:
        Invalid: It is none, or is unknown.
    """
    return checked_choice(kind, _KINDS, field=field)


def kind_numbers(kinds: Sequence[Kind], *, field: str) -> list[wire.Kind.ValueType]:
    """The kinds as the wire has them.

    Raises:
        Invalid: One of them is none, or is unknown.
    """
    several = checked_several(kinds, field=field)
    return [kind_number(kind, field=field) for kind in several]


def kind_of(number: wire.Kind.ValueType) -> Kind:
    """The kind that the wire names."""
    return _KIND_OF.get(number, Kind.UNKNOWN)


def change_type_of(number: wire.ChangeType.ValueType) -> ChangeType:
    """The type of change that the wire names."""
    return _CHANGE_TYPE_OF.get(number, ChangeType.UNKNOWN)


def change_numbers(changes: Sequence[ChangeType], *, field: str) -> list[wire.ChangeType.ValueType]:
    """The types of change as the wire has them.

    Raises:
        Invalid: One of them is none, or is unknown.
    """
    several = checked_several(changes, field=field)
    return [checked_choice(change, _CHANGE_TYPES, field=field) for change in several]


def entry_of(message: wire.Entry) -> Entry:
    """The entry that the wire holds."""
    return Entry(
        key=message.key,
        kind=kind_of(message.kind),
        version=message.version,
        revision=message.revision,
        change=change_type_of(message.change_type),
        value=decoded(message.value),
        author=message.author,
        committed_at=time_of(message.commit_time),
        tags=tuple(message.tags),
        confidence=message.confidence if message.HasField("confidence") else None,
        sources=tuple(message.sources),
        expires_at=optional_time(message, "expire_time"),
        cause=cause_of(message.cause),
        json_text=message.value.json if message.value.HasField("json") else None,
        basis=json.loads(message.basis_json) if message.basis_json else {},
    )


def cause_of(message: wire.Cause) -> Cause | None:
    """The cause that the wire holds; None when no activation led to the commit."""
    if not message.activation_name:
        return None
    return Cause(
        activation_id=last_part(message.activation_name),
        trigger_id=last_part(message.trigger_name),
        fired_revision=message.fired_revision,
        depth=message.depth,
    )


def written_of(message: wire.ChangeResult, *, revision: int) -> Written:
    """What became of one change of the commit at `revision`."""
    change, kind = change_type_of(message.change_type), kind_of(message.kind)
    return Written(message.key, message.version, revision, change, kind)


def failed_of(message: wire.FailedCondition) -> FailedCondition:
    """The failed condition that the wire holds."""
    current = entry_of(message.current) if message.HasField("current") else None
    return FailedCondition(message.key, current, message.message)


def difference_of(message: wire.Difference) -> Difference:
    """The difference that the wire holds."""
    return Difference(
        key=message.key,
        before=entry_of(message.before) if message.HasField("before") else None,
        after=entry_of(message.after) if message.HasField("after") else None,
        merge_json=message.merge_json,
        unified=message.unified,
    )
