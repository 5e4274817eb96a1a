"""A watcher: a cursor per space, turned into messages that chain without gap or overlap (W1 to W4, W6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import FRAME_BYTES, Commit, Entry, Kind, Space, SpaceName
from lavagna_server.domain.errors import EpochChanged
from lavagna_server.domain.keys import EVERYTHING
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.positions import Place, Position, Target
from lavagna_server.engine.catalog import BoardCatalog, Catalog
from lavagna_server.engine.feed import Cursor, Feed
from lavagna_server.engine.packing import SeenCommit, leading, packed
from lavagna_server.engine.reading import (
    Readers,
    StateAt,
    check_epoch,
    check_readable,
    visible_space,
)
from lavagna_server.ports.clock import Clock
from lavagna_server.ports.store import Snapshot


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

    @property
    def weight_bytes(self) -> int:
        """At least what it takes on the wire."""
        commits = sum(seen.weight_bytes for seen in self.commits)
        state = sum(entry.weight_bytes for entry in self.state)
        return FRAME_BYTES + len(self.token) + commits + state

    @property
    def ends_whole(self) -> bool:
        """Whether no commit is in the middle of its parts after it, so that its token leads on."""
        fragment = self.commits[-1].fragment if self.commits else None
        return fragment is None or fragment[1]


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
            EpochChanged: Another board has its name.
        """
        self._rung.clear()
        self._board()
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
        """A sign of life for each space, which moves the token on.

        Raises:
            NotFound: The board is gone.
            EpochChanged: Another board has its name.
        """
        self._board()
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
        fitting = leading(page[: self._limits.page_entries_max], self._limits.page_bytes_max)
        more = len(fitting) < len(page)
        after = fitting[-1].id if more else None
        self._places[name] = Place(place.revision, is_loading=more, after=after)
        self._rung.set()
        return [self._message(name, cursor.seen, cursor.seen, state=fitting, synced=not more)]

    def _state_page(self, snapshot: Snapshot, name: SpaceName, place: Place) -> Sequence[Entry]:
        """A page of the initial state, and one entry more when there is more."""
        space = self._readable_space(snapshot, name, place.revision)
        state = StateAt(snapshot, self._board(), space, place.revision, self._caller)
        targets = [target for target in self._targets if target.space == name]
        pattern = targets[0].pattern if len(targets) == 1 else EVERYTHING
        page: list[Entry] = []
        left = self._limits.page_bytes_max
        for entry in state.scan(pattern, _kinds(targets), place.after):
            if any(_is_of_state(target, entry) for target in targets):
                page.append(entry)
                left -= entry.weight_bytes
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
        messages = self._tell(name, cursor, commits, through)
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
        check_epoch(space, self._position.epoch)
        if revision > space.head:  # the snapshot is of a board that knows nothing of it yet
            raise EpochChanged(expected=self._position.epoch, current="")
        check_readable(self._board(), space, self._caller, self._cursors[name].patterns, revision)
        return space

    def _seen(self, commit: Commit) -> SeenCommit | None:
        """The commit as this watcher sees it; None when it does not."""
        regions = self._board().regions_of(commit.space)
        targets = [target for target in self._targets if target.space == commit.space]
        entries = tuple(
            entry
            for entry in commit.entries
            if regions.may_read(entry.key, self._caller)
            and any(target.includes(entry) for target in targets)
        )
        return SeenCommit(commit, entries) if entries or commit.occasion.is_for_everyone else None

    def _board(self) -> BoardCatalog:
        """The configuration of the board that is followed.

        Raises:
            NotFound: The board is gone.
            EpochChanged: Another board has its name.
        """
        board = self._catalog.board(self._caller.board)
        if board.board.epoch != self._position.epoch:
            raise EpochChanged(expected=self._position.epoch, current=board.board.epoch)
        return board

    def _tell(
        self, name: SpaceName, cursor: Cursor, commits: Iterable[Commit], through: int
    ) -> list[Message]:
        """Messages for commits that may match, which together cover everything up to `through`."""
        matching = (seen for commit in commits if (seen := self._seen(commit)) is not None)
        batches = list(packed(matching, self._limits.page_bytes_max))
        messages: list[Message] = []
        for index, batch in enumerate(batches):
            covered = batch[-1].commit.revision
            if (fragment := batch[0].fragment) is None:
                is_last = index == len(batches) - 1
                covered = max(covered, through) if is_last else covered
            elif fragment == (0, False) and cursor.seen < covered - 1:
                messages.append(self._message(name, cursor.seen, covered - 1))
            if fragment is not None and not fragment[1]:
                covered = cursor.seen  # only with the last part is the commit covered
            messages.append(self._message(name, cursor.seen, covered, batch))
        if through > cursor.seen and (messages or not cursor.is_live):
            messages.append(self._message(name, cursor.seen, through))
        return messages

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
