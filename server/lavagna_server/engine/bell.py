"""The bell that wakes those who wait for work or for a decision, and only those for whom there may be some."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TypeAlias

Waiter: TypeAlias = tuple[str, str]
"""A board and a worker: an agent, or a team; or who waits for a poll."""

EVERYBODY = ""
"""In place of a worker: all of a board."""


def poll_waiter(proposal: str) -> str:
    """Who waits for the decision on a proposal; no agent and no team has a name with a slash."""
    return f"poll/{proposal}"


class Bell:
    """Events of those who listen, by whom they work as."""

    def __init__(self) -> None:
        self._listening: dict[Waiter, set[asyncio.Event]] = {}

    @contextmanager
    def listening(self, board: str, workers: Iterable[str]) -> Generator[asyncio.Event]:
        """An event that each ring for one of the workers sets; clear it before you look, so that no ring is missed."""
        event = asyncio.Event()
        names = [(board, worker) for worker in (EVERYBODY, *workers)]
        for name in names:
            self._listening.setdefault(name, set()).add(event)
        try:
            yield event
        finally:
            for name in names:
                self._listening[name].discard(event)
                if not self._listening[name]:
                    del self._listening[name]

    def ring(self, waiter: Waiter) -> None:
        """Wakes those who listen as this worker."""
        for event in self._listening.get(waiter, ()):
            event.set()


async def either(one: asyncio.Event, other: asyncio.Event, *, seconds: float) -> None:
    """Returns when one of the events is set or the time is over."""
    tasks = [asyncio.ensure_future(one.wait()), asyncio.ensure_future(other.wait())]
    try:
        await asyncio.wait(tasks, timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
