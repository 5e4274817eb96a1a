"""Connecting: how a program comes to have a board."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import NoneType
from typing import Literal

from lavagna.board import Board
from lavagna.calls import Caller
from lavagna.channel import Identity, Stubs, Tls, open_channel
from lavagna.checks import checked_text, checked_type
from lavagna.environment import Environment
from lavagna.errors import Invalid
from lavagna.retry import Retry
from lavagna.views import View

DEFAULT_TARGET = "localhost:7443"
DEFAULT_BOARD = "main"
PORT_MAX = 65_535


@asynccontextmanager
async def connect(
    target: str | None = None,
    *,
    agent: str | None = None,
    board: str | None = None,
    token: str | None = None,
    tls: Tls | Literal[False] | None = None,
    session: str | None = None,
    retry: Retry | None = None,
) -> AsyncGenerator[Board]:
    """A board, for as long as the `async with` block lasts.

    What is not given comes from the environment: `target` from `LAVAGNA_TARGET` or is
    localhost:7443, `board` from `LAVAGNA_BOARD` or is main, `token` from `LAVAGNA_TOKEN`, `agent`
    from `LAVAGNA_AGENT` or is the user's name. With a token the server knows the agent's name; an
    empty one says that there is none, whatever the environment holds. `tls` comes from
    `LAVAGNA_TLS_CA` and, for a client's certificate, `LAVAGNA_CLIENT_CERT` and
    `LAVAGNA_CLIENT_KEY`; with none of them, and with False, the connection is in the clear.
    `session` names this process to people. Connects when the board is first used.

    Raises:
        Invalid: An argument cannot be what it is, or a file of the environment cannot be read.
    """
    said = Environment.read()
    target = _text(target, said.target, field="target") or DEFAULT_TARGET
    _check_port(target)
    checked_type(retry, (Retry, NoneType), field="retry")
    board = _text(board, said.board, field="board") or DEFAULT_BOARD
    session = _text(session, None, field="session") or f"{socket.gethostname()}:{os.getpid()}"
    identity = _identity(agent, token, said)
    channel = open_channel(target, _tls(tls, said))
    try:
        stubs = Stubs(channel, target)
        yield Board(View(Caller(stubs, identity, board, session, retry or Retry())))
    finally:
        await channel.close()


def _text(given: str | None, said: str | None, *, field: str) -> str | None:
    return said if given is None else checked_text(given, field=field) or said


def _check_port(target: str) -> None:
    """GRPC would take a port of more than 16 bits for what is left of it, and reach another server."""
    _, _, port = target.rpartition(":")
    if port.isascii() and port.isdigit() and not 0 < int(port) <= PORT_MAX:
        raise Invalid.field("target", f"{target!r} has no port from 1 to {PORT_MAX}")


def _tls(given: Tls | Literal[False] | None, said: Environment) -> Tls | None:
    if given is None:
        return said.tls()
    if given is False:
        return None
    checked_type(given, Tls, field="tls", expected="a Tls or False")
    return given


def _identity(agent: str | None, token: str | None, said: Environment) -> Identity:
    name = _text(agent, said.agent, field="agent") or ""
    token = said.token if token is None else checked_text(token, field="token")
    # Tokens are often read from files, which end with a line break.
    token = (token or "").strip() or None
    if not name and token is None:
        name = getpass.getuser()
    return Identity(name, token)
