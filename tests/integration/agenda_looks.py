"""Looks at a board's agenda, as tests take them."""

from __future__ import annotations

from lavagna import Activation, ActivationState, Board


async def settled(board: Board, *, state: ActivationState, count: int = 1) -> list[Activation]:
    """The activations in this state, asked for until there are so many."""
    while True:
        found = [each async for each in board.activations.list(states=[state])]
        if len(found) >= count:
            return found
