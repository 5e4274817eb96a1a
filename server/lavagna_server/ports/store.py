"""The store: what the engine keeps, and the contract of keeping it.

A store decides nothing. It gives consistent snapshots, and it writes what a group of commits left behind: all of it, durably, or none.
One transaction is open at a time in a process; snapshots never wait for it and it never waits for them.
Both belong to one thread from beginning to end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from lavagna_server.domain.agenda import Activation, ActivationFilter, ActivationId
from lavagna_server.domain.agents import Agent
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import Commit, Entry, EntryId, Kind, Space, SpaceName
from lavagna_server.domain.regions import Region
from lavagna_server.domain.standings import Standing
from lavagna_server.domain.triggers import Trigger, TriggerId

Record: TypeAlias = Board | Region | Agent | Standing | Trigger
"""What is configured rather than written; each is identified by board (or space) and name (or path)."""

RecordT = TypeVar("RecordT", Board, Region, Agent, Standing, Trigger)


class Order(Enum):
    """How activations are sorted."""

    AGENDA = "agenda"
    """The higher rating first, among equals the oldest."""
    NEWEST = "newest"
    """The highest number first."""


class EdgeId(NamedTuple):
    """A subject for which an edge trigger's condition holds."""

    trigger: TriggerId
    binding: str
    entry: EntryId


@dataclass(frozen=True, slots=True)
class Scan:
    """Which entries of a space to list."""

    path: str = ""
    """Only this key and those below it; empty means all."""
    kinds: frozenset[Kind] = frozenset()
    """None means all."""
    after: EntryId | None = None
    """Only entries that sort after this one."""
    revision: int | None = None
    """As of this revision; None is the newest."""
    limit: int = 1_000


@dataclass(frozen=True, slots=True)
class Subtree:
    """A part of a space, for compaction: `path` and below, but not the subtrees `without`."""

    path: str = ""
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """What a request came to, so that a retry gets the same answer (S6)."""

    board: str
    agent: str
    request_id: str
    fingerprint: bytes
    """The hash of the request's content."""
    response: bytes
    """The response as it was sent; the store does not look inside."""
    at: datetime


@dataclass(slots=True)
class Changes:
    """What a group of operations leaves behind; later items of a list replace earlier ones of the same name."""

    spaces: list[Space] = field(default_factory=list[Space])
    """At least those that something else here is about, and that are not stored yet."""
    commits: list[Commit] = field(default_factory=list[Commit])
    """In revision order per space. Their entries become versions, and the newest version of each entry."""
    activations: list[Activation] = field(default_factory=list[Activation])
    """Of one that is stored already, what fired it stays as it was: trigger, entry, binding, cause and limits."""
    edges: list[tuple[EdgeId, bool]] = field(default_factory=list[tuple[EdgeId, bool]])
    """True adds the edge, False removes it."""
    removed: list[Record] = field(default_factory=list[Record])
    """Removed before anything is saved; with a trigger go its edges."""
    saved: list[Record] = field(default_factory=list[Record])
    effects: list[Effect] = field(default_factory=list[Effect])


