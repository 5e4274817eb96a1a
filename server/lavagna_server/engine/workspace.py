"""The state as one operation sees and changes it, on the writer thread.

Reads go through the operation's own changes, then its group's, then the store. An operation that raises leaves nothing behind, because its
changes are dropped as a whole; so one failed commit never fails its neighbours.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import datetime

from lavagna_server.domain.boards import Board
from lavagna_server.domain.chain import sealed
from lavagna_server.domain.entries import (
    Commit,
    Entry,
    EntryId,
    Kind,
    Occasion,
    Space,
    SpaceName,
    advanced,
)
from lavagna_server.domain.keys import Pattern, is_within
from lavagna_server.domain.triggers import Trigger, TriggerId
from lavagna_server.engine.agenda_view import AgendaView
from lavagna_server.engine.catalog import BoardCatalog, Catalog
from lavagna_server.engine.group import Group
from lavagna_server.engine.overlay import Overlay
from lavagna_server.ports.store import Effect, Record, Scan, Transaction

PAGE = 1_000


class Workspace:
    """One operation's view of a group."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._own = Overlay()
        self.now = group.now
        """The time of the group; the same for all its operations."""
        self.closed: set[SpaceName] = set()
        """Spaces in which an activation ended, so that quiescence may have come."""
        self.woken: set[tuple[str, str]] = set()
        """Boards and workers for whom an activation may have become available."""
        self.deadlines: list[datetime] = []
        """Moments at which upkeep has something to do."""

    @property
    def agenda(self) -> AgendaView:
        """The activations and edges; made anew each time, so that no cycle keeps a workspace alive after its use."""
        return AgendaView(self, self._group)

    @property
    def catalog(self) -> Catalog:
        """The configuration, without what this operation changes of it."""
        return self._group.catalog

    @property
    def transaction(self) -> Transaction:
        """The store, for what is rare: versions, compaction, erasure. Does not show the group's own changes."""
        return self._group.transaction

    @property
    def own(self) -> Overlay:
        """What this operation changed."""
        return self._own

    def board(self, name: str) -> BoardCatalog:
        """A board's configuration. Raises `NotFound`."""
        return self._group.catalog.board(name)

    def space(self, name: SpaceName) -> Space:
        """Where a log stands; one that was never written stands at 0."""
        if (own := self._own.spaces.get(name)) is not None:
            return own
        return self._group.space(name) or Space(name, self.board(name.board).board.epoch)

    def newest(self, space: SpaceName, entry: EntryId) -> Entry | None:
        """The newest version of an entry, also when that is its end."""
        own = self._own.entries.get(space)
        if own is not None and (found := own.get(entry)) is not None:
            return found
        return self._group.newest(space, entry)

    def version(self, space: SpaceName, entry: EntryId, version: int) -> Entry | None:
        """One version of an entry; None when it was never made or is compacted."""
        for commit in (*self._own.commits, *self._group.overlay.commits):
            if commit.space == space:
                for each in commit.entries:
                    if each.id == entry and each.version == version:
                        return each
        return self._group.transaction.version(space, entry, version)

    def matching(
        self, space: SpaceName, pattern: Pattern, kinds: frozenset[Kind] = frozenset()
    ) -> Iterator[Entry]:
        """The entries that exist and match, by kind and key."""
        path = pattern.literal_prefix
        changed: dict[EntryId, Entry] = {}
        for overlay in (self._group.overlay, self._own):
            changed |= {
                id_: entry
                for id_, entry in overlay.entries.get(space, {}).items()
                if not path or is_within(id_.key, path)
            }
        stored = (entry for entry in self._stored(space, path, kinds) if entry.id not in changed)
        fresh = sorted(
            (
                each
                for each in changed.values()
                if each.exists and (not kinds or each.kind in kinds)
            ),
            key=_by_kind_and_key,
        )
        for entry in heapq.merge(stored, fresh, key=_by_kind_and_key):
            if pattern.match(entry.key) is not None:
                yield entry

    def _stored(self, space: SpaceName, path: str, kinds: frozenset[Kind]) -> Iterator[Entry]:
        after: EntryId | None = None
        while page := self._group.transaction.scan(space, Scan(path, kinds, after, limit=PAGE)):
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].id

    def is_quiescent(self, name: SpaceName) -> bool:
        """Whether a log ends with the note that its crew has come to rest."""
        head = self.space(name).head
        fresh = [*self._group.overlay.commits, *self._own.commits]
        last = next((each for each in reversed(fresh) if each.space == name), None)
        if last is None and head:
            stored = self._group.transaction.commits(name, after=head - 1, limit=1, bytes_max=1)
            last = next(iter(stored), None)
        return last is not None and last.occasion is Occasion.QUIESCENCE

    def append(self, commit: Commit) -> Commit:
        """Takes the commit into the log as the next revision, sealed into the hash chain."""
        space = self.space(commit.space)
        assert commit.revision == space.head + 1, "revisions run without gaps"
        done = sealed(commit, space.digest)
        self._own.put_commit(done)
        self._own.spaces[commit.space] = advanced(space, done)
        self.deadlines += [
            entry.expires_at for entry in done.entries if entry.expires_at is not None
        ]
        return done

    def put_space(self, space: Space) -> None:
        """Changes where a log stands, other than by a commit."""
        self._own.spaces[space.name] = space

    def save(self, record: Record) -> None:
        """Takes a record in, as new or in place of what it was."""
        self._own.records.append((record, False))

    def trigger(self, trigger: TriggerId) -> Trigger | None:
        """A trigger, as this operation has it."""
        for record, removed in reversed(self._own.records):
            if isinstance(record, Trigger) and record.id == trigger:
                return None if removed else record
        return self.board(trigger.space.board).triggers.get(trigger)

    def remove(self, record: Record) -> None:
        """Takes a record out."""
        self._own.records.append((record, True))

    def erase_board(self, board: Board) -> None:
        """Removes a board with all that belongs to it, in the store and in what the group changed so far."""
        self._group.transaction.erase_board(board.name)
        self._group.forget(board.name)
        self._own.forget(board.name)
        self.remove(board)

    def effect(self, board: str, agent: str, request_id: str) -> Effect | None:
        """What a request came to, if it was seen before."""
        seen = self._group.overlay.effects.get((board, agent, request_id))
        return seen or self._group.transaction.effect(board, agent, request_id)

    def put_effect(self, effect: Effect) -> None:
        """Records what a request came to."""
        self._own.effects[effect.board, effect.agent, effect.request_id] = effect

    def succeed(self) -> None:
        """Hands the changes over to the group and to the catalog."""
        self._group.overlay.absorb(self._own)
        for record, removed in self._own.records:
            self._group.catalog.put(record, remove=removed)


def _by_kind_and_key(entry: Entry) -> tuple[str, str]:
    return entry.kind.value, entry.key
