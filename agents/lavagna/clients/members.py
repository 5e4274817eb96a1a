"""Members: the client that keeps the agents of a board."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from lavagna.calls import Caller
from lavagna.checks import (
    checked_choice,
    checked_count,
    checked_flag,
    checked_number,
    checked_text,
    checked_texts,
    checked_type,
)
from lavagna.entries import Space
from lavagna.members import Member, Registered, Role, Standing, Welcome
from lavagna.names import board_name, child_name, last_part
from lavagna.paging import pages
from lavagna.times import optional_time, seconds_of
from lavagna.v1 import agents_pb2 as wire

_ROLES = {
    Role.OBSERVER: wire.ROLE_OBSERVER,
    Role.AGENT: wire.ROLE_AGENT,
    Role.ADMIN: wire.ROLE_ADMIN,
}
_ROLE_OF = {number: role for role, number in _ROLES.items()}

_WHOLE_SERVER = "-"
"""What stands for the board in the name of an agent of the whole server."""


class Members:
    """The agents of one board; `board.agents`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.stubs.agents

    async def register(
        self,
        agent_id: str,
        *,
        role: Role = Role.AGENT,
        teams: Sequence[str] = (),
        whole_server: bool = False,
    ) -> Registered:
        """Registers an agent on this board, or on the whole server; administrators only.

        Raises:
            AlreadyExists: There is an agent of that name.
        """
        request = wire.RegisterAgentRequest(
            board=board_name(self._board(whole_server=whole_server)),
            agent_id=checked_text(agent_id, field="agent_id"),
            role=checked_choice(role, _ROLES, field="role"),
            teams=checked_texts(teams, field="teams"),
        )
        answer = await self._caller.mutate(self._stub.RegisterAgent, request)
        return Registered(member_of(answer.agent), answer.token)

    async def get(self, agent_id: str, *, whole_server: bool = False) -> Member:
        """The agent."""
        request = wire.GetAgentRequest(name=self._name(agent_id, whole_server=whole_server))
        answer = await self._caller.ask(self._stub.GetAgent, request)
        return member_of(answer.agent)

    async def list(self, *, whole_server: bool = False) -> AsyncIterator[Member]:
        """The agents of the board, or those of the whole server, by name."""
        request = wire.ListAgentsRequest(board=board_name(self._board(whole_server=whole_server)))

        async def fetch(request: wire.ListAgentsRequest) -> wire.ListAgentsResponse:
            return await self._caller.ask(self._stub.ListAgents, request)

        async for page in pages(fetch, request):
            for message in page.agents:
                yield member_of(message)

    async def rotate(self, agent_id: str, *, whole_server: bool = False) -> str:
        """A new token for the agent; the old one ends at once, on open streams too."""
        request = wire.RotateTokenRequest(name=self._name(agent_id, whole_server=whole_server))
        answer = await self._caller.mutate(self._stub.RotateToken, request)
        return answer.token

    async def revoke(self, agent_id: str, *, whole_server: bool = False) -> Member:
        """Ends the agent's access at once, on open streams too."""
        request = wire.RevokeAgentRequest(name=self._name(agent_id, whole_server=whole_server))
        answer = await self._caller.mutate(self._stub.RevokeAgent, request)
        return member_of(answer.agent)

    async def standing(self, agent_id: str) -> Standing:
        """How much the agent's word weighs; of version 0 where nobody said anything."""
        request = wire.GetStandingRequest(name=self._name(agent_id, whole_server=False))
        answer = await self._caller.ask(self._stub.GetStanding, request)
        return standing_of(answer.standing)

    async def set_standing(self, standing: Standing) -> Standing:
        """Says how much an agent's word weighs; administrators only.

        What is frozen in open proposals stays as it is.

        Raises:
            Conflict: The standing has a version, and it is not the current one.
        """
        checked_type(standing, Standing, field="standing")
        agent = checked_text(standing.agent, field="standing.agent")
        message = wire.Standing(
            name=child_name(self._caller.board, "agents", agent),
            trust=checked_number(standing.trust, field="standing.trust"),
            group=checked_text(standing.group, field="standing.group"),
            version=checked_count(standing.version, field="standing.version"),
        )
        request = wire.SetStandingRequest(standing=message)
        answer = await self._caller.mutate(self._stub.SetStanding, request)
        return standing_of(answer.standing)

    async def hello(self, *, session: str = "", teams: Sequence[str] = ()) -> Welcome:
        """Says who calls and in which teams, and learns what the caller may do."""
        request = wire.HelloRequest(
            board=self._caller.board_name,
            session=checked_text(session, field="session") or self._caller.session,
            teams=checked_texts(teams, field="teams"),
        )
        answer = await self._caller.ask(self._stub.Hello, request)
        self._caller.note(Space.SHARED, answer.header)
        return Welcome(
            member=member_of(answer.agent),
            methods=tuple(answer.methods),
            trusted=answer.trusted,
            server_version=answer.server_version,
            epoch=answer.header.epoch,
            revision=answer.header.revision,
            bookmark_seconds=seconds_of(answer.bookmark_interval),
        )

    def _board(self, *, whole_server: bool) -> str:
        whole_server = checked_flag(whole_server, field="whole_server")
        return _WHOLE_SERVER if whole_server else self._caller.board

    def _name(self, agent_id: str, *, whole_server: bool) -> str:
        checked_text(agent_id, field="agent_id")
        return child_name(self._board(whole_server=whole_server), "agents", agent_id)


def member_of(message: wire.Agent) -> Member:
    """The agent that the wire holds."""
    return Member(
        id=last_part(message.name),
        role=_ROLE_OF.get(message.role, Role.UNKNOWN),
        teams=tuple(message.teams),
        revoked=message.revoked,
        last_seen_at=optional_time(message, "last_seen_time"),
        session=message.session,
        created_at=optional_time(message, "create_time"),
    )


def standing_of(message: wire.Standing) -> Standing:
    """The standing that the wire holds."""
    return Standing(
        agent=last_part(message.name),
        trust=message.trust if message.HasField("trust") else 1.0,
        group=message.group,
        version=message.version,
    )
