"""Witnesses: watches that run beside a test, and what they gave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from lavagna import Board, Commit, Watch
from tests.faults.lives import DEADLINE_SECONDS, Server


class Witness:
    """What one watch gave so far."""

    def __init__(self, watch: Watch[Commit]) -> None:
        self._watch = watch
        self._more = asyncio.Event()
        self.commits: list[Commit] = []

    @property
    def token(self) -> str:
        """Resumes the watch where it stands; empty before it has given anything."""
        return self._watch.token

    @property
    def revisions(self) -> list[int]:
        """The revisions given, as they came."""
        return [commit.revision for commit in self.commits]

    async def look(self) -> None:
        """Takes in what the watch gives, until it is closed."""
        async for commit in self._watch:
            self.commits.append(commit)
            self._more.set()

    async def until(self, revision: int) -> None:
        """Waits until a revision was given, or a later one."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not self.commits or self.commits[-1].revision < revision:
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def witnessing(board: Board, *patterns: str, token: str = "") -> AsyncGenerator[Witness]:
    """A witness of what happens on a board, from its beginning or from a token on."""
    async with board.watch(*patterns, token=token, after=None if token else 0) as watch:
        witness = Witness(watch)
        looking = asyncio.create_task(witness.look())
        try:
            yield witness
        finally:
            await watch.aclose()
            await looking


async def revisions_after(server: Server, token: str, through: int) -> list[int]:
    """What a new watch gives for a token, up to a revision."""
    async with server.connect("latecomer") as board, witnessing(board, token=token) as witness:
        await witness.until(through)
        return witness.revisions
