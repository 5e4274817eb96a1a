"""Reaching the server: soon, or after as long as the user is ready to wait."""

import asyncio
from datetime import timedelta

from lavagna import Board, LavagnaError, Unavailable
from lavagna_cli.durations import spelt

_SOON = timedelta(seconds=5)
_PAUSE_SECONDS = 0.2
_REMEDY = (
    "Start a server with `lavagna serve`, wait for one with --wait 30s,"
    " or name another with --target or LAVAGNA_TARGET."
)


async def reached(board: Board, target: str, *, wait: timedelta | None) -> None:
    """Goes on once the server answers; what it answers is the command's concern.

    A server that refuses connections is told at once unless the user waits, one that says nothing
    after five seconds.

    Raises:
        Unavailable: It does not answer.
    """
    patience = wait or _SOON
    away: Unavailable | None = None
    try:
        async with asyncio.timeout(patience.total_seconds()):
            while (away := await _absence(board)) is not None and wait is not None:  # noqa: ASYNC110 (nobody tells that a server has come)
                await asyncio.sleep(_PAUSE_SECONDS)
    except TimeoutError:
        away = away or Unavailable(f"{target} did not answer within {spelt(patience)}")
    if away is not None:
        away.add_note(_REMEDY)
        raise away


async def _absence(board: Board) -> Unavailable | None:
    """Why the server does not answer; None when it does."""
    try:
        async for _ in board.boards.list():
            break
    except Unavailable as away:
        return away
    except LavagnaError:
        return None
    return None
