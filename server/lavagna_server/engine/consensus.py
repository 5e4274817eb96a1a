"""Consensus: proposals and the votes on them, as the crew meets them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.consensus.polls import Ballot, Choice, Outcome, Poll, poll_of, standing
from lavagna_server.domain.consensus.proposals import ballot_key, cast, check_open
from lavagna_server.domain.consensus.settling import Ending
from lavagna_server.domain.decisions import pen_for
from lavagna_server.domain.entries import (
    Entry,
    EntryId,
    Kind,
    Occasion,
    Request,
    Space,
    SpaceName,
)
from lavagna_server.domain.errors import (
    Compacted,
    NotFound,
    NotVoted,
    PermissionDenied,
    RoleRequired,
)
from lavagna_server.domain.keys import Pattern, below
from lavagna_server.domain.regions import Policy
from lavagna_server.engine.bell import Bell, either, poll_waiter
from lavagna_server.engine.calls import Call
from lavagna_server.engine.commits import Log, cause_of, touches
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.once import once
from lavagna_server.engine.reading import ReadPoint, StateAt, state_at
from lavagna_server.engine.workspace import Workspace
from lavagna_server.ports.store import Snapshot

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Vote:
    """What a voter says, and about what."""

    proposal: str
    choice: Choice
    confidence: float | None
    reason: str
    content_hash: str
    base_version: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal with what was proposed, how its poll stands, and the ballots so far."""

    opened: Entry
    """Its first version, which holds what is proposed."""
    newest: Entry
    """Its newest, which says how it stands; the same as `opened` while it waits for votes."""
    ballots: tuple[Entry, ...] = ()

    @property
    def poll(self) -> Poll:
        """Its poll as it stands, with the ballots' reasons."""
        return standing(poll_of(self.newest), self.ballots)

    @property
    def deadline(self) -> datetime | None:
        """When time decides on it."""
        after = poll_of(self.newest).deadline
        return self.opened.expires_at or (self.opened.committed_at + after if after else None)

    @property
    def weight_bytes(self) -> int:
        """At least what it takes in a message."""
        decision = 0 if self.newest is self.opened else self.newest.weight_bytes
        return self.opened.weight_bytes + decision + sum(each.weight_bytes for each in self.ballots)


@dataclass(frozen=True, slots=True)
class ProposalRead:
    """One proposal, and the revision it was read at."""

    space: Space
    revision: int
    at: datetime
    proposal: Proposal


@dataclass(frozen=True, slots=True)
class ProposalsRead:
    """Proposals of one revision."""

    space: Space
    revision: int
    at: datetime
    proposals: tuple[Proposal, ...]
    next_after: EntryId | None = None
    """Where the next page begins; None on the last."""


