"""Watch: a stream of a board's commits that resumes by itself and proves itself complete."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from types import TracebackType
from typing import Generic, Self, TypeVar, cast

from lavagna.calls import Caller, Stream
from lavagna.chain import Chain
from lavagna.commits import Commit, State
from lavagna.entries import space_of
from lavagna.errors import Closed, SlowConsumer, Unavailable
from lavagna.retry import PATIENT
from lavagna.unreachable import telling
from lavagna.v1 import watch_pb2 as wire

Item = TypeVar("Item", bound=Commit | State)

_SILENCE_SECONDS_MAX = 30.0
"""An idle stream says at least every 5 s that it lives; one that does not is opened anew."""

_log = logging.getLogger(__name__)


class Watch(Generic[Item]):
    """An async iterator of commits, in order, each once and whole.

    It resumes by itself when the server goes away or finds it too slow, and checks that what it
    gets is complete. Close it, or use it as a context manager: then what it gives begins with the
    block at the latest, and not with the first iteration.
    """

    def __init__(self, caller: Caller, request: wire.WatchRequest) -> None:
        self._caller = caller
        self._request = request
        self._chain = Chain(
            {space_of(target.space) for target in request.targets},
            after=request.after_revision if request.HasField("after_revision") else None,
            initial_state=request.initial_state,
            resumed=bool(request.token),
        )
        self._space = space_of(request.targets[0].space)
        self._stream: Stream[wire.WatchResponse] | None = None
        self._ready: deque[Commit | State] = deque()
        self._token = request.token
        self._given = 0
        self._failures = 0
        self._gap: Exception | None = None
        self._begun = self._closed = False

    @property
    def token(self) -> str:
        """Resumes a watch of the same targets after the items given so far; empty at first.

        It never lies past the newest item given. Within commits that came together it lies
        before them, so that they are given again: `Commit.revision` tells which.
        """
        return self._token

    @property
    def synced(self) -> bool:
        """Whether the initial state has been given in full, or none was asked for.

        A watch that resumes an interrupted state is found to do so when the next part comes.
        """
        return self._chain.synced and not any(isinstance(item, State) for item in self._ready)

    @property
    def revision(self) -> int:
        """Everything up to this revision was given or does not match; of the first target's space."""
        return self._given if self._ready else self._chain.through(self._space)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        """The next item.

        Raises:
            BrokenChain: The server did not prove that nothing is missing.
            Compacted: What follows the token was given up.
            EpochChanged: The board was restored from a backup.
            Unavailable: The server could not be reached for a minute and a half.
        """
        while not self._ready:
            if self._closed:
                raise StopAsyncIteration
            await self._receive()
        item = self._ready.popleft()
        if item.space is self._space:
            self._given = item.revision
        self._move_token()
        return cast("Item", item)

    async def aclose(self) -> None:
        """Ends the watch; iterating further ends at once."""
        self._closed = True
        self._ready.clear()
        self._drop()

    async def __aenter__(self) -> Self:
        """Waits until the server has said where the watch begins."""
        while not (self._begun or self._closed):
            await self._receive()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _receive(self) -> None:
        """Takes one message in, or waits before the next try when there is none to be had."""
        try:
            message = await self._next_message()
        except (SlowConsumer, TimeoutError, Unavailable) as gap:
            await self._back_off(gap)
            return
        self._begun, self._failures, self._gap = True, 0, None
        space = space_of(message.space)
        try:
            self._ready.extend(self._chain.take(message))
        except BaseException:
            await self.aclose()
            raise
        if space is self._space:
            self._given = message.covers.after
        self._caller.note(space, message.header)
        self._resume_after(message)
        self._move_token()

    async def _next_message(self) -> wire.WatchResponse:
        if self._stream is None:
            self._stream = self._caller.stream(self._caller.stubs.watch.Watch, self._request)
        try:
            async with asyncio.timeout(_SILENCE_SECONDS_MAX):
                message = await self._stream.read()
        except BaseException:
            # A read that was given up ends the call with it; the next one resumes.
            self._drop()
            raise
        if message is None:
            self._drop()
            raise Unavailable("the server ended the watch")
        return message

    async def _back_off(self, gap: Exception) -> None:
        if self._closed:
            return
        retry = PATIENT if self._begun else self._caller.retry
        self._gap = telling(self._gap, gap)
        if isinstance(gap, Closed) or self._failures + 1 >= retry.attempts_max:
            await self.aclose()
            raise self._gap
        _log.info("the watch of %s resumes: %s", self._caller.board, str(gap) or "it went silent")
        wait = retry.wait(self._failures)
        self._failures += 1
        await asyncio.sleep(wait)

    def _resume_after(self, message: wire.WatchResponse) -> None:
        if message.token:
            self._request.token = message.token
            self._request.ClearField("after_revision")

    def _move_token(self) -> None:
        """Lets the public token follow, when all that came before it has been given."""
        if not self._ready and self._chain.whole:
            self._token = self._request.token

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
