"""Agents: who may act on a board, and what a call knows of its caller."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from lavagna_server.domain.errors import Invalid

SERVER_WIDE = "-"
"""Stands in place of a board for agents that belong to the whole server."""

_AGENT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62})")


class Role(IntEnum):
    """What a caller may do at most; each role includes those below it."""

    OBSERVER = 1
    AGENT = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Agent:
    """A member of a crew, as registered."""

    board: str
    name: str
    role: Role
    teams: tuple[str, ...] = ()
    token_hash: bytes = b""
    """Empty when names are trusted, or for an agent that proves itself by a client certificate alone."""
    revoked: bool = False
    created_at: datetime | None = None
    version: int = 1


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call, on the board that the call is about."""

    board: str
    agent: str
    role: Role
    teams: frozenset[str] = frozenset()


def check_name(text: str, *, field: str) -> str:
    """The name of an agent or a team, as given.

    Raises:
        Invalid: It is empty, longer than 63 characters, or has characters other than letters, digits, `.`, `_` and `-`.
    """
    if not _AGENT.fullmatch(text):
        raise Invalid(
            field,
            "a name has 1 to 63 letters, digits, '.', '_' or '-', and begins with a letter or digit",
        )
    return text
