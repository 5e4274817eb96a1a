"""One run of one command: what the user asked for, the board to ask, the screen to answer on."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

import typer

from lavagna import Board, Invalid, Retry, Space, Tls, connect
from lavagna.connection import DEFAULT_TARGET
from lavagna.environment import Environment
from lavagna_cli.options import Options
from lavagna_cli.reaching import reached
from lavagna_cli.screen import Screen

_QUICK = Retry(attempts_max=4, first_seconds=0.1, most_seconds=1.0)
"""A person waits: a server that is away is told in about a second, one that restarts is met."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """What a command is given to work with."""

    options: Options
    """What holds, from the command line and the environment."""
    said: Options
    """What the command line alone says."""
    screen: Screen

    @property
    def space(self) -> Space:
        """The space that the user means."""
        return Space.PRIVATE if self.options.private else Space.SHARED

    @asynccontextmanager
    async def board(self, retry: Retry = _QUICK) -> AsyncGenerator[Board]:
        """The board that the user means, in the space that the user means."""
        said = self.options
        async with connect(
            said.target,
            agent=said.agent,
            board=said.board,
            token=said.token,
            tls=_tls(said),
            session="lavagna",
            retry=retry,
        ) as board:
            await reached(board, said.target or DEFAULT_TARGET, wait=said.wait)
            yield board.private if said.private else board


def _tls(said: Options) -> Tls | Literal[False]:
    files = Environment(tls_ca=said.tls_ca, tls_cert=said.tls_cert, tls_key=said.tls_key)
    try:
        return files.tls() or False
    except Invalid as error:
        raise typer.BadParameter(f"TLS: {error}.") from None
