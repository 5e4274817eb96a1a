"""Agents as resources, and what a caller is told about itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from google.protobuf.duration_pb2 import Duration

from lavagna.v1 import agents_pb2
from lavagna_server.domain.agents import Agent, Caller, check_name
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.names import agent_name, parse_agent
from lavagna_server.domain.standings import Standing
from lavagna_server.engine.agents import AgentSeen, Registered
from lavagna_server.rpc.codec.checks import check_count, required
from lavagna_server.rpc.codec.enums import ROLES
from lavagna_server.rpc.codec.pages import page_token, place_of
from lavagna_server.rpc.codec.times import optional_moment, span_to_wire

TEAMS_MAX = 64
"""Teams of one agent."""


def agent_to_wire(
    agent: Agent, *, last_seen_at: datetime | None = None, session: str = ""
) -> agents_pb2.Agent:
    """The agent as a message, with when and as what it last called."""
    return agents_pb2.Agent(
        name=agent_name(agent.board, agent.name),
        role=ROLES.to_wire(agent.role),
        teams=agent.teams,
        revoked=agent.revoked,
        last_seen_time=optional_moment(last_seen_at),
        session=session,
        create_time=optional_moment(agent.created_at),
    )


def teams_from_wire(teams: Sequence[str], *, field: str = "teams") -> tuple[str, ...]:
    """The teams that an agent works in, sorted, none twice."""
    check_count(teams, TEAMS_MAX, field=field, limit="teams_max")
    return tuple(
        sorted({check_name(team, field=f"{field}[{index}]") for index, team in enumerate(teams)})
    )


def seen_to_wire(seen: AgentSeen) -> agents_pb2.Agent:
    """The agent as it was last seen."""
    if seen.presence is None:
        return agent_to_wire(seen.agent)
    return agent_to_wire(
        seen.agent, last_seen_at=seen.presence.seen_at, session=seen.presence.session
    )


def agents_place(request: agents_pb2.ListAgentsRequest, caller: Caller) -> str:
    """After which agent a page begins."""
    place = place_of(request.page_token, request, caller, parts=1)
    return "" if place is None else place[0]


def agents_response(
    page: Sequence[AgentSeen], request: agents_pb2.ListAgentsRequest, caller: Caller, *, size: int
) -> agents_pb2.ListAgentsResponse:
    """A page of agents; a full one may go on."""
    more = len(page) == size
    return agents_pb2.ListAgentsResponse(
        agents=[seen_to_wire(seen) for seen in page],
        next_page_token=page_token(request, caller, page[-1].agent.name) if more else "",
    )


def registered_response(registered: Registered) -> agents_pb2.RegisterAgentResponse:
    """The registered agent, in the form that is kept: without its token."""
    return agents_pb2.RegisterAgentResponse(agent=agent_to_wire(registered.agent))


def registered_with(
    response: agents_pb2.RegisterAgentResponse, token: str
) -> agents_pb2.RegisterAgentResponse:
    """The response with the token, in the form that is sent."""
    response.token = token
    return response


def revoked_response(agent: Agent) -> agents_pb2.RevokeAgentResponse:
    """The agent as it now is."""
    return agents_pb2.RevokeAgentResponse(agent=agent_to_wire(agent))


def rotated_response(_: Registered) -> agents_pb2.RotateTokenResponse:
    """The response in the form that is kept: without the token."""
    return agents_pb2.RotateTokenResponse()


def rotated_with(
    response: agents_pb2.RotateTokenResponse, token: str
) -> agents_pb2.RotateTokenResponse:
    """The response with the token, in the form that is sent."""
    response.token = token
    return response


def standing_from_wire(message: agents_pb2.SetStandingRequest) -> Standing:
    """How much an agent's word is to weigh; version 0.

    Raises:
        Invalid: Naming the field.
    """
    required(message.HasField("standing"), field="standing")
    wanted = message.standing
    board, agent = parse_agent(wanted.name, field="standing.name")
    trust = wanted.trust if wanted.HasField("trust") else 1.0
    if not 0.0 <= trust <= 1.0:  # also false for NaN
        raise Invalid("standing.trust", f"must be from 0 to 1, not {trust}")
    if wanted.group:
        check_name(wanted.group, field="standing.group")
    return Standing(board, agent, trust, wanted.group, version=0)


def standing_to_wire(standing: Standing) -> agents_pb2.Standing:
    """The standing as a message."""
    return agents_pb2.Standing(
        name=agent_name(standing.board, standing.agent),
        trust=standing.trust,
        group=standing.group,
        version=standing.version,
    )


def standing_response(standing: Standing) -> agents_pb2.SetStandingResponse:
    """The standing as it now is."""
    return agents_pb2.SetStandingResponse(standing=standing_to_wire(standing))


def bookmark_interval(seconds: float) -> Duration:
    """How often a watch says that it lives."""
    return span_to_wire(timedelta(seconds=seconds))
