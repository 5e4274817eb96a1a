"""A council: clients that propose, vote and claim without end, and minutes of what was acknowledged to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lavagna import Board, Choice, Electorate, Merging, Policy, PollClosed, Proposal, Region, Voters
from tests.faults.lives import Server

VOTERS = tuple(f"voter-{number}" for number in range(5))
PROPOSERS = VOTERS[:2]
CLAIMANTS = tuple(f"claimant-{number}" for number in range(4))
APPROVALS = 3
DESIGNS, EFFORTS = 3, 2
"""About how many keys they vote, and claim."""


@dataclass(frozen=True)
class Said:
    """A claim as it was acknowledged, with what all claims came to."""

    json: str
    confidence: float | None
    revision: int
    merged_json: str


@dataclass
class Minutes:
    """What was acknowledged."""

    proposals: dict[str, Proposal] = field(default_factory=dict[str, Proposal])
    """By key, as they were when they were made."""
    votes: dict[tuple[str, str], Choice] = field(default_factory=dict[tuple[str, str], Choice])
    """By proposal and voter."""
    refused: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """The votes that came too late."""
    decided: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    """At which revisions voters were told that a proposal was decided."""
    claims: dict[tuple[str, str, int], Said] = field(
        default_factory=dict[tuple[str, str, int], Said]
    )
    """By key, agent and version."""
    withdrawn: int = 0
    acknowledged: int = 0


class Council:
    """The clients, until they are told to stop."""

    def __init__(self, minutes: Minutes) -> None:
        self.minutes = minutes
        self.stopping = asyncio.Event()
        self._more = asyncio.Event()
        self._proposing = len(PROPOSERS)

    async def progress(self, acknowledged: int) -> None:
        """Waits until so many more calls were acknowledged."""
        goal = self.minutes.acknowledged + acknowledged
        while self.minutes.acknowledged < goal:
            await self._change()

    async def propose(self, board: Board) -> None:
        """Proposes one thing after another, each when the one before is decided."""
        number = 0
        while not self.stopping.is_set():
            number += 1
            proposal = await board.propose(
                f"design/{number % DESIGNS}", f"{board.agent_name} {number}"
            )
            assert proposal.key not in self.minutes.proposals, "one key was given to two proposals"
            self.minutes.proposals[proposal.key] = proposal
            self._note()
            while proposal.key not in self.minutes.decided:
                await self._change()
        self._proposing -= 1
        self._note()

    async def vote(self, board: Board) -> None:
        """Votes once on everything that others propose, now for it and now against it."""
        place, seen = VOTERS.index(board.agent_name), 0
        while self._proposing or seen < len(self.minutes.proposals):
            if seen == len(self.minutes.proposals):
                await self._change()
                continue
            proposal = list(self.minutes.proposals.values())[seen]
            if proposal.author != board.agent_name:
                is_liked = seen % 3 and (seen + place) % 4
                choice = Choice.ACCEPT if is_liked else Choice.REJECT
                await self._cast(board, proposal, choice)
            seen += 1

    async def _cast(self, board: Board, proposal: Proposal, choice: Choice) -> None:
        vote = (proposal.key, board.agent_name)
        try:
            after = await board.vote(proposal, choice, confidence=0.5, reason="thus")
        except PollClosed:
            self.minutes.refused.add(vote)
            self.minutes.decided.setdefault(proposal.key, set())
        else:
            self.minutes.votes[vote] = choice
            if not after.is_open:
                self.minutes.decided.setdefault(proposal.key, set()).add(after.decided_revision)
        self._note()

    async def claim(self, board: Board) -> None:
        """Claims ever other numbers, and takes a claim back from time to time."""
        number, place = 0, CLAIMANTS.index(board.agent_name)
        while not self.stopping.is_set():
            number += 1
            key = f"effort/{number % EFFORTS}"
            if number % 5 == 0 and number > EFFORTS:
                await board.withdraw(key)
                self.minutes.withdrawn += 1
            else:
                await self._claim(board, key, (number * 7 + place) % 13 * 0.1)
            self._note()

    async def _claim(self, board: Board, key: str, value: float) -> None:
        confidence = None if value > 1 else 0.3
        claimed = await board.claim(key, value, confidence=confidence)
        claim, merged = claimed.claim, claimed.merged
        assert claim.json_text is not None
        assert merged.json_text is not None
        assert claim.revision == merged.revision
        name = (key, board.agent_name, claim.version)
        assert name not in self.minutes.claims, "one version was given to two claims"
        self.minutes.claims[name] = Said(
            claim.json_text, confidence, claim.revision, merged.json_text
        )

    def _note(self) -> None:
        self.minutes.acknowledged += 1
        self._more.set()

    async def _change(self) -> None:
        self._more.clear()
        await self._more.wait()


@asynccontextmanager
async def in_session(server: Server, minutes: Minutes) -> AsyncGenerator[Council]:
    """Clients at work; after the block each finishes what it has begun, so that no vote is in doubt."""
    council = Council(minutes)
    async with server.connect("chair") as chair:
        electorate = Electorate([Voters(name) for name in VOTERS], approvals=APPROVALS)
        await chair.regions.set(Region("design", policy=Policy.QUORUM, electorate=electorate))
        merging = Merging(number="mean")
        await chair.regions.set(Region("effort", policy=Policy.WEIGHTED, merging=merging))
    roles = [
        *((council.propose, name) for name in PROPOSERS),
        *((council.vote, name) for name in VOTERS),
        *((council.claim, name) for name in CLAIMANTS),
    ]

    async def work(number: int) -> None:
        role, name = roles[number]
        async with server.connect(name) as board:
            await role(board)

    async with asyncio.TaskGroup() as working:
        for number in range(len(roles)):
            working.create_task(work(number))
        yield council
        council.stopping.set()
