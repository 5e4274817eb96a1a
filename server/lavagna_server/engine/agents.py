"""Agents: registering the members of a crew, and ending their access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from lavagna_server.domain.agents import SERVER_WIDE, Agent, Caller, Role
from lavagna_server.domain.entries import Space, SpaceName
from lavagna_server.domain.errors import (
    AlreadyExists,
    Exhausted,
    Invalid,
    NotFound,
    PermissionDenied,
    StaleRecord,
)
from lavagna_server.domain.standings import Standing
from lavagna_server.engine.boards import check_admin
from lavagna_server.engine.calls import Call
from lavagna_server.engine.catalog import Catalog
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.identity import Identity, Presence, token_hash
from lavagna_server.engine.once import once
from lavagna_server.engine.reading import visible_space
from lavagna_server.engine.workspace import Workspace

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Registered:
    """An agent and its token, which is not stored."""

    agent: Agent
    token: str


@dataclass(frozen=True, slots=True)
class AgentSeen:
    """An agent, and when it was last seen."""

    agent: Agent
    presence: Presence | None


@dataclass(frozen=True, slots=True)
class Greeting:
    """Who the caller is."""

    space: Space
    at: datetime
    seen: AgentSeen
    trusted: bool


class Agents:
    """Keeps the agents of a board."""

    def __init__(self, ground: Ground, identity: Identity) -> None:
        self._writer, self._catalog, self._readers = ground.writer, ground.catalog, ground.readers
        self._clock, self._limits, self._identity = ground.clock, ground.limits, identity

    async def set_standing(
        self, call: Call[Standing, R], draft: Standing, *, expected_version: int
    ) -> R:
        """Says how much an agent's word weighs, whether it is registered or not.

        Raises:
            RoleRequired: The caller is not an administrator.
            StaleRecord: It is not at the expected version.
            Exhausted: The board has too many.
        """
        check_admin(call.caller)

        def operation(work: Workspace) -> Standing:
            standings = work.board(draft.board).standings
            known = standings.of(draft.agent)
            if expected_version and expected_version != known.version:
                raise StaleRecord(
                    f"the standing of {draft.agent}",
                    expected=expected_version,
                    current=known.version,
                )
            wanted = replace(draft, version=known.version, calibrations=known.calibrations)
            if wanted == known:
                return known
            if not known.version and len(standings) >= self._limits.agents_max:
                most = self._limits.agents_max
                raise Exhausted("agents_max", maximum=most, subject=draft.board)
            standing = replace(wanted, version=known.version + 1)
            work.save(standing)
            return standing

        return await once(self._writer, call, operation)

    async def standing(self, caller: Caller, agent: str) -> Standing:
        """How much an agent's word weighs; fully and for itself where nobody said otherwise."""
        return self._catalog.board(caller.board).standings.of(agent)

    async def register(
        self, call: Call[Registered, R], name: str, role: Role, teams: Sequence[str]
    ) -> R:
        """Registers an agent and gives its token. A retry with the same request id gets the same token.

        Raises:
            RoleRequired: The caller is not an administrator.
            AlreadyExists: There is one of that name; rotate its token, or revoke it.
        """
        check_admin(call.caller)
        board = call.caller.board
        token = self._identity.token_for(call, "register", name)

        def operation(work: Workspace) -> Registered:
            agents = work.catalog.agents_of(board)
            if name in agents and agents[name].token_hash:
                raise AlreadyExists(f"boards/{board}/agents/{name}")
            _check_unmistakable(work.catalog, board, name)
            self._check_room(agents, board)
            agent = Agent(
                board, name, role, tuple(sorted(set(teams))), token_hash(token), created_at=work.now
            )
            work.save(agent)
            return Registered(agent, token)

        return call.reveal(await once(self._writer, call, operation), token)

    async def rotate(self, call: Call[Registered, R], name: str) -> R:
        """Gives an agent a new token; the old one ends at once, on open streams too."""
        caller = call.caller
        if caller.agent != name:
            check_admin(caller)
        board = self._board_of(caller, name)
        token = self._identity.token_for(call, "rotate", name)

        def operation(work: Workspace) -> Registered:
            agent = _found(work.catalog, board, name)
            if agent.revoked:
                raise PermissionDenied(f"{name} was revoked; register another agent")
            if token_hash(token) == agent.token_hash:
                raise Invalid(
                    "request_id", f"{call.request_id} made the present token: make a new id"
                )
            agent = replace(agent, token_hash=token_hash(token), version=agent.version + 1)
            work.save(agent)
            return Registered(agent, token)

        response = call.reveal(await once(self._writer, call, operation), token)
        self._identity.end(board, name)
        return response

    async def revoke(self, call: Call[Agent, R], name: str) -> R:
        """Ends an agent's access at once, on open streams too. Its entries stay."""
        check_admin(call.caller)
        board = call.caller.board

        def operation(work: Workspace) -> Agent:
            agent = replace(_found(work.catalog, board, name), revoked=True)
            work.save(agent)
            return agent

        response = await once(self._writer, call, operation)
        self._identity.end(board, name)
        return response

    async def get(self, caller: Caller, name: str) -> AgentSeen:
        """An agent of the caller's board."""
        return self._known(_found(self._catalog, caller.board, name))

    async def list(self, caller: Caller, *, after: str, size: int) -> Sequence[AgentSeen]:
        """A page of the agents of the caller's board, by name."""
        agents = list(self._catalog.agents_of(caller.board).values())
        page = sorted(
            (agent for agent in agents if agent.name > after), key=lambda agent: agent.name
        )[:size]
        return [self._known(agent) for agent in page]

    async def hello(self, caller: Caller, session: str, teams: Sequence[str]) -> Greeting:
        """Says who the caller is, and marks it as present. Where names are trusted, an unknown agent is registered without a token.

        Raises:
            PermissionDenied: The caller says that it works in a team that it is not registered in.
        """
        if self._identity.trust_names and caller.board != SERVER_WIDE:
            await self._writer.perform(lambda work: self._take_in(work, caller, teams))
        missing = set(teams) - self._teams(caller)
        if missing:
            raise PermissionDenied(f"{caller.agent} is not registered in team {min(missing)}")
        self._identity.greet(caller, session)
        name = SpaceName(caller.board)
        space = await self._readers.run(
            lambda snapshot: visible_space(snapshot, self._catalog, caller, name)
        )
        agent = self._agent(caller)
        return Greeting(
            space, self._clock.now(), self._seen(caller.board, agent), self._identity.trust_names
        )

    def _take_in(self, work: Workspace, caller: Caller, teams: Sequence[str]) -> None:
        known = work.catalog.agents_of(caller.board).get(caller.agent)
        joined = tuple(sorted({*teams, *(known.teams if known else ())}))
        if known is None and caller.agent not in work.catalog.server_agents:
            self._check_room(work.catalog.agents_of(caller.board), caller.board)
            work.save(Agent(caller.board, caller.agent, Role.AGENT, joined, created_at=work.now))
        elif known is not None and joined != known.teams and not known.token_hash:
            work.save(replace(known, teams=joined, version=known.version + 1))

    def _check_room(self, agents: Mapping[str, Agent], board: str) -> None:
        if len(agents) >= self._limits.agents_max:
            raise Exhausted("agents_max", maximum=self._limits.agents_max, subject=board)

    def _agent(self, caller: Caller) -> Agent:
        own = self._catalog.agents_of(caller.board).get(caller.agent)
        # The role of this call: where names are trusted it is more than what is on record.
        return replace(own or self._catalog.server_agents[caller.agent], role=caller.role)

    def _teams(self, caller: Caller) -> set[str]:
        known = self._catalog.agents_of(caller.board).get(caller.agent)
        return {*caller.teams, *(known.teams if known else ())}

    def _board_of(self, caller: Caller, name: str) -> str:
        """Where an agent is registered: a server-wide one may rotate its own token through any board."""
        known = name in self._catalog.agents_of(caller.board)
        return caller.board if known or name not in self._catalog.server_agents else SERVER_WIDE

    def _known(self, agent: Agent) -> AgentSeen:
        return self._seen(agent.board, replace(agent, role=self._identity.role_of(agent)))

    def _seen(self, board: str, agent: Agent) -> AgentSeen:
        return AgentSeen(agent, self._identity.present(board, agent.name))


def _found(catalog: Catalog, board: str, name: str) -> Agent:
    agent = catalog.agents_of(board).get(name)
    if agent is None:
        raise NotFound(f"boards/{board}/agents/{name}")
    return agent


def _check_unmistakable(catalog: Catalog, board: str, name: str) -> None:
    """A server-wide agent and a board's own must not share a name, for they would share a private space too."""
    if board != SERVER_WIDE:
        taken = [SERVER_WIDE] if name in catalog.server_agents else []
    else:
        taken = [each for each, known in catalog.boards.items() if name in known.agents]
    if taken:
        raise AlreadyExists(f"boards/{taken[0]}/agents/{name}")
