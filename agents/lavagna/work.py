"""Work: one attempt at one activation, in an agent's hands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lavagna.activations import Activation
from lavagna.changes import Change
from lavagna.conditions import Condition
from lavagna.entries import Committed, Entry
from lavagna.times import Seconds
from lavagna.values import Value

if TYPE_CHECKING:
    from lavagna.board import Board


class Work:
    """What a trigger's function gets: the activation, and the means to settle it."""

    activation: Activation
    entry: Entry | None
    """The entry that fired it: as it is now for `edge`, as the change left it for `every`."""
    old: Entry | None
    """The version before the change, for `every`."""
    bind: Mapping[str, str]
    """The segments that the pattern bound."""
    attempt: int
    """Counts the attempts from 1."""
    board: Board
    """The board, in the activation's space; its writes are refused once the lease is lost."""
    lost: asyncio.Event
    """Set when the lease is lost; the function is cancelled then."""

    @property
    def settled(self) -> bool:
        """Whether the activation was completed, failed or released."""
        raise NotImplementedError

    async def complete(
        self,
        changes: Mapping[str, Value] | Sequence[Change] = (),
        *,
        conditions: Sequence[Condition] = (),
        otherwise: Sequence[Change] = (),
    ) -> Committed:
        """Commits the changes and completes the activation together, or neither.

        A mapping puts each value at its key: over the version that `board` saw of it in this work,
        or else only where there is none.

        Raises:
            Conflict: A key was changed by somebody else meanwhile; nothing was written.
            LeaseLost: The lease is lost; nothing was written.
        """
        raise NotImplementedError

    async def fail(
        self, reason: str, *, retry_after: Seconds | None = None, final: bool = False
    ) -> Activation:
        """Gives up this attempt; the activation is tried again later, unless this is `final`."""
        raise NotImplementedError

    async def release(self) -> Activation:
        """Gives the lease back without counting an attempt."""
        raise NotImplementedError