class Consensus:
    """Keeps proposals and counts votes."""

    def __init__(self, ground: Ground, log: Log, bell: Bell) -> None:
        self._writer, self._readers, self._catalog = ground.writer, ground.readers, ground.catalog
        self._clock, self._limits, self._log, self._bell = ground.clock, ground.limits, log, bell

    async def propose(self, call: Call[ProposalRead, R], request: Request, *, token: str) -> R:
        """Writes one entry where that waits for votes, and gives the proposal that it became.

        Raises:
            NotVoted: It would wait for nobody's.
            QuorumImpossible: The electorate could never accept it.
            NotAWriter, StaleVersion, Invalid: As for any commit.
        """

        def operation(work: Workspace) -> ProposalRead:
            key = request.changes[0].id.key
            region = work.board(request.space.board).regions_of(request.space).of(key)
            if region is not None and not region.may_read(call.caller):
                raise NotFound(key)
            if region is None or not region.asks_others(call.caller):
                policy = region.policy if region else Policy.GUARDED
                raise NotVoted(key, policy=policy.value)
            cause = cause_of(work, call.caller, token, SpaceName(call.caller.board))
            written = self._log.write(work, call.caller, request, cause)
            assert written.plan.commit is not None
            opened = written.plan.commit.entries[0]
            return _fresh(work, request.space, opened.id, opened)

        return await self._once(call, operation, touches(request))

    async def vote(self, call: Call[ProposalRead, R], vote: Vote, *, token: str) -> R:
        """Casts the caller's ballot, and in the same commit carries out what it decides.

        Raises:
            NotFound: There is no such proposal that the caller may read.
            NotAVoter: The caller is not in its electorate.
            PollClosed: It is decided, or about to be.
            ContentMismatch: The vote names other content, or another base.
        """
        caller, name = call.caller, SpaceName(call.caller.board)

        def operation(work: Workspace) -> ProposalRead:
            proposal = _known(work, caller, vote.proposal)
            cause = cause_of(work, caller, token, name)
            state = self._log.state(work, name)
            id_ = EntryId(Kind.BALLOT, ballot_key(vote.proposal, caller.agent))
            before = state.newest(id_)
            ballot = cast(
                proposal,
                before,
                Ballot(caller.agent, vote.choice, vote.confidence, vote.reason),
                hashed=vote.content_hash,
                base_version=vote.base_version,
                pen=pen_for(state.space, caller.agent, work.now, cause),
            )
            self._log.conclude(
                work,
                name,
                [(before, ballot)],
                author=caller.agent,
                occasion=Occasion.WRITE,
                cause=cause,
                request_id=call.request_id,
            )
            return _fresh(work, name, proposal.id, proposal)

        about = EntryId(Kind.PROPOSAL, vote.proposal)
        return await self._once(call, operation, [(name, about)])

    async def withdraw(
        self, call: Call[ProposalRead, R], key: str, *, reason: str, token: str
    ) -> R:
        """Ends a proposal that waits for votes. Its author's, and an administrator's.

        Raises:
            NotFound: There is no such proposal that the caller may read.
            PermissionDenied: It is another's.
            PollClosed: It is decided, or about to be: its deadline has come.
        """
        caller, name = call.caller, SpaceName(call.caller.board)

        def operation(work: Workspace) -> ProposalRead:
            proposal = _known(work, caller, key)
            author = poll_of(proposal).author
            if caller.agent != author and caller.role is not Role.ADMIN:
                raise PermissionDenied(f"{key} is {author}'s to withdraw")
            check_open(proposal, pen_for(work.space(name), caller.agent, work.now, None).at)
            why = f"withdrawn by {caller.agent}" + (f": {reason}" if reason else "")
            self._log.conclude(
                work,
                name,
                [],
                [Ending(proposal, Outcome.WITHDRAWN, why)],
                author=caller.agent,
                occasion=Occasion.WRITE,
                cause=cause_of(work, caller, token, name),
                request_id=call.request_id,
            )
            return _fresh(work, name, proposal.id, proposal)

        return await self._once(call, operation, [(name, EntryId(Kind.PROPOSAL, key))])

    async def _once(
        self,
        call: Call[ProposalRead, R],
        operation: Callable[[Workspace], ProposalRead],
        about: Collection[tuple[SpaceName, EntryId]],
    ) -> R:
        """What an operation on a poll comes to; a retry gets the original response, made whole from history as far as that still goes back."""
        response = await once(self._writer, call, operation, touches=about)
        lacking = call.left_out(response)
        if lacking is None:
            return response
        try:
            read = await self.get(call.caller, lacking.key, ReadPoint(lacking.revision))
        except (Compacted, NotFound):
            return response
        return call.restored(response, read)

    async def get(self, caller: Caller, key: str, point: ReadPoint) -> ProposalRead:
        """One proposal, decided or not. Raises `NotFound`."""

        def read(snapshot: Snapshot) -> ProposalRead:
            name = SpaceName(caller.board)
            state = state_at(snapshot, self._catalog, caller, name, [below(key)], point)
            found = proposal_in(state, EntryId(Kind.PROPOSAL, key))
            if found is None:
                raise NotFound(key)
            return ProposalRead(state.space, state.revision, self._clock.now(), found)

        return await self._readers.run(read)

    async def list(
        self,
        caller: Caller,
        pattern: Pattern,
        *,
        outcomes: frozenset[Outcome],
        voter: str,
        point: ReadPoint,
        after: EntryId | None,
        size: int,
    ) -> ProposalsRead:
        """A page of the proposals about entries that match, by key; those in which `voter` has yet to vote when one is named."""

        def read(snapshot: Snapshot) -> ProposalsRead:
            name = SpaceName(caller.board)
            ends_open = pattern.segments[-1] == "**"
            about = pattern if ends_open else Pattern(f"{pattern.text}/*", (*pattern.segments, "*"))
            state = state_at(snapshot, self._catalog, caller, name, [about], point)
            page: list[Proposal] = []
            bytes_left = self._limits.page_bytes_max
            named: Iterator[EntryId] = state.changed(about, Kind.PROPOSAL, 0, after)
            if outcomes == frozenset({Outcome.OPEN}):
                named = (each.id for each in state.scan(about, frozenset({Kind.PROPOSAL}), after))
            for id_ in named:
                found = proposal_in(state, id_)
                if found is None or not _is_wanted(found, outcomes, voter):
                    continue
                bytes_left -= found.weight_bytes
                if len(page) == size or (page and bytes_left < 0):
                    last = page[-1].newest.id
                    return ProposalsRead(
                        state.space, state.revision, self._clock.now(), tuple(page), last
                    )
                page.append(found)
            return ProposalsRead(state.space, state.revision, self._clock.now(), tuple(page))

        return await self._readers.run(read)

    async def wait(
        self, caller: Caller, key: str, *, wait: timedelta, until: asyncio.Event
    ) -> ProposalRead:
        """The proposal once it is decided, or as it stands after `wait`. Raises `NotFound`."""
        deadline = asyncio.get_running_loop().time() + wait.total_seconds()
        with self._bell.listening(caller.board, [poll_waiter(key)]) as rung:
            while True:
                rung.clear()
                found = await self.get(caller, key, ReadPoint())
                left = deadline - asyncio.get_running_loop().time()
                if not found.proposal.newest.exists or left <= 0 or until.is_set():
                    return found
                await either(rung, until, seconds=left)


