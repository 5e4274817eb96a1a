"""Reading: a small pool of threads, and the rule for which revision a read is answered at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import Entry, EntryId, Kind, Space, SpaceName
from lavagna_server.domain.errors import Compacted, EpochChanged, FutureRevision, NotFound
from lavagna_server.domain.keys import Pattern
from lavagna_server.engine.catalog import BoardCatalog, Catalog
from lavagna_server.ports.store import Scan, Snapshot, Store

T = TypeVar("T")

READERS = 4
PAGE = 1_000


class Readers:
    """Runs reads on threads of their own, each on a consistent snapshot."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="lavagna-reader")

    async def run(self, read: Callable[[Snapshot], T]) -> T:
        """What `read` gives on the newest snapshot."""
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, self._with_snapshot, read
        )

    def _with_snapshot(self, read: Callable[[Snapshot], T]) -> T:
        with self._store.snapshot() as snapshot:
            return read(snapshot)

    def close(self) -> None:
        """Lets reads under way finish and ends the threads."""
        self._pool.shutdown(wait=True)


@dataclass(frozen=True, slots=True)
class ReadPoint:
    """Which revision a caller wants to read at."""

    at_revision: int = 0
    """Exactly this one; 0 is the newest."""
    min_revision: int = 0
    """This one or a later one."""
    epoch: str = ""
    """In this life of the board, for a read that continues another; empty is the present one."""


class StateAt:
    """The entries of one space as of one revision, as one caller may see them."""

    def __init__(
        self, snapshot: Snapshot, board: BoardCatalog, space: Space, revision: int, caller: Caller
    ) -> None:
        self.space, self.revision = space, revision
        self._snapshot, self._board, self._caller = snapshot, board, caller
        self._regions = board.regions_of(space.name)
        self._is_newest = revision == space.head

    def get(self, entries: list[EntryId]) -> dict[EntryId, Entry]:
        """Those of the entries that exist and that the caller may read."""
        return {id_: entry for id_, entry in self.known(entries).items() if entry.exists}

    def known(self, entries: list[EntryId]) -> dict[EntryId, Entry]:
        """The newest versions of those of the entries that the caller may read, ends included."""
        readable = [entry for entry in entries if self._regions.may_read(entry.key, self._caller)]
        if self._is_newest:
            return dict(self._snapshot.newest(self.space.name, readable))
        return dict(self._snapshot.as_of(self.space.name, readable, self.revision))

    def version(self, entry: EntryId, version: int) -> Entry | None:
        """One version of an entry that the caller may read; None when it was never made or is compacted."""
        if not self._regions.may_read(entry.key, self._caller):
            return None
        return self._snapshot.version(self.space.name, entry, version)

    def scan(
        self, pattern: Pattern, kinds: frozenset[Kind], after: EntryId | None = None
    ) -> Iterator[Entry]:
        """The entries that exist, match and may be read, by kind and key, from after `after` on."""
        revision = None if self._is_newest else self.revision
        while page := self._snapshot.scan(
            self.space.name, Scan(pattern.literal_prefix, kinds, after, revision, PAGE)
        ):
            for entry in page:
                if pattern.match(entry.key) is not None and self._regions.may_read(
                    entry.key, self._caller
                ):
                    yield entry
            if len(page) < PAGE:
                return
            after = page[-1].id

    def changed(
        self, pattern: Pattern, kind: Kind, since: int, after: EntryId | None = None
    ) -> Iterator[EntryId]:
        """The entries that match, may be read and have versions after a revision, whether they exist or not, by key, from after `after` on."""
        while page := self._snapshot.changed(
            self.space.name,
            Scan(pattern.literal_prefix, frozenset({kind}), after, self.revision, PAGE),
            since=since,
        ):
            for entry in page:
                if pattern.match(entry.key) is not None and self._regions.may_read(
                    entry.key, self._caller
                ):
                    yield entry
            if len(page) < PAGE:
                return
            after = page[-1]

    def newest(self, space: SpaceName, entry: EntryId) -> Entry | None:
        """The entry, for conditions that are tried on this state."""
        del space
        return self.get([entry]).get(entry)

    def matching(
        self, space: SpaceName, pattern: Pattern, kinds: frozenset[Kind] = frozenset()
    ) -> Iterator[Entry]:
        """The entries that match, for conditions that are tried on this state."""
        del space
        return self.scan(pattern, kinds)


