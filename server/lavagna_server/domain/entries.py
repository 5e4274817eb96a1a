"""Entries, the commits that change them, and the spaces that order the commits.

Everything here is immutable: an `Entry` is one version of one entry, as it will read for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import NamedTuple

from lavagna_server.domain.values import Value, utf8_bytes

FRAME_BYTES = 640
"""More than what an entry or a commit takes on the wire besides what its author wrote: the names of what caused it, times, numbers."""
LABEL_BYTES = 4
"""More than what a tag or a source takes besides its text."""


class Kind(StrEnum):
    """What an entry is; keys are unique per space and kind."""

    NOTE = "note"
    """Free-form content."""
    PROPOSAL = "proposal"
    """A write that waits for votes; below the key that it would change, and ended once decided."""
    BALLOT = "ballot"
    """One agent's vote; below its proposal."""
    CLAIM = "claim"
    """What one agent holds to be true about a key; below that key."""

    @property
    def is_written_freely(self) -> bool:
        """Whether a commit may name it; the others come about by what they stand for."""
        return self is Kind.NOTE


class ChangeType(Enum):
    """How a version came about."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    EXPIRED = "expired"
    PROPOSED = "proposed"
    """A proposal was opened."""
    DECIDED = "decided"
    """A proposal was decided or came to nothing, or a claim was resolved: what it waited for has come."""

    @property
    def begins_entry(self) -> bool:
        """Whether the entry did not exist before and does afterwards."""
        return self is ChangeType.CREATED or self is ChangeType.PROPOSED

    @property
    def leaves_entry(self) -> bool:
        """Whether the entry exists afterwards."""
        return self in _LASTING


_LASTING = frozenset({ChangeType.CREATED, ChangeType.UPDATED, ChangeType.PROPOSED})


class Occasion(Enum):
    """What a commit was made for."""

    WRITE = "write"
    EXPIRY = "expiry"
    QUIESCENCE = "quiescence"
    COMPACTION = "compaction"

    @property
    def is_for_everyone(self) -> bool:
        """Whether such a commit is about the space as a whole, so that everyone who may see the space is told.

        Any other is told to those who may read something that it changed; to nobody when its content is compacted.
        """
        return self in {Occasion.QUIESCENCE, Occasion.COMPACTION}


class SpaceName(NamedTuple):
    """One log of one board: `shared` when there is no owner, else that agent's private one."""

    board: str
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.board}/{self.owner or 'shared'}"


class EntryId(NamedTuple):
    """Names an entry within its space."""

    kind: Kind
    key: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a commit happened: the activation that its author worked on."""

    activation: int
    """Its number in the space."""
    trigger: str
    fired_revision: int
    depth: int
    """How many activations lie between the first cause and the commit."""
    root: int
    """The number of the chain's first activation."""


@dataclass(frozen=True, slots=True)
class Space:
    """Where a log stands."""

    name: SpaceName
    epoch: str
    head: int = 0
    """The newest revision; 0 before the first commit."""
    oldest: int = 0
    """The oldest revision that can be read: state as of it is exact. 0 before any compaction."""
    activations: int = 0
    """How many activations were ever fired in this space; the last one's number."""
    committed_at: datetime | None = None
    """When the newest commit was made; the next is never earlier."""
    digest: bytes = b""
    """The hash of the newest commit, which the next one's hash chains to."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One version of one entry."""

    kind: Kind
    key: str
    version: int
    revision: int
    change: ChangeType
    value: Value | None
    """None when the entry was deleted or expired."""
    author: str
    """Empty for the server's own doing."""
    committed_at: datetime
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    sources: tuple[str, ...] = ()
    expires_at: datetime | None = None
    """For a proposal its deadline."""
    cause: Cause | None = None
    basis: str = ""
    """What the version rests on, as JSON that only the server writes: a proposal's poll, the decision that made it so, a merge of claims."""

    @property
    def id(self) -> EntryId:
        """Its name within the space."""
        return EntryId(self.kind, self.key)

    @property
    def exists(self) -> bool:
        """Whether this version is a value and not an end."""
        return self.change.leaves_entry

    @property
    def weight_bytes(self) -> int:
        """At least what it takes in a message; keys, labels and sources count as much as values do."""
        value = self.value.size_bytes if self.value is not None else 0
        written = _written_bytes(self.key, self.tags, self.sources)
        return FRAME_BYTES + value + utf8_bytes(self.basis) + written

    def ended(
        self, change: ChangeType, *, revision: int, author: str, at: datetime, cause: Cause | None
    ) -> Entry:
        """The version that ends this one: deleted or expired."""
        return Entry(
            self.kind, self.key, self.version + 1, revision, change, None, author, at, cause=cause
        )


@dataclass(frozen=True, slots=True)
class Commit:
    """Changes to one space that took effect together."""

    space: SpaceName
    revision: int
    committed_at: datetime
    author: str
    occasion: Occasion
    entries: tuple[Entry, ...]
    cause: Cause | None = None
    request_id: str = ""
    compacted_to: int = 0
    """For a compaction: the revision that became the oldest readable."""
    compacted_path: str = ""
    """For a compaction of one region: its path."""
    digest: bytes = b""
    """The hash of this commit and, through its predecessor's, of the whole log (see `chain`)."""
    content_digest: bytes = b""
    """The hash of the entries alone, which outlives their compaction."""

    @property
    def weight_bytes(self) -> int:
        """At least what it takes in a message."""
        return FRAME_BYTES + sum(entry.weight_bytes for entry in self.entries)


class Operation(Enum):
    """What a change does to its entry."""

    PUT = "put"
    PATCH = "patch"
    APPEND = "append"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Change:
    """What a caller wants to become of one entry; the key is in its normal form."""

    id: EntryId
    """For APPEND the prefix below which the server makes the key."""
    operation: Operation
    value: Value | None = None
    """For PATCH the merge patch, as JSON."""
    expected_version: int | None = None
    overwrite: bool = False
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    sources: tuple[str, ...] = ()
    ttl: timedelta | None = None

    @property
    def weight_bytes(self) -> int:
        """What it adds to the log of what its author chose the length of."""
        value = self.value.size_bytes if self.value is not None else 0
        return value + _written_bytes(self.id.key, self.tags, self.sources)


class Requirement(Enum):
    """What a condition asks of an entry."""

    VERSION = "version"
    EXISTS = "exists"
    VALUE = "value"
    UNCHANGED_SINCE = "unchanged_since"


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold for a commit's changes to apply."""

    id: EntryId
    requirement: Requirement
    number: int = 0
    """The version, the revision, or 1 and 0 for must and must not exist."""
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A commit as a caller asks for it."""

    space: SpaceName
    changes: tuple[Change, ...]
    conditions: tuple[Condition, ...] = ()
    otherwise: tuple[Change, ...] = ()
    """What to change when the conditions do not hold; empty makes that an error."""
    request_id: str = ""
    is_single: bool = False
    """Whether the caller's message has a field for one change only, so that errors name that."""


def _written_bytes(key: str, tags: tuple[str, ...], sources: tuple[str, ...]) -> int:
    labels = (*tags, *sources)
    return utf8_bytes(key) + sum(map(utf8_bytes, labels)) + LABEL_BYTES * len(labels)


def later(space: Space, now: datetime) -> datetime:
    """The time of a commit made now: never before the previous commit's."""
    return now if space.committed_at is None or space.committed_at < now else space.committed_at


def advanced(space: Space, commit: Commit) -> Space:
    """The space after `commit`."""
    return replace(
        space, head=commit.revision, committed_at=commit.committed_at, digest=commit.digest
    )
