"""A crowd: writers that each count a key up as often as they can, and a reader of what nobody writes, for a while."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack

from lavagna import Board
from tests.faults.lives import Server

WRITERS = 50


class Crowd:
    """What they came to."""

    def __init__(self) -> None:
        self.updates = Counter[str]()
        """How often each writer succeeded."""
        self.attempts: list[int] = []
        """How many attempts each of these took."""
        self.reads = 0
        self._over = asyncio.Event()

    async def work(self, server: Server, key_of: Callable[[int], str], seconds: float) -> None:
        """Has them all work for so long; each finishes what it has begun."""
        asyncio.get_running_loop().call_later(seconds, self._over.set)
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
            reader = await stack.enter_async_context(server.connect("reader"))
            await reader.put("elsewhere", 1, overwrite=True)
            tasks.create_task(self._read(reader))
            for number in range(WRITERS):
                writer = await stack.enter_async_context(server.connect(f"writer-{number}"))
                tasks.create_task(self._update(writer, key_of(number)))

    async def _read(self, board: Board) -> None:
        while not self._over.is_set():
            await board.get("elsewhere")
            self.reads += 1

    async def _update(self, board: Board, key: str) -> None:
        while not self._over.is_set():
            seen: list[object] = []

            def one_more(value: object, seen: list[object] = seen) -> int:
                seen.append(value)
                return (value if isinstance(value, int) else 0) + 1

            await board.update(key, one_more)
            self.updates[board.agent_name] += 1
            self.attempts.append(len(seen))