def state_at(
    snapshot: Snapshot,
    catalog: Catalog,
    caller: Caller,
    name: SpaceName,
    patterns: Iterable[Pattern],
    point: ReadPoint,
) -> StateAt:
    """The state of a space at a read point, for reading what matches `patterns`.

    Raises:
        NotFound: There is no such board, or the space is another agent's.
        Compacted, FutureRevision: The revision cannot be read; nothing else is given in its place (S4).
        EpochChanged: The board is another than the one that was meant.
    """
    board, space = visible_log(snapshot, catalog, caller, name)
    check_epoch(space, point.epoch)
    revision = point.at_revision or space.head
    newest_wanted = max(revision, point.min_revision)
    if newest_wanted > space.head:
        raise FutureRevision(revision=newest_wanted, newest=space.head)
    check_readable(board, space, caller, patterns, revision)
    return StateAt(snapshot, board, space, revision, caller)


def changes_between(
    before: StateAt | None, after: StateAt, pattern: Pattern, kind: Kind
) -> Iterator[tuple[Entry | None, Entry | None]]:
    """What the entries that match were and are where the two differ, by key; no state is one without entries."""
    first, last = after, after
    if before is not None:
        first, last = sorted((before, after), key=lambda state: state.revision)
    for entry in last.changed(pattern, kind, first.revision if before else 0):
        old = before.get([entry]).get(entry) if before else None
        new = after.get([entry]).get(entry)
        if _version(old) != _version(new):
            yield old, new


def _version(entry: Entry | None) -> int:
    return entry.version if entry else 0


def visible_space(snapshot: Snapshot, catalog: Catalog, caller: Caller, name: SpaceName) -> Space:
    """Where a space of the caller's stands.

    Raises:
        NotFound: There is no such board, or the space is another agent's.
        EpochChanged: The board was made anew while this was asked.
    """
    return visible_log(snapshot, catalog, caller, name)[1]


def visible_log(
    snapshot: Snapshot, catalog: Catalog, caller: Caller, name: SpaceName
) -> tuple[BoardCatalog, Space]:
    """Where a space of the caller's stands, and the rules of the same life of its board.

    Raises:
        NotFound: There is no such board, or the space is another agent's.
        EpochChanged: The board was made anew while this was asked.
    """
    board = catalog.board(name.board)
    epoch = board.board.epoch
    if name.owner not in ("", caller.agent):
        raise NotFound(f"space {name}")
    space = snapshot.space(name) or Space(name, epoch)
    # One of the two may be newer than the other; the rules of one life say nothing about the entries of another.
    check_epoch(space, epoch)
    return board, space


def check_epoch(space: Space, epoch: str) -> None:
    """Checks that a space belongs to a life of its board; to any when that is empty.

    Raises:
        EpochChanged: It does not.
    """
    if epoch and space.epoch != epoch:
        raise EpochChanged(expected=epoch, current=space.epoch)


def check_readable(
    board: BoardCatalog, space: Space, caller: Caller, patterns: Iterable[Pattern], revision: int
) -> None:
    """Checks that everything that a caller may read of `patterns` is known from `revision` on.

    Raises:
        Compacted: It is not.
    """
    regions = board.regions_of(space.name)
    oldest = max([space.oldest, *(regions.oldest_for(pattern, caller) for pattern in patterns)])
    if revision < oldest:
        raise Compacted(revision=revision, oldest=oldest)
