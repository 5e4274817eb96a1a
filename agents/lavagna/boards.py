"""Boards: the workspaces on one server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from lavagna.calls import Caller


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """One crew's workspace, as the server keeps it."""

    id: str
    """The name of the board."""
    display_name: str
    """A title for people."""
    epoch: str
    """Changes when the board is restored from a backup."""
    cascade_max: int
    """The most activations that may descend from one first cause; 0 means 10,000."""
    rating_min: int
    """Activations rated below this wait until they are rated higher."""
    version: int
    """Counts the changes of these settings."""
    created_at: datetime


class Boards:
    """The boards of one server."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def create(
        self, board_id: str, *, display_name: str = "", cascade_max: int = 0, rating_min: int = 0
    ) -> BoardSettings:
        """Creates a board; server administrators only."""
        raise NotImplementedError

    async def get(self, board_id: str) -> BoardSettings:
        """The board."""
        raise NotImplementedError

    def list(self) -> AsyncIterator[BoardSettings]:
        """The boards that the caller belongs to, by name."""
        raise NotImplementedError

    async def update(
        self,
        board_id: str,
        *,
        display_name: str | None = None,
        cascade_max: int | None = None,
        rating_min: int | None = None,
        version: int = 0,
    ) -> BoardSettings:
        """Changes what is given; a version, when given, must be the current one."""
        raise NotImplementedError

    async def delete(self, board_id: str) -> None:
        """Deletes a board and everything on it, for good."""
        raise NotImplementedError
