"""Agents who propose and vote, straight on the engine."""

from __future__ import annotations

from typing import Any

from lavagna_server.domain.agents import Role
from lavagna_server.domain.consensus.polls import Choice, Poll, poll_of
from lavagna_server.domain.entries import Entry, Request
from lavagna_server.domain.errors import (
    NotFound,
)
from lavagna_server.domain.regions import Electorate, Voters
from lavagna_server.engine.consensus import Proposal, ProposalRead, Vote
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.reading import ReadPoint
from tests.desks import Desk, put


class Voter(Desk):
    """One agent among those who vote."""

    async def propose(self, key: str, value: object, **more: Any) -> Proposal:
        """Proposes a JSON value."""
        call = self.call()
        request = Request(self.shared, (put(key, value, **more),), request_id=call.request_id)
        read: ProposalRead = await self.engine.consensus.propose(call, request, token="")
        return read.proposal

    async def vote(self, on: Proposal, choice: Choice = Choice.ACCEPT, **more: Any) -> Proposal:
        """Votes on what it looked at."""
        poll = poll_of(on.newest)
        vote = Vote(
            on.newest.key,
            choice,
            more.get("confidence"),
            more.get("reason", ""),
            more.get("content_hash", poll.content_hash),
            more.get("base_version", poll.base_version),
        )
        read: ProposalRead = await self.engine.consensus.vote(self.call(), vote, token="")
        return read.proposal

    async def proposal(self, of: Proposal) -> Proposal:
        """A proposal as it stands now."""
        found = await self.engine.consensus.get(self.caller, of.newest.key, ReadPoint())
        return found.proposal


def voter(engine: Engine, agent: str, role: Role = Role.AGENT) -> Voter:
    return Voter(engine, agent, role)


def stand(proposal: Proposal) -> Poll:
    """How a proposal stands."""
    return proposal.poll


def electorate(*names: str, **more: Any) -> Electorate:
    return Electorate(tuple(Voters(name) for name in names), **more)


async def newest(desk: Desk, key: str) -> Entry | None:
    try:
        return await desk.get(key)
    except NotFound:
        return None
