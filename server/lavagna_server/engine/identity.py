"""Identity: who calls, proved by a token or a certificate, or stated where names are trusted.

Identity unset means refused, never "sees everything". What is stored of a token is its hash.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from weakref import WeakValueDictionary

from lavagna_server.domain.agents import SERVER_WIDE, Agent, Caller, Role, check_name
from lavagna_server.domain.errors import Invalid, NotFound, Unauthenticated
from lavagna_server.engine.calls import Call
from lavagna_server.engine.catalog import Catalog
from lavagna_server.ports.clock import Clock

PRESENCES_MAX = 100_000
"""How many agents are remembered as seen; where names are trusted, anyone can make up more."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a call says about its caller; empty where it says nothing."""

    token: str = ""
    stated_agent: str = ""
    certificate_agent: str = ""


@dataclass(slots=True)
class Presence:
    """When an agent was last seen, and as which process."""

    seen_at: datetime
    session: str = ""
    teams: frozenset[str] = frozenset()
    """The teams that it said it works in, where names are trusted."""


@dataclass(frozen=True, slots=True)
class Session:
    """A caller, and the event that ends its streams."""

    caller: Caller
    ended: asyncio.Event = field(compare=False)


def token_hash(token: str) -> bytes:
    """What is stored of a token; tokens are random, so a plain hash is enough."""
    return hashlib.sha256(token.encode()).digest()


class Identity:
    """Names callers, and remembers who was seen."""

    def __init__(self, catalog: Catalog, clock: Clock, *, trust_names: bool, secret: bytes) -> None:
        self._catalog, self._clock = catalog, clock
        self.trust_names = trust_names
        """Whether a stated name is believed: on loopback only."""
        self._secret = secret
        self._ended: WeakValueDictionary[tuple[str, str], asyncio.Event] = WeakValueDictionary()
        """Kept by the sessions that wait for them."""
        self._presence: dict[tuple[str, str], Presence] = {}

    def authenticate(self, credentials: Credentials, board: str) -> Session:
        """Who calls, on a board.

        Raises:
            Unauthenticated: The call proves nothing.
            NotFound: There is no such board for this caller.
        """
        caller = self._caller(credentials, board)
        if board != SERVER_WIDE and board not in self._catalog.boards:
            raise NotFound(f"boards/{board}")
        key = (board, caller.agent)
        presence = self._presence.get(key)
        if presence is None:
            self._see(key, Presence(self._clock.now()))
        else:
            presence.seen_at = self._clock.now()
        return Session(caller, self._ended.setdefault(key, asyncio.Event()))

    def home(self, credentials: Credentials) -> str:
        """The board of a call that names none: where its token's agent belongs, else the whole server."""
        agent = self._catalog.agent_with(token_hash(credentials.token))
        return agent.board if agent is not None else SERVER_WIDE

    def _caller(self, credentials: Credentials, board: str) -> Caller:
        agent: Agent | None = None
        if credentials.token:
            agent = self._catalog.agent_with(token_hash(credentials.token))
            if agent is None:
                raise Unauthenticated("the token is not known, or was revoked or replaced")
        elif credentials.certificate_agent:
            name = credentials.certificate_agent
            agent = self._catalog.agents_of(board).get(name) or self._catalog.server_agents.get(
                name
            )
            if agent is None or agent.revoked:
                raise Unauthenticated(
                    f"the certificate names {name!r}, who is not registered on this board"
                )
        if agent is not None:
            if agent.board not in (board, SERVER_WIDE):
                raise NotFound(f"boards/{board}")
            return Caller(board, agent.name, agent.role, frozenset(agent.teams))
        return self._stated(credentials, board)

    def _stated(self, credentials: Credentials, board: str) -> Caller:
        if not self.trust_names:
            raise Unauthenticated("give a token: metadata `authorization: Bearer <token>`")
        if not credentials.stated_agent:
            raise Unauthenticated("say who you are: metadata `lavagna-agent: <name>`")
        try:
            name = check_name(credentials.stated_agent, field="lavagna-agent")
        except Invalid as error:
            raise Unauthenticated(str(error)) from None
        registered = self._catalog.agents_of(board).get(name)
        if registered is not None and registered.revoked:
            raise Unauthenticated(f"{name} was revoked")
        teams = frozenset(registered.teams) if registered else frozenset[str]()
        role = self.role_of(registered) if registered is not None else Role.ADMIN
        return Caller(board, name, role, teams)

    def role_of(self, agent: Agent) -> Role:
        """What the agent may do: what it was registered for; all, where it was merely taken in by a trusted name."""
        return agent.role if agent.token_hash or not self.trust_names else Role.ADMIN

    def present(self, board: str, agent: str) -> Presence | None:
        """When an agent was last seen since the server started."""
        return self._presence.get((board, agent))

    def greet(self, caller: Caller, session: str) -> None:
        """Notes what the calling process calls itself."""
        self._see((caller.board, caller.agent), Presence(self._clock.now(), session))

    def _see(self, key: tuple[str, str], presence: Presence) -> None:
        self._presence[key] = presence
        if len(self._presence) > PRESENCES_MAX:  # whoever was first seen longest ago is forgotten
            del self._presence[next(iter(self._presence))]

    def end(self, board: str, agent: str) -> None:
        """Ends the open streams of an agent; those of a server-wide agent on every board."""
        for key in list(self._ended):
            if key[1] == agent and board in (key[0], SERVER_WIDE):
                self._ended.pop(key).set()

    def token_for(self, call: Call[Any, Any], purpose: str, agent: str) -> str:
        """A new token; the same again for a retry of the same request, so that it need not be stored to be repeated."""
        if not call.request_id:
            return f"lav_{secrets.token_urlsafe(32)}"
        parts = (purpose, call.caller.board, call.caller.agent, agent, call.request_id)
        message = "\0".join(parts).encode()
        return f"lav_{hmac.new(self._secret, message, hashlib.sha256).hexdigest()}"
