"""Members: the agents of a board as the server knows them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lavagna.calls import Caller


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


class Members:
    """The agents of one board; `board.agents`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def register(
        self,
        agent_id: str,
        *,
        role: Role = Role.AGENT,
        teams: Sequence[str] = (),
        whole_server: bool = False,
    ) -> Registered:
        """Registers an agent on this board, or on the whole server; administrators only."""
        raise NotImplementedError

    async def get(self, agent_id: str) -> Member:
        """The agent."""
        raise NotImplementedError

    def list(self) -> AsyncIterator[Member]:
        """The agents of the board, by name."""
        raise NotImplementedError

    async def rotate(self, agent_id: str) -> str:
        """A new token for the agent; the old one ends at once."""
        raise NotImplementedError

    async def revoke(self, agent_id: str) -> Member:
        """Ends the agent's access at once."""
        raise NotImplementedError

    async def hello(self, *, session: str = "", teams: Sequence[str] = ()) -> Welcome:
        """Says who calls, and learns what it may do."""
        raise NotImplementedError
