"""Agent: a program's part in a crew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypeVar

from lavagna.board import Board
from lavagna.entries import ChangeType, Space
from lavagna.triggers import Limits, Source
from lavagna.work import Work

Function: TypeAlias = Callable[[Work], Awaitable[Mapping[str, Any] | None]]
"""What does the work: returning a mapping completes with it, raising fails the attempt."""

Decorated = TypeVar("Decorated", bound=Function)


class Agent:
    """A named agent with functions that the board wakes.

    `join` keeps leases alive, goes on over restarts of the server, and cancels a function whose
    lease is lost.
    """

    def __init__(  # noqa: PLR0913 - options, each with a default
        self,
        name: str,
        *,
        teams: Sequence[str] = (),
        token: str | None = None,
        concurrency: int = 1,
        session: str | None = None,
        grace_seconds: float = 10.0,
    ) -> None:
        self.name = name

    def on(  # noqa: PLR0913 - options, each with a default
        self,
        *patterns: str | Source,
        when: str = "",
        rating: str | int = "",
        reads: Sequence[str] = (),
        mode: Literal["edge", "every"] = "edge",
        changes: Sequence[ChangeType] = (),
        space: Space = Space.SHARED,
        team: str = "",
        name: str = "",
        own_writes: bool = False,
        limits: Limits | None = None,
    ) -> Callable[[Decorated], Decorated]:
        """Wakes the function when an entry that matches makes the condition true."""
        raise NotImplementedError

    def due(  # noqa: PLR0913 - options, each with a default
        self,
        *,
        cron: str = "",
        at: datetime | None = None,
        time_zone: str = "",
        when: str = "",
        rating: str | int = "",
        reads: Sequence[str] = (),
        space: Space = Space.SHARED,
        team: str = "",
        name: str = "",
        limits: Limits | None = None,
    ) -> Callable[[Decorated], Decorated]:
        """Wakes the function once at a time, or at each time of a cron rule."""
        raise NotImplementedError

    async def join(self, board: Board) -> None:
        """Works on the board until `stop`."""
        raise NotImplementedError

    def joined(self, board: Board) -> AbstractAsyncContextManager[Agent]:
        """Works on the board beside the code of the `async with` block, and stops at its end."""
        raise NotImplementedError

    def stop(self) -> None:
        """Takes no more work; `join` returns when what runs has finished or the grace is over."""
        raise NotImplementedError