class Snapshot(Protocol):
    """Everything committed when it was opened, and nothing later."""

    def space(self, name: SpaceName) -> Space | None:
        """Where a log stands; None when it was never written."""
        ...

    def spaces(self, board: str) -> Sequence[Space]:
        """All logs of a board."""
        ...

    def newest(self, space: SpaceName, entries: Collection[EntryId]) -> Mapping[EntryId, Entry]:
        """The newest versions, ends included; entries never written are left out."""
        ...

    def as_of(
        self, space: SpaceName, entries: Collection[EntryId], revision: int
    ) -> Mapping[EntryId, Entry]:
        """The versions that were newest at `revision`, ends included."""
        ...

    def scan(self, space: SpaceName, scan: Scan) -> Sequence[Entry]:
        """Entries that exist, by kind and key (code point order)."""
        ...

    def changed(self, space: SpaceName, scan: Scan, *, since: int) -> Sequence[EntryId]:
        """Entries with versions after `since`, up to the scan's revision, ends included; by kind and key."""
        ...

    def versions(
        self, space: SpaceName, entry: EntryId, *, below_version: int | None, limit: int
    ) -> Sequence[Entry]:
        """The versions of an entry, newest first, ends included; only those below `below_version` when given."""
        ...

    def version(self, space: SpaceName, entry: EntryId, version: int) -> Entry | None:
        """One version of an entry; None when it was never made or is compacted."""
        ...

    def commits(
        self, space: SpaceName, *, after: int, limit: int, bytes_max: int
    ) -> Sequence[Commit]:
        """Commits after a revision, in order: at most `limit`, and stopping once their weights exceed `bytes_max`."""
        ...

    def records(self, kind: type[RecordT]) -> Sequence[RecordT]:
        """All records of a kind, of all boards."""
        ...

    def effect(self, board: str, agent: str, request_id: str) -> Effect | None:
        """What a request came to."""
        ...

    def edges(self, trigger: TriggerId, binding: str) -> frozenset[EntryId]:
        """The subjects of a binding for which an edge trigger's condition holds."""
        ...

    def edges_of(self, trigger: TriggerId) -> Collection[EdgeId]:
        """All subjects, of all bindings, for which an edge trigger's condition holds."""
        ...

    def activation(self, activation: ActivationId) -> Activation | None:
        """One activation."""
        ...

    def activations(
        self, where: ActivationFilter, *, order: Order, limit: int
    ) -> Sequence[Activation]:
        """The activations that are meant."""
        ...

    def count_activations(self, where: ActivationFilter) -> int:
        """How many are meant."""
        ...

    def expiring(self, by: datetime, limit: int) -> Sequence[tuple[SpaceName, Entry]]:
        """Entries that exist and whose expiry time has come, the earliest first."""
        ...

    def next_deadline(self, after: datetime) -> datetime | None:
        """The earliest moment at which an entry expires or a lease, a start deadline, a wait or a hold ends.

        Leases, start deadlines and expiries that have passed count; waits and holds (`not_before`) only when later than `after`.
        """
        ...

    def surplus_revision(self, space: SpaceName, subtree: Subtree, versions_max: int) -> int | None:
        """The revision from which on keeping `versions_max` versions of each entry reads exactly; None when none has more."""
        ...

    def has_superseded(self, space: SpaceName, subtree: Subtree, horizon: int) -> bool:
        """Whether a compaction to `horizon` would forget at least one version."""
        ...

    def revision_by(self, space: SpaceName, moment: datetime) -> int:
        """The newest revision committed at or before `moment`; 0 when there is none."""
        ...


class Transaction(Snapshot, Protocol):
    """The open write transaction: reads see the state before `write`, others see what it did when it ends without an exception.

    Compaction and erasure show in its own reads at once.
    """

    def write(self, changes: Changes) -> None:
        """Writes what a group left behind. Called once, last."""
        ...

    def compact(self, space: SpaceName, subtree: Subtree, horizon: int) -> None:
        """Forgets versions that no read at `horizon` or later needs; with the whole space, also the commits before it.

        The newest version of every entry stays, its end included, so that versions never restart (S3).
        """
        ...

    def forget_effects(self, before: datetime) -> None:
        """Forgets what requests came to before a moment."""
        ...

    def erase_board(self, board: str) -> None:
        """Removes a board with all that belongs to it."""
        ...


class Store(Protocol):
    """Durable state. Closing it is the last thing done with it."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A write transaction; leaving the block commits it to stable storage, an exception undoes it.

        Raises:
            StorageFailed: The storage refused; nothing of the transaction took effect.
        """
        ...

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """A consistent view; any number at once, each from its own thread."""
        ...

    def close(self) -> None:
        """Lets go of files and locks."""
        ...