def _known(work: Workspace, caller: Caller, key: str) -> Entry:
    """The proposal of that key, decided or not. Raises `NotFound` where the caller may not read it."""
    if caller.role < Role.AGENT:
        raise RoleRequired(agent=caller.agent, role=caller.role.name.lower(), needs="agent")
    name = SpaceName(caller.board)
    proposal = work.newest(name, EntryId(Kind.PROPOSAL, key))
    if proposal is None or not work.board(name.board).regions_of(name).may_read(key, caller):
        raise NotFound(key)
    return proposal


def _fresh(work: Workspace, name: SpaceName, id_: EntryId, opened: Entry) -> ProposalRead:
    """A proposal as the operation leaves it."""
    newest = work.newest(name, id_)
    assert newest is not None
    ballots = tuple(work.matching(name, below(id_.key), frozenset({Kind.BALLOT})))
    space = work.space(name)
    return ProposalRead(space, space.head, work.now, Proposal(opened, newest, ballots))


def proposal_in(state: StateAt, id_: EntryId) -> Proposal | None:
    """A proposal with its ballots, decided or not; None when there is none that the caller may read."""
    newest = state.known([id_]).get(id_)
    if newest is None:
        return None
    opened = newest if newest.exists else state.version(id_, newest.version - 1) or newest
    ballots = tuple(state.scan(below(id_.key), frozenset({Kind.BALLOT})))
    return Proposal(opened, newest, ballots)


def _is_wanted(found: Proposal, outcomes: frozenset[Outcome], voter: str) -> bool:
    poll = poll_of(found.newest)
    if outcomes and poll.outcome not in outcomes:
        return False
    if not voter:
        return True
    waits = poll.outcome is Outcome.OPEN and poll.elector(voter) is not None
    return waits and all(each.author != voter for each in found.ballots)
