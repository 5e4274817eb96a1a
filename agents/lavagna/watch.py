"""Watch: a stream of a board's commits that proves itself complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import Generic, Self, TypeVar

from lavagna.entries import Cause, ChangeType, Entry, Kind, Space


class Occasion(StrEnum):
    """What a commit was made for."""

    WRITE = "write"
    EXPIRY = "expiry"
    """Entries reached their expiry time."""
    QUIESCENCE = "quiescence"
    """Nothing waits, nothing is leased, nothing is due: the crew has come to rest."""
    COMPACTION = "compaction"
    """History before a revision was given up."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Target:
    """What to watch."""

    pattern: str = ""
    """Which keys: `plan/*/status`, `plan/**`; empty means all."""
    kinds: Sequence[Kind] = ()
    """Which kinds; none means all."""
    changes: Sequence[ChangeType] = ()
    """Which types of change; none means all."""
    space: Space | None = None
    """Which space; None means that of the board view that watches."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, as far as it matches what is watched."""

    space: Space
    revision: int
    committed_at: datetime
    author: str
    """The agent that made it; empty for the server's own."""
    cause: Cause | None
    occasion: Occasion
    entries: tuple[Entry, ...]
    """The changed entries that match, in the commit's order."""


@dataclass(frozen=True, slots=True)
class State:
    """A part of the state that a watch begins with."""

    space: Space
    revision: int
    """The revision of the state, the same in all its parts."""
    entries: tuple[Entry, ...]
    synced: bool
    """Whether this is the last part; commits after `revision` follow."""


Item = TypeVar("Item")


class Watch(Generic[Item]):
    """An async iterator of commits, in order, each once and whole.

    It resumes by itself when the server goes away or finds it too slow, and checks that what it
    gets is complete. Close it, or use it as a context manager.
    """

    @property
    def token(self) -> str:
        """Resumes a watch of the same targets after the items given so far; empty at first.

        It never lies past the newest item given. Within commits that came together it may lie
        before them, so that they are given again; `revision` tells which.
        """
        raise NotImplementedError

    @property
    def synced(self) -> bool:
        """Whether the initial state has been given in full, or none was asked for."""
        raise NotImplementedError

    @property
    def revision(self) -> int:
        """Everything up to this revision was given or does not match; of the first target's space."""
        raise NotImplementedError

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        """The next item.

        Raises:
            BrokenChain: The server did not prove that nothing is missing.
            Compacted: What follows the token was given up.
            EpochChanged: The board was restored from a backup.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Ends the watch; iterating further ends at once."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
