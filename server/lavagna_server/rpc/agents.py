"""The servicer of `lavagna.v1.Agents`."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

from lavagna.v1.agents_pb2 import (
    GetAgentRequest,
    GetAgentResponse,
    GetStandingRequest,
    GetStandingResponse,
    HelloRequest,
    HelloResponse,
    ListAgentsRequest,
    ListAgentsResponse,
    RegisterAgentRequest,
    RegisterAgentResponse,
    RevokeAgentRequest,
    RevokeAgentResponse,
    RotateTokenRequest,
    RotateTokenResponse,
    SetStandingRequest,
    SetStandingResponse,
)
from lavagna_server.domain.agents import check_name
from lavagna_server.domain.names import parse_agent
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.identity import Session
from lavagna_server.rpc.access import methods_for
from lavagna_server.rpc.calls import Calls
from lavagna_server.rpc.codec import agents
from lavagna_server.rpc.codec.checks import check_label, not_negative, page_size
from lavagna_server.rpc.codec.enums import ROLES
from lavagna_server.rpc.codec.spaces import header

SERVER_VERSION = version("lavagna")


class Agents:
    """Keeps the agents of a board."""

    def __init__(self, engine: Engine, calls: Calls) -> None:
        self._agents, self._limits = engine.agents, engine.limits
        self._bookmark_interval = agents.bookmark_interval(engine.options.bookmark_seconds)
        self._calls = calls

    async def RegisterAgent(
        self, request: RegisterAgentRequest, session: Session
    ) -> RegisterAgentResponse:
        name = check_name(request.agent_id, field="agent_id")
        role = ROLES.from_wire(request.role, field="role")
        teams = agents.teams_from_wire(request.teams)
        call = self._calls.mutation(
            session.caller, request, agents.registered_response, RegisterAgentResponse
        )
        return await self._agents.register(
            replace(call, reveal=agents.registered_with), name, role, teams
        )

    async def GetAgent(self, request: GetAgentRequest, session: Session) -> GetAgentResponse:
        _, name = parse_agent(request.name, field="name")
        return GetAgentResponse(
            agent=agents.seen_to_wire(await self._agents.get(session.caller, name))
        )

    async def ListAgents(self, request: ListAgentsRequest, session: Session) -> ListAgentsResponse:
        size = page_size(request.page_size, limits=self._limits)
        after = agents.agents_place(request, session.caller)
        page = await self._agents.list(session.caller, after=after, size=size)
        return agents.agents_response(page, request, session.caller, size=size)

    async def RotateToken(
        self, request: RotateTokenRequest, session: Session
    ) -> RotateTokenResponse:
        _, name = parse_agent(request.name, field="name")

        call = self._calls.mutation(
            session.caller, request, agents.rotated_response, RotateTokenResponse
        )
        return await self._agents.rotate(replace(call, reveal=agents.rotated_with), name)

    async def RevokeAgent(
        self, request: RevokeAgentRequest, session: Session
    ) -> RevokeAgentResponse:
        _, name = parse_agent(request.name, field="name")
        call = self._calls.mutation(
            session.caller,
            request,
            agents.revoked_response,
            RevokeAgentResponse,
        )
        return await self._agents.revoke(call, name)

    async def SetStanding(
        self, request: SetStandingRequest, session: Session
    ) -> SetStandingResponse:
        draft = agents.standing_from_wire(request)
        version = not_negative(request.standing.version, field="standing.version")
        call = self._calls.mutation(
            session.caller, request, agents.standing_response, SetStandingResponse
        )
        return await self._agents.set_standing(call, draft, expected_version=version)

    async def GetStanding(
        self, request: GetStandingRequest, session: Session
    ) -> GetStandingResponse:
        _, name = parse_agent(request.name, field="name")
        standing = await self._agents.standing(session.caller, name)
        return GetStandingResponse(standing=agents.standing_to_wire(standing))

    async def Hello(self, request: HelloRequest, session: Session) -> HelloResponse:
        characters_max = self._limits.request_id_characters_max
        process = check_label(request.session, field="session", characters_max=characters_max)
        teams = agents.teams_from_wire(request.teams)
        greeting = await self._agents.hello(session.caller, process, teams)
        return HelloResponse(
            header=header(greeting.space, greeting.at),
            agent=agents.seen_to_wire(greeting.seen),
            methods=methods_for(session.caller.role),
            trusted=greeting.trusted,
            server_version=SERVER_VERSION,
            bookmark_interval=self._bookmark_interval,
        )
