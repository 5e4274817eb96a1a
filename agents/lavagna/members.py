"""Members: the agents of a board as the server knows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """What a caller may do at most."""

    OBSERVER = "observer"
    """Reads what it may and changes nothing."""
    AGENT = "agent"
    """Reads, writes and works."""
    ADMIN = "admin"
    """Keeps boards, regions and agents as well."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Member:
    """An agent as the server knows it."""

    id: str
    """Its name on the board."""
    role: Role
    teams: tuple[str, ...]
    revoked: bool
    """Whether its access has ended."""
    last_seen_at: datetime | None
    """When it last called; None when it has not since the server started."""
    session: str
    """The process that called last, as it named itself."""
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Standing:
    """How much an agent's word weighs on a board, and with whom it speaks as one."""

    agent: str
    """Its name on the board, where it need not be registered."""
    trust: float = 1.0
    """From 0, not at all, to 1, fully."""
    group: str = ""
    """The voter group: agents of one, such as copies of one model, are no independent witnesses of
    each other. Empty means its own."""
    version: int = 0
    """Counts its changes; when not 0, setting it needs this to be the current one."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A new agent and its token, which cannot be read again."""

    member: Member
    token: str


@dataclass(frozen=True, slots=True)
class Welcome:
    """Who the caller is and what it may do."""

    member: Member
    methods: tuple[str, ...]
    """The methods that the caller may call, as `/lavagna.v1.Entries/Commit`."""
    trusted: bool
    """Whether the server trusts the name that a client states (loopback only)."""
    server_version: str
    epoch: str
    revision: int
    """The newest revision of the shared space."""
    bookmark_seconds: float
    """How often a watch says that it lives."""
