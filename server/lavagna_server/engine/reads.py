"""Reads: the use cases that look at entries and change nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.diffs import Comparison, Difference
from lavagna_server.domain.entries import Entry, EntryId, Kind, Space, SpaceName
from lavagna_server.domain.errors import FutureRevision, NotFound
from lavagna_server.domain.keys import EVERYTHING, Pattern
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.packing import SeenCommit, leading, packed
from lavagna_server.engine.reading import (
    ReadPoint,
    StateAt,
    changes_between,
    check_epoch,
    check_readable,
    state_at,
    visible_log,
)
from lavagna_server.ports.store import Snapshot


@dataclass(frozen=True, slots=True)
class EntryRead:
    """One entry, and the revision it was read at."""

    space: Space
    revision: int
    at: datetime
    entry: Entry


@dataclass(frozen=True, slots=True)
class EntriesRead:
    """Entries of one revision."""

    space: Space
    revision: int
    at: datetime
    entries: tuple[Entry, ...]
    next_after: EntryId | None = None
    """Where the next page begins; None on the last."""


@dataclass(frozen=True, slots=True)
class VersionsRead:
    """Versions of one entry, newest first."""

    space: Space
    revision: int
    at: datetime
    versions: tuple[Entry, ...]
    next_below: int | None = None
    """Where the next page begins; None on the last."""


@dataclass(frozen=True, slots=True)
class Differences:
    """How two revisions differ."""

    space: Space
    revision: int
    at: datetime
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class ExportPart:
    """A part of a log: the state that it begins with, or commits."""

    space: Space
    at: datetime
    state: tuple[Entry, ...] = ()
    commits: tuple[SeenCommit, ...] = ()
    """Those of which the caller may read something."""


class Reads:
    """Looks at entries on behalf of a caller, who sees nothing that it may not read."""

    def __init__(self, ground: Ground) -> None:
        self._readers, self._catalog = ground.readers, ground.catalog
        self._clock, self._limits = ground.clock, ground.limits

    async def get(
        self, caller: Caller, space: SpaceName, entry: EntryId, point: ReadPoint
    ) -> EntryRead:
        """One entry.

        Raises:
            NotFound: It does not exist at that revision, or the caller may not read it.
            Compacted, FutureRevision: That revision cannot be read.
        """

        def read(snapshot: Snapshot) -> EntryRead:
            state = self._state(snapshot, caller, space, _exactly(entry.key), point)
            found = state.get([entry]).get(entry)
            if found is None:
                raise NotFound(entry.key)
            return EntryRead(state.space, state.revision, self._clock.now(), found)

        return await self._readers.run(read)

    async def batch_get(
        self, caller: Caller, space: SpaceName, entries: Sequence[EntryId], point: ReadPoint
    ) -> EntriesRead:
        """Those of many entries that exist, in the order asked for, of one revision."""

        def read(snapshot: Snapshot) -> EntriesRead:
            patterns = [_exactly(entry.key) for entry in entries]
            state = state_at(snapshot, self._catalog, caller, space, patterns, point)
            found = state.get(list(entries))
            kept = tuple(found[entry] for entry in entries if entry in found)
            return EntriesRead(state.space, state.revision, self._clock.now(), kept)

        return await self._readers.run(read)

    async def list(
        self,
        caller: Caller,
        space: SpaceName,
        kinds: frozenset[Kind],
        pattern: Pattern,
        *,
        tags: frozenset[str],
        point: ReadPoint,
        after: EntryId | None,
        size: int,
        keys_only: bool,
    ) -> EntriesRead:
        """A page of the entries that match, in key order."""

        def read(snapshot: Snapshot) -> EntriesRead:
            state = self._state(snapshot, caller, space, pattern, point)
            page: list[Entry] = []
            bytes_left = self._limits.page_bytes_max
            for entry in state.scan(pattern, kinds, after):
                if not tags.issubset(entry.tags):
                    continue
                listed = replace(entry, value=None) if keys_only else entry
                bytes_left -= listed.weight_bytes
                if len(page) == size or (page and bytes_left < 0):
                    return EntriesRead(
                        state.space, state.revision, self._clock.now(), tuple(page), page[-1].id
                    )
                page.append(listed)
            return EntriesRead(state.space, state.revision, self._clock.now(), tuple(page))

        return await self._readers.run(read)

    async def history(
        self,
        caller: Caller,
        space: SpaceName,
        entry: EntryId,
        *,
        below_version: int | None,
        size: int,
        epoch: str = "",
    ) -> VersionsRead:
        """A page of the versions of an entry, newest first, ends included.

        Raises:
            NotFound: It was never written, or the caller may not read it.
            EpochChanged: `epoch`, in which the list began, is another life of the board.
        """

        def read(snapshot: Snapshot) -> VersionsRead:
            board, known = visible_log(snapshot, self._catalog, caller, space)
            check_epoch(known, epoch)
            regions = board.regions_of(space)
            versions: Sequence[Entry] = ()
            if regions.may_read(entry.key, caller):
                versions = snapshot.versions(
                    space, entry, below_version=below_version, limit=size + 1
                )
            if not versions and below_version is None:
                raise NotFound(entry.key)
            page = leading(versions[:size], self._limits.page_bytes_max)
            more = len(page) < len(versions)
            return VersionsRead(
                known,
                known.head,
                self._clock.now(),
                page,
                page[-1].version if more else None,
            )

        return await self._readers.run(read)

    async def diff(
        self,
        caller: Caller,
        space: SpaceName,
        kind: Kind,
        pattern: Pattern,
        *,
        from_revision: int,
        to_revision: int,
    ) -> Differences:
        """How the entries that match differ between two revisions, in key order.

        Raises:
            Compacted, FutureRevision: One of the revisions cannot be read.
            Exhausted: They are more than one response may hold.
        """

        def read(snapshot: Snapshot) -> Differences:
            after = self._state(snapshot, caller, space, pattern, ReadPoint(to_revision))
            before = None
            if from_revision:
                before = self._state(snapshot, caller, space, pattern, ReadPoint(from_revision))
            comparison = Comparison(self._limits)
            for old, new in changes_between(before, after, pattern, kind):
                comparison.add(old, new)
            return Differences(
                after.space, after.revision, self._clock.now(), tuple(comparison.differences)
            )

        return await self._readers.run(read)

    async def export(
        self, caller: Caller, space: SpaceName, after_revision: int
    ) -> AsyncGenerator[ExportPart, None]:
        """The log of a space as far as the caller may read it: first the state that it begins with, then the commits.

        Ends with the revision that was newest when it began. A commit that is too large for one message comes in parts.

        Raises:
            FutureRevision: `after_revision` has not happened.
            Compacted: Commits that are still to come were given up, before it began or since.
            EpochChanged: The board was made anew meanwhile.
        """
        board, known = await self._readers.run(
            lambda snapshot: visible_log(snapshot, self._catalog, caller, space)
        )
        if after_revision > known.head:
            raise FutureRevision(revision=after_revision, newest=known.head)
        position = after_revision
        if not after_revision:
            regions = board.regions_of(space)
            position = max(known.oldest, regions.oldest_for(EVERYTHING, caller))
            if position:
                async for part in self._export_state(caller, known, position):
                    yield part
        while position < known.head:
            commits, position = await self._readers.run(
                lambda snapshot, after=position: self._export_page(snapshot, caller, known, after)  # type: ignore[misc]
            )
            for batch in list(packed(commits, self._limits.page_bytes_max)) or [()]:
                yield ExportPart(known, self._clock.now(), commits=batch)
        if known.head == after_revision:
            yield ExportPart(known, self._clock.now())

    async def _export_state(
        self, caller: Caller, known: Space, revision: int
    ) -> AsyncGenerator[ExportPart, None]:
        after: EntryId | None = None
        while True:
            page = await self.list(
                caller,
                known.name,
                frozenset(),
                EVERYTHING,
                tags=frozenset(),
                point=ReadPoint(revision, epoch=known.epoch),
                after=after,
                size=self._limits.page_entries_max,
                keys_only=False,
            )
            yield ExportPart(known, self._clock.now(), state=page.entries)
            after = page.next_after
            if after is None:
                return

    def _export_page(
        self, snapshot: Snapshot, caller: Caller, known: Space, after: int
    ) -> tuple[Sequence[SeenCommit], int]:
        """What the caller may read of the next commits, and the last revision looked at."""
        board, space = visible_log(snapshot, self._catalog, caller, known.name)
        check_epoch(space, known.epoch)
        check_readable(board, space, caller, [EVERYTHING], after)
        regions = board.regions_of(known.name)
        commits = snapshot.commits(
            known.name,
            after=after,
            limit=min(self._limits.page_entries_max, known.head - after),
            bytes_max=self._limits.page_bytes_max,
        )
        readable: list[SeenCommit] = []
        for commit in commits:
            entries = tuple(each for each in commit.entries if regions.may_read(each.key, caller))
            if entries or commit.occasion.is_for_everyone:
                readable.append(SeenCommit(commit, entries))
        return readable, commits[-1].revision

    def _state(
        self,
        snapshot: Snapshot,
        caller: Caller,
        space: SpaceName,
        pattern: Pattern,
        point: ReadPoint,
    ) -> StateAt:
        return state_at(snapshot, self._catalog, caller, space, [pattern], point)


def _exactly(key: str) -> Pattern:
    return Pattern(key, tuple(key.split("/")))
