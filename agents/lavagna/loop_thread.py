"""The one event loop of the blocking façade, on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
from typing import Final, TypeVar

R = TypeVar("R")

_END: Final = object()


class LoopThread:
    """An event loop that runs beside the program, from its first use to the program's end."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lavagna", daemon=True)
        self._starting = threading.Lock()

    def wait(self, awaitable: Awaitable[R]) -> R:
        """What the awaitable comes to; the calling thread waits for it.

        An interrupt (Ctrl-C) cancels it.

        Raises:
            RuntimeError: Called on the loop's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("the blocking façade cannot be used inside its own event loop")
        with self._starting:
            if not self._thread.is_alive():
                self._thread.start()
        future = asyncio.run_coroutine_threadsafe(_awaited(awaitable), self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def iterate(self, source: AsyncIterator[R]) -> Iterator[R]:
        """The items, each waited for when it is asked for."""
        try:
            while (item := self.wait(_next(source))) is not _END:
                yield item  # type: ignore[misc]
        finally:
            if isinstance(source, AsyncGenerator):
                self.wait(source.aclose())

    def close(self) -> None:
        """Ends the loop and its thread; nothing can be waited for any more."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()


async def _awaited(awaitable: Awaitable[R]) -> R:
    return await awaitable


async def _next(source: AsyncIterator[R]) -> R | object:
    return await anext(source, _END)
