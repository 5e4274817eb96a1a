"""Explanations: how a version of an entry came about, as data; words for it are made where it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.consensus.claims import Merge, of_claim, replayed
from lavagna_server.domain.consensus.polls import Choice, Outcome, poll_of
from lavagna_server.domain.entries import Entry, EntryId, Kind, Space, SpaceName
from lavagna_server.domain.errors import NotFound
from lavagna_server.domain.keys import Pattern, below
from lavagna_server.domain.regions import Policy, Region
from lavagna_server.domain.weighing.calibration import UNCALIBRATED, Calibration
from lavagna_server.domain.weighing.reliability import Answer, Reliability, estimated
from lavagna_server.engine.consensus import Proposal, proposal_in
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.reading import ReadPoint, StateAt, state_at
from lavagna_server.ports.store import Snapshot

NAMES_MAX, POLLS_MAX, ANSWERS_MAX = 10_000, 200, 1_000
"""How many proposals of a region are looked through for the newest, of how many of those the ballots are looked at, and how many ballots
count towards reliability: with them an estimate takes some tenths of a second at most."""
_DECIDED = frozenset({Outcome.ACCEPTED, Outcome.REJECTED, Outcome.UNDECIDED})


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is known of how well an agent judges."""

    agent: str
    calibration: Calibration
    reliability: Reliability | None
    """From its ballots in decided proposals of the region; None without any."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How an entry, or the decision on a proposal, came about."""

    space: Space
    revision: int
    at: datetime
    policy: Policy
    entry: Entry | None = None
    merge: Merge | None = None
    """The merge that the entry rests on, computed again; None when it rests on none, or history no longer holds the claims."""
    claims: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    """The claims that were merged, as far as history holds them, by agent."""
    proposal: Proposal | None = None
    judgements: tuple[Judgement, ...] = ()


class Explanations:
    """Explains entries and proposals to those who may read them."""

    def __init__(self, ground: Ground) -> None:
        self._readers, self._catalog, self._clock = ground.readers, ground.catalog, ground.clock

    async def explain(self, caller: Caller, key: str, point: ReadPoint) -> Explanation:
        """How the entry at a key, or the proposal of that key, came about.

        Raises:
            NotFound: There is neither that the caller may read.
            Compacted, FutureRevision: That revision cannot be read.
        """

        def read(snapshot: Snapshot) -> Explanation:
            name = SpaceName(caller.board)
            about = Pattern(key, tuple(key.split("/")))
            state = state_at(snapshot, self._catalog, caller, name, [about, below(key)], point)
            return self._explained(state, caller, key)

        return await self._readers.run(read)

    def _explained(self, state: StateAt, caller: Caller, key: str) -> Explanation:
        note = EntryId(Kind.NOTE, key)
        entry = state.known([note]).get(note)
        proposal = None if entry is not None else proposal_in(state, EntryId(Kind.PROPOSAL, key))
        if entry is None and proposal is None:
            raise NotFound(key)
        basis: dict[str, Any] = json.loads(entry.basis) if entry and entry.basis else {}
        if "decision" in basis:
            by = EntryId(Kind.PROPOSAL, basis["decision"]["proposal"])
            proposal = proposal_in(state, by)
        claims: dict[str, Entry] = {}
        merge: Merge | None = None
        if entry is not None and "merge" in basis:
            claims, merge = _merge(state, entry, basis["merge"]["claims"])
        board = self._catalog.board(caller.board)
        region = board.regions_of(state.space.name).of(key)
        people = {*claims, *_voters(proposal), *_resolved(basis)}
        reliable = _reliability(state, region) if people and region else {}
        judgements = tuple(
            Judgement(
                agent,
                board.standings.of(agent).calibration_in(region.path) if region else UNCALIBRATED,
                reliable.get(agent),
            )
            for agent in sorted(people)
        )
        return Explanation(
            state.space,
            state.revision,
            self._clock.now(),
            region.policy if region else Policy.GUARDED,
            entry,
            merge,
            claims,
            proposal,
            judgements,
        )


def _merge(
    state: StateAt, entry: Entry, recorded: Iterable[Mapping[str, Any]]
) -> tuple[dict[str, Entry], Merge | None]:
    """The claims behind an entry as history holds them, and their merge when it holds them all."""
    claims: dict[str, Entry] = {}
    whole = True
    for each in recorded:
        agent = each["weight"]["agent"]
        claim = state.version(of_claim(entry.key, agent), each["version"])
        if claim is None:
            whole = False
        else:
            claims[agent] = claim

    return claims, replayed(entry.basis, list(claims.values())) if whole else None


def _voters(proposal: Proposal | None) -> Iterable[str]:
    return [each.agent for each in poll_of(proposal.newest).electors] if proposal else ()


def _resolved(basis: Mapping[str, Any]) -> Iterable[str]:
    resolution: dict[str, list[str]] = basis.get("resolution", {})
    return [*resolution.get("right", ()), *resolution.get("wrong", ())]


def _reliability(state: StateAt, region: Region) -> dict[str, Reliability]:
    """How often voters are right, as far as their agreement in the region's newest decided proposals shows it."""
    within = Pattern(f"{region.path}/**", (*region.path.split("/"), "**"))
    named = list(islice(state.changed(within, Kind.PROPOSAL, 0), NAMES_MAX))
    newest = sorted(named, key=lambda each: each.key.rpartition("/")[2], reverse=True)[:POLLS_MAX]
    answers: list[Answer] = []
    for id_, entry in state.known(newest).items():
        poll = poll_of(entry)
        if poll.outcome in _DECIDED and len(answers) + len(poll.ballots) <= ANSWERS_MAX:
            answers += [
                Answer(id_.key, ballot.voter, ballot.choice.value)
                for ballot in poll.ballots
                if ballot.choice is not Choice.ABSTAIN
            ]
    return {each.voter: each for each in estimated(answers).voters}
