"""Every stream of a watch that any test opens is held to the rule of `tests.streams`, in the server and in the SDK."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

import lavagna.watch
import lavagna_server.engine.watches
from lavagna.chain import Chain
from lavagna.commits import Commit, State
from lavagna.v1 import watch_pb2 as wire
from lavagna_server.domain import entries
from lavagna_server.engine.watcher import Message, Watcher
from lavagna_server.ports.store import Snapshot
from tests.streams import StreamRule, link_of, link_of_wire

# Shells start what runs in the background with Ctrl-C ignored, and children would inherit that; the tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

_broken: list[str] = []
"""The rule as it was broken since the last test began."""


@contextmanager
def _noting() -> Generator[None]:
    """Remembers what breaks the rule, also where whoever reads the stream takes it for something else."""
    try:
        yield
    except AssertionError as error:
        _broken.append(str(error))
        raise


class CheckedChain(Chain):
    """What an SDK's watch takes from the wire."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._rule = StreamRule()

    def take(self, message: wire.WatchResponse) -> list[Commit | State]:
        link = link_of_wire(message)
        items = super().take(message)
        with _noting():
            self._rule.take(link)
        return items


class CheckedWatcher(Watcher):
    """What a server's watcher tells, which must also be all that there is to tell."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._rule = StreamRule()

    async def ready(self) -> list[Message]:
        messages = await super().ready()
        self._check(messages)
        for message in messages:
            missing = await self._readers.run(partial(self._missing, message))
            with _noting():
                assert not missing, f"({message.after}, {message.through}] lacks {missing}"
        return messages

    def bookmarks(self) -> list[Message]:
        messages = super().bookmarks()
        self._check(messages)
        return messages

    def _check(self, messages: Sequence[Message]) -> None:
        with _noting():
            for message in messages:
                self._rule.take(link_of(message))

    def _missing(self, message: Message, snapshot: Snapshot) -> set[int]:
        """The revisions that the log has in what a message covers, and that match, but that the message does not give."""
        count = message.through - message.after
        if not count or not self._is_in_sight(snapshot, message):
            return set()
        log = snapshot.commits(
            message.space.name, after=message.after, limit=count, bytes_max=1 << 40
        )
        told = {seen.commit.revision for seen in message.commits}
        return {commit.revision for commit in log if self._is_looked_at(commit)} - told

    def _is_looked_at(self, commit: entries.Commit) -> bool:
        targets = [target for target in self._targets if target.space == commit.space]
        return not commit.entries or any(
            target.includes(entry) for target in targets for entry in commit.entries
        )

    def _is_in_sight(self, snapshot: Snapshot, message: Message) -> bool:
        """Whether the log still says what could be told; rules of reading may have changed since, and history may be gone."""
        name, space = message.space.name, snapshot.space(message.space.name)
        board = self._catalog.boards.get(name.board)
        if board is None or space is None or space.epoch != message.space.epoch:
            return False
        return space.oldest <= message.after and not len(board.regions_of(name))


@pytest.fixture(scope="session", autouse=True)
def checked_classes() -> Iterator[None]:
    """Puts the checked classes in the place of those that they check."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lavagna.watch, "Chain", CheckedChain)
        patch.setattr(lavagna_server.engine.watches, "Watcher", CheckedWatcher)
        yield


@pytest.fixture(autouse=True)
def sound_streams(checked_classes: None) -> Iterator[None]:
    """Fails a test in whose course a stream broke the rule."""
    del checked_classes
    _broken.clear()
    yield
    assert not _broken
