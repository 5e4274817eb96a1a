"""Connecting: how a program comes to have a board."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from lavagna.board import Board
from lavagna.calls import Caller
from lavagna.channel import Identity, Stubs, Tls, open_channel
from lavagna.retry import Retry
from lavagna.views import View

DEFAULT_TARGET = "localhost:7443"
DEFAULT_BOARD = "main"


@asynccontextmanager
async def connect(
    target: str | None = None,
    *,
    agent: str | None = None,
    board: str | None = None,
    token: str | None = None,
    tls: Tls | None = None,
    session: str | None = None,
    retry: Retry | None = None,
) -> AsyncGenerator[Board]:
    """A board, for as long as the `async with` block lasts.

    What is not given comes from the environment: `target` from `LAVAGNA_TARGET` or is
    localhost:7443, `board` from `LAVAGNA_BOARD` or is main, `token` from `LAVAGNA_TOKEN`, `agent`
    from `LAVAGNA_AGENT` or is the user's name. With a token the server knows the agent's name; an
    empty one says that there is none, whatever the environment holds.
    `session` names this process to people. Connects when the board is first used.

    Raises:
        Invalid: The agent's name or the token cannot be sent.
    """
    target = target or os.environ.get("LAVAGNA_TARGET") or DEFAULT_TARGET
    channel = open_channel(target, tls)
    caller = Caller(
        stubs=Stubs(channel, target),
        identity=_identity(agent, token),
        board=board or os.environ.get("LAVAGNA_BOARD") or DEFAULT_BOARD,
        session=session or f"{socket.gethostname()}:{os.getpid()}",
        retry=retry or Retry(),
    )
    try:
        yield Board(View(caller))
    finally:
        await channel.close()


def _identity(agent: str | None, token: str | None) -> Identity:
    agent = agent or os.environ.get("LAVAGNA_AGENT") or ""
    if token is None:
        token = os.environ.get("LAVAGNA_TOKEN")
    # Tokens are often read from files, which end with a line break.
    token = (token or "").strip() or None
    if not agent and token is None:
        agent = getpass.getuser()
    return Identity(agent, token)
