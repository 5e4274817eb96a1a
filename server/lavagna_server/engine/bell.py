"""The bell that wakes those who wait for work on a board."""

from __future__ import annotations

import asyncio


class Bell:
    """One event per board, replaced each time it rings, so that a listener cannot miss a ring between looking and waiting."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}

    def listen(self, board: str) -> asyncio.Event:
        """The event that the next ring sets; take it before you look."""
        return self._events.setdefault(board, asyncio.Event())

    def ring(self, board: str) -> None:
        """Wakes everyone who listens."""
        event = self._events.pop(board, None)
        if event is not None:
            event.set()

    async def wait(self, rung: asyncio.Event, until: asyncio.Event, *, seconds: float) -> None:
        """Returns when one of the events is set or the time is over."""
        tasks = [asyncio.ensure_future(rung.wait()), asyncio.ensure_future(until.wait())]
        try:
            await asyncio.wait(
                tasks, timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for task in tasks:
                task.cancel()
