"""Watches: the use cases of following a board's commits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import Space, SpaceName
from lavagna_server.domain.errors import (
    EpochChanged,
    FilterMismatch,
    FutureRevision,
    Invalid,
    ShuttingDown,
    Unauthenticated,
)
from lavagna_server.domain.positions import Place, Position, Target, filter_digest, parse_position
from lavagna_server.engine.feed import Feed
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.reading import check_epoch, check_readable, visible_space
from lavagna_server.engine.watcher import Message, Watcher
from lavagna_server.ports.store import Snapshot


@dataclass(frozen=True, slots=True)
class Start:
    """Where a watch begins."""

    token: str = ""
    """After the message that carried it."""
    after: int | None = None
    """After this revision of every space."""
    initial_state: bool = False
    """With the state that matches, and what follows it."""


class Watches:
    """Opens watches, and ends them all when the server goes down."""

    def __init__(self, ground: Ground, feed: Feed, *, bookmark_seconds: float) -> None:
        self._feed, self._readers, self._catalog = feed, ground.readers, ground.catalog
        self._clock, self._limits = ground.clock, ground.limits
        self._bookmark_seconds = bookmark_seconds
        self._open: set[Watcher] = set()
        self._is_stopping = False

    async def open(self, caller: Caller, targets: tuple[Target, ...], start: Start) -> Watcher:
        """A watcher that stands at `start`; close it when done.

        Raises:
            Invalid: There are too many targets, or the token is none.
            NotFound: A target is in another agent's space.
            Compacted, FutureRevision, EpochChanged, FilterMismatch: It cannot begin there, and begins nowhere else.
            ShuttingDown: The server is going down.
        """
        if self._is_stopping:
            raise ShuttingDown
        if not 1 <= len(targets) <= self._limits.targets_max:
            raise Invalid(
                "targets", f"a watch has 1 to {self._limits.targets_max} targets (targets_max)"
            )
        spaces = await self._readers.run(lambda snapshot: self._spaces(snapshot, caller, targets))
        position = self._position(caller, targets, start, spaces)
        watcher = Watcher(
            caller, targets, position, spaces, feed=self._feed, readers=self._readers, catalog=self._catalog,
            clock=self._clock, limits=self._limits, on_close=self._open.discard,
        )  # fmt: skip
        self._open.add(watcher)
        return watcher

    async def stream(self, watcher: Watcher, ended: asyncio.Event) -> AsyncGenerator[Message, None]:
        """What a watcher has to tell, for ever, with bookmarks while there is nothing.

        Raises:
            ShuttingDown: The server goes down; a last bookmark went before.
            Unauthenticated: The caller's access ended.
            Compacted: The watcher fell behind a compaction.
            NotFound, EpochChanged: The board is gone, and perhaps another has its name.
        """
        with _rings_when(ended, watcher.ring):
            for message in watcher.bookmarks():
                yield message
            is_last = False
            while not is_last:
                self._check_access(ended)
                messages = await watcher.ready()
                # What is told while the server begins to stop is not the end: a bookmark follows.
                is_last = self._is_stopping
                if not messages:
                    if not is_last and await watcher.wait(self._bookmark_seconds):
                        continue
                    messages = watcher.bookmarks()
                for message in messages:
                    yield message
            raise ShuttingDown

    async def pull(
        self, caller: Caller, targets: tuple[Target, ...], start: Start, wait_seconds: float
    ) -> list[Message]:
        """The next messages of a watch that fit together: at least one, a bookmark when nothing happened in time."""
        watcher = await self.open(caller, targets, start)
        try:
            messages = await watcher.ready()
            if not messages and await watcher.wait(wait_seconds):
                messages = await watcher.ready()
            return _leading(messages, self._limits.page_bytes_max) or watcher.bookmarks()
        finally:
            watcher.close()

    def stop(self) -> None:
        """Ends every watch, each after a last bookmark."""
        self._is_stopping = True
        self.ring_all()

    def ring_all(self) -> None:
        """Lets every watcher look whether its board still exists."""
        for watcher in list(self._open):
            watcher.ring()

    def _check_access(self, ended: asyncio.Event) -> None:
        if ended.is_set():
            raise Unauthenticated("the token was revoked or replaced while the stream was open")

    def _spaces(
        self, snapshot: Snapshot, caller: Caller, targets: tuple[Target, ...]
    ) -> dict[SpaceName, Space]:
        names = {target.space for target in targets}
        return {
            name: visible_space(snapshot, self._catalog, caller, name) for name in sorted(names)
        }

    def _position(
        self,
        caller: Caller,
        targets: tuple[Target, ...],
        start: Start,
        spaces: dict[SpaceName, Space],
    ) -> Position:
        digest = filter_digest(targets)
        board = self._catalog.board(caller.board)
        epoch = board.board.epoch
        if start.token:
            position = parse_position(start.token, field="token")
            if position.epoch != epoch:
                raise EpochChanged(expected=position.epoch, current=epoch)
            if position.filter_digest != digest or set(position.places) != set(spaces):
                raise FilterMismatch
        else:
            position = Position(
                epoch, digest, {name: _place(start, space) for name, space in spaces.items()}
            )
        for name, place in position.places.items():
            space = spaces[name]
            check_epoch(space, epoch)
            if place.revision > space.head:
                raise FutureRevision(revision=place.revision, newest=space.head)
            patterns = [target.pattern for target in targets if target.space == name]
            check_readable(board, space, caller, patterns, place.revision)
        return position


def _place(start: Start, space: Space) -> Place:
    if start.initial_state:
        return Place(space.head, is_loading=True)
    return Place(space.head if start.after is None else start.after)


def _leading(messages: Sequence[Message], bytes_max: int) -> list[Message]:
    """The leading messages that fit, no commit without its last part; at least one commit if there is any."""
    taken: list[Message] = []
    parts: list[Message] = []
    left = bytes_max
    for message in messages:
        parts.append(message)
        if not message.ends_whole:
            continue
        left -= sum(part.weight_bytes for part in parts)
        if taken and left < 0:
            break
        taken += parts
        parts = []
    return taken


class _rings_when:  # noqa: N801 (reads as a phrase where it is used)
    """Rings a bell when an event is set, for as long as the block lasts."""

    def __init__(self, event: asyncio.Event, ring: Callable[[], None]) -> None:
        self._event, self._ring = event, ring
        self._task: asyncio.Task[object] | None = None

    def __enter__(self) -> None:
        self._task = asyncio.ensure_future(self._event.wait())
        self._task.add_done_callback(lambda _: self._ring())

    def __exit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
