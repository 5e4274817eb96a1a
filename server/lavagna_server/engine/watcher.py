"""A watcher: a cursor per space, turned into messages that chain without gap or overlap (W1 to W4, W6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import Commit, Entry, Kind, Space, SpaceName
from lavagna_server.domain.errors import Compacted, NotFound
from lavagna_server.domain.keys import EVERYTHING
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.positions import Place, Position, Target
from lavagna_server.engine.catalog import Catalog
from lavagna_server.engine.feed import Cursor, Feed
from lavagna_server.engine.reading import Readers, StateAt, visible_space
from lavagna_server.ports.clock import Clock
from lavagna_server.ports.store import Snapshot


@dataclass(frozen=True, slots=True)
class SeenCommit:
    """A commit as far as it matches and may be read."""

    commit: Commit
    entries: tuple[Entry, ...]
    fragment: tuple[int, bool] | None = None
    """The part's index and whether it is the last, when the commit is too large for one message."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a watch, about one space."""

    space: Space
    at: datetime
    after: int
    through: int
    """`(after, through]` is what the message proves complete."""
    commits: tuple[SeenCommit, ...] = ()
    state: tuple[Entry, ...] = ()
    synced: bool = False
    token: str = ""


class Watcher:
    """Follows some spaces of a board for one caller, who sees nothing that it may not read."""

    def __init__(
        self,
        caller: Caller,
        targets: tuple[Target, ...],
        position: Position,
        spaces: Mapping[SpaceName, Space],
        *,
        feed: Feed,
        readers: Readers,
        catalog: Catalog,
        clock: Clock,
        limits: Limits,
        on_close: Callable[[Watcher], None],
    ) -> None:
        self._caller, self._targets = caller, targets
        self._feed, self._readers, self._catalog = feed, readers, catalog
        self._clock, self._limits, self._on_close = clock, limits, on_close
        self._position = position
        self._places = dict(position.places)
        self._spaces = dict(spaces)
        self._rung = asyncio.Event()
        self._cursors = {name: self._cursor(name) for name in self._places}
        for cursor in self._cursors.values():
            feed.add(cursor)

    def _cursor(self, name: SpaceName) -> Cursor:
        patterns = tuple({target.pattern for target in self._targets if target.space == name})
        return Cursor(name, patterns, self._rung, self._places[name].revision)

    @property
    def pending_commits(self) -> int:
        """How many commits wait in memory for this watcher; bounded, whatever it does."""
        return sum(len(cursor.pending) for cursor in self._cursors.values())

    @property
    def may_have_more(self) -> bool:
        """Whether `ready` may have something to tell at once."""
        return self._rung.is_set()

    def close(self) -> None:
        """Lets go of the feed."""
        for cursor in self._cursors.values():
            self._feed.remove(cursor)
        self._on_close(self)

    def ring(self) -> None:
        """Ends a wait."""
        self._rung.set()

    async def wait(self, seconds: float) -> bool:
        """Waits until there may be something to tell; False when the time was over first."""
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            return False
        return True

    async def ready(self) -> list[Message]:
        """What there is to tell now, about a page of it at most; nothing when there is nothing.

        Raises:
            Compacted: The watcher is behind, and what it would read next was given up.
            NotFound: The board is gone.
        """
        self._rung.clear()
        self._catalog.board(self._caller.board)
        messages: list[Message] = []
        for name, cursor in self._cursors.items():
            if self._places[name].is_loading:
                messages += await self._load(name, cursor)
            elif cursor.is_live:
                messages += self._tell(name, cursor, cursor.take(), self._feed.head(name))
            else:
                messages += await self._read(name, cursor)
        return messages

    def bookmarks(self) -> list[Message]:
        """A sign of life for each space, which moves the token on."""
        messages: list[Message] = []
        for name, cursor in self._cursors.items():
            if self._places[name].is_loading or not cursor.is_live:
                messages.append(self._message(name, cursor.seen, cursor.seen))
            elif not cursor.pending:
                messages.append(
                    self._message(name, cursor.seen, max(cursor.seen, self._feed.head(name)))
                )
        return messages

    async def _load(self, name: SpaceName, cursor: Cursor) -> list[Message]:
        place = self._places[name]
        page = await self._readers.run(lambda snapshot: self._state_page(snapshot, name, place))
        full = (
            len(page) > self._limits.page_entries_max or _size(page) > self._limits.page_bytes_max
        )
        page = page[:-1] if full and len(page) > 1 else page
        after = page[-1].id if full else None
        self._places[name] = Place(place.revision, is_loading=full, after=after)
        self._rung.set()
        return [self._message(name, cursor.seen, cursor.seen, state=tuple(page), synced=not full)]

    def _state_page(self, snapshot: Snapshot, name: SpaceName, place: Place) -> Sequence[Entry]:
        """A page of the initial state, and one entry more when there is more."""
        space = self._readable_space(snapshot, name, place.revision)
        state = StateAt(
            snapshot, self._catalog.board(name.board), space, place.revision, self._caller
        )
        targets = [target for target in self._targets if target.space == name]
        pattern = targets[0].pattern if len(targets) == 1 else EVERYTHING
        page: list[Entry] = []
        left = self._limits.page_bytes_max
        for entry in state.scan(pattern, _kinds(targets), place.after):
            if any(_is_of_state(target, entry) for target in targets):
                page.append(entry)
                left -= entry.value.size_bytes if entry.value is not None else 0
                if left < 0 or len(page) > self._limits.page_entries_max:
                    break
        return page

    async def _read(self, name: SpaceName, cursor: Cursor) -> list[Message]:
        """A page of the log, for a cursor that is behind."""
        commits, space = await self._readers.run(
            lambda snapshot: self._page(snapshot, name, cursor.seen)
        )
        self._spaces[name] = space
        through = commits[-1].revision if commits else space.head
        messages = self._tell(
            name, cursor, [commit for commit in commits if self._matches(commit)], through
        )
        if not self._feed.catch_up(cursor, space):
            self._rung.set()
        return messages

    def _page(
        self, snapshot: Snapshot, name: SpaceName, after: int
    ) -> tuple[Sequence[Commit], Space]:
        space = self._readable_space(snapshot, name, after)
        commits = snapshot.commits(
            name,
            after=after,
            limit=self._limits.page_entries_max,
            bytes_max=self._limits.page_bytes_max,
        )
        return commits, space

    def _readable_space(self, snapshot: Snapshot, name: SpaceName, revision: int) -> Space:
        space = visible_space(snapshot, self._catalog, self._caller, name)
        regions = self._catalog.board(name.board).regions_of(name)
        patterns = self._cursors[name].patterns
        oldest = max(
            [space.oldest, *(regions.oldest_for(pattern, self._caller) for pattern in patterns)]
        )
        if revision < oldest:
            raise Compacted(revision=revision, oldest=oldest)
        return space

    def _matches(self, commit: Commit) -> bool:
        return not commit.entries or bool(self._visible(commit))

    def _visible(self, commit: Commit) -> tuple[Entry, ...]:
        board = self._catalog.boards.get(commit.space.board)
        if board is None:
            raise NotFound(f"boards/{commit.space.board}")
        regions = board.regions_of(commit.space)
        targets = [target for target in self._targets if target.space == commit.space]
        return tuple(
            entry
            for entry in commit.entries
            if regions.may_read(entry.key, self._caller)
            and any(target.includes(entry) for target in targets)
        )

    def _tell(
        self, name: SpaceName, cursor: Cursor, commits: Sequence[Commit], through: int
    ) -> list[Message]:
        """Messages for commits that may match, which together cover everything up to `through`."""
        messages: list[Message] = []
        batch: list[SeenCommit] = []
        left = self._limits.page_bytes_max
        for commit in commits:
            entries = self._visible(commit)
            if commit.entries and not entries:
                continue
            size = _size(entries)
            if batch and size > left:
                messages.append(
                    self._message(name, cursor.seen, batch[-1].commit.revision, tuple(batch))
                )
                batch, left = [], self._limits.page_bytes_max
            if size > self._limits.page_bytes_max:
                messages += self._fragments(name, cursor, commit, entries)
            else:
                batch.append(SeenCommit(commit, entries))
                left -= size
        if batch or (messages and through > cursor.seen):
            messages.append(
                self._message(name, cursor.seen, max(through, cursor.seen), tuple(batch))
            )
        elif through > cursor.seen and not cursor.is_live:
            messages.append(self._message(name, cursor.seen, through))
        return messages

    def _fragments(
        self, name: SpaceName, cursor: Cursor, commit: Commit, entries: tuple[Entry, ...]
    ) -> Iterator[Message]:
        """A commit that is too large for one message, in parts; what is covered moves on with the last alone."""
        parts = list(_parts(entries, self._limits.page_bytes_max))
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            seen = SeenCommit(commit, part, (index, last))
            before = commit.revision - 1
            if index == 0 and cursor.seen < before:
                yield self._message(name, cursor.seen, before)
            yield self._message(
                name, cursor.seen, commit.revision if last else cursor.seen, (seen,)
            )

    def _message(
        self,
        name: SpaceName,
        after: int,
        through: int,
        commits: tuple[SeenCommit, ...] = (),
        *,
        state: tuple[Entry, ...] = (),
        synced: bool = False,
    ) -> Message:
        self._cursors[name].seen = through
        place = self._places[name]
        if not place.is_loading:
            self._places[name] = Place(through)
        token = str(Position(self._position.epoch, self._position.filter_digest, self._places))
        head = max(through, self._spaces[name].head, self._feed.head(name))
        space = replace(self._spaces[name], head=head)
        return Message(space, self._clock.now(), after, through, commits, state, synced, token)


def _size(entries: Sequence[Entry]) -> int:
    return sum(entry.value.size_bytes for entry in entries if entry.value is not None)


def _kinds(targets: Sequence[Target]) -> frozenset[Kind]:
    """The kinds that any of the targets looks at; none means all."""
    if any(not target.kinds for target in targets):
        return frozenset()
    return frozenset(kind for target in targets for kind in target.kinds)


def _is_of_state(target: Target, entry: Entry) -> bool:
    """Whether an entry belongs to the state that a target sees; which change made it does not matter there."""
    return (not target.kinds or entry.kind in target.kinds) and target.pattern.match(
        entry.key
    ) is not None


def _parts(entries: tuple[Entry, ...], bytes_max: int) -> Iterator[tuple[Entry, ...]]:
    part: list[Entry] = []
    size = 0
    for entry in entries:
        entry_size = _size([entry])
        if part and size + entry_size > bytes_max:
            yield tuple(part)
            part, size = [], 0
        part.append(entry)
        size += entry_size
    yield tuple(part)
