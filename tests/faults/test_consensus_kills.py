"""A server that is killed at every point of the write path while the crew votes and claims: both of a decision and its effect, or neither."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from lavagna import Proposal
from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.chain import chain_digest, content_digest
from lavagna_server.domain.consensus.claims import replayed
from lavagna_server.domain.consensus.polls import (
    Ballot,
    Choice,
    Outcome,
    ballot_of,
    outcome,
    poll_of,
)
from lavagna_server.domain.entries import ChangeType, Commit, Entry, Kind
from lavagna_server.domain.merging import MergeRules
from lavagna_server.domain.regions import Merging, Policy
from lavagna_server.faults import POINTS
from lavagna_server.operations.doctor import doctor
from lavagna_server.storage.ephemeral import EphemeralStore
from tests.claimants import claimant
from tests.desks import running
from tests.faults.council import Minutes, in_session
from tests.faults.deaths import ANYWHERE, GROUPS_MAX, deaths, died
from tests.faults.lives import KILLED, Hatchery, Server
from tests.faults.test_kills import stored_log

KILLS = max(len(POINTS) + 2, int(os.environ.get("KILLS", "100")) // 4)
"""How often a server is killed."""

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]


@dataclass
class Aftermath:
    """What the clients were told, and what is there in the end."""

    minutes: Minutes
    data_dir: Path
    ends: list[int] = field(default_factory=list[int])
    proposals: dict[str, Proposal] = field(default_factory=dict[str, Proposal])
    """As the last life of the server tells of them."""
    log: Sequence[Commit] = ()

    def decisions(self) -> Iterator[tuple[Commit, Entry]]:
        """Every decision with the commit that it is in."""
        for commit in self.log:
            for entry in commit.entries:
                if entry.kind is Kind.PROPOSAL and entry.change is ChangeType.DECIDED:
                    yield commit, entry


@pytest.fixture(scope="module")
async def aftermath(
    hatchery: Hatchery, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Aftermath]:
    """What is left of a board whose server was killed many times while its crew voted and claimed."""
    server = Server(hatchery, tmp_path_factory.mktemp("council") / "board")
    try:
        yield await mistreated(server)
    finally:
        await server.kill()


async def mistreated(server: Server) -> Aftermath:
    """Has a server killed again and again, and takes in what is left."""
    aftermath = Aftermath(Minutes(), server.data_dir)
    life = await server.start()
    async with in_session(server, aftermath.minutes) as council:
        await council.progress(GROUPS_MAX)
        aftermath.ends.append(await life.kill())
        for point, groups in deaths(KILLS - 1, seed=496):
            aftermath.ends.append(await died(server, council, point, groups))
        life = await server.start()
    async with server.connect("reader") as board:
        for key in aftermath.minutes.proposals:
            aftermath.proposals[key] = await board.proposals.get(key)
    assert await life.stop() == 0
    aftermath.log = stored_log(server)
    return aftermath


def test_every_life_ended_by_kill_while_the_council_sat(aftermath: Aftermath) -> None:
    minutes = aftermath.minutes
    outcomes = {poll_of(entry).outcome for _, entry in aftermath.decisions()}

    assert aftermath.ends == [KILLED] * KILLS
    assert {point for point, _ in deaths(KILLS - 1, seed=496)} == {*POINTS, ANYWHERE}
    assert min(len(minutes.votes), len(minutes.claims), minutes.withdrawn) > KILLS / 4
    assert outcomes == {Outcome.ACCEPTED, Outcome.REJECTED, Outcome.SUPERSEDED}


@pytest.mark.guarantee("S2")
@pytest.mark.guarantee("S6")
def test_every_acknowledged_vote_is_there_once_and_none_that_was_refused(
    aftermath: Aftermath,
) -> None:
    ballots: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for commit in aftermath.log:
        for entry in commit.entries:
            if entry.kind is Kind.BALLOT:
                ballots[entry.key.rpartition("/")[0], entry.author].append(entry)
    cast = {
        vote: [ballot_of(entry).choice.value for entry in entries]
        for vote, entries in ballots.items()
        if aftermath.minutes.proposals[vote[0]].author != vote[1]
    }
    told = {vote: [choice.value] for vote, choice in aftermath.minutes.votes.items()}

    assert cast == told
    assert not cast.keys() & aftermath.minutes.refused


@pytest.mark.guarantee("C1")
def test_a_deciding_ballot_its_decision_and_its_effect_are_in_one_revision_or_nowhere(
    aftermath: Aftermath,
) -> None:
    effects = 0
    decided = Counter[str]()
    for commit, decision in aftermath.decisions():
        poll = poll_of(decision)
        decided[decision.key] += 1
        named = {f"{entry.key}@{entry.version}" for entry in commit.entries}
        changed = [
            entry.key
            for entry in commit.entries
            if entry.kind is Kind.NOTE
            and json.loads(entry.basis)["decision"]["proposal"] == decision.key
        ]
        assert poll.decided_by in named or poll.outcome is Outcome.SUPERSEDED
        assert changed == ([poll.target] if poll.outcome is Outcome.ACCEPTED else [])
        effects += len(changed)
    notes = [
        entry
        for commit in aftermath.log
        for entry in commit.entries
        if entry.kind is Kind.NOTE and entry.key.startswith("design/")
    ]

    assert decided.keys() == aftermath.minutes.proposals.keys()
    assert set(decided.values()) == {1}
    assert len(notes) == effects


@pytest.mark.guarantee("C1")
@pytest.mark.guarantee("C3")
def test_each_decision_came_with_the_ballot_that_first_decided(aftermath: Aftermath) -> None:
    at = {entry.key: commit.revision for commit, entry in aftermath.decisions()}
    ends = {entry.key: poll_of(entry) for _, entry in aftermath.decisions()}
    said: defaultdict[str, dict[str, Ballot]] = defaultdict(dict)
    for commit in aftermath.log:
        for entry in commit.entries:
            if entry.kind is not Kind.BALLOT:
                continue
            key = entry.key.rpartition("/")[0]
            said[key][entry.author] = ballot_of(entry)
            stands, _ = outcome(ends[key], list(said[key].values()))
            assert commit.revision <= at[key], "a ballot after the decision"
            if commit.revision < at[key]:
                assert stands is Outcome.OPEN
            elif ends[key].outcome is not Outcome.SUPERSEDED:
                assert stands is ends[key].outcome
    for key, poll in ends.items():
        assert {each.voter: each for each in poll.ballots} == {
            voter: replace(each, reason="") for voter, each in said[key].items()
        }
        assert all(each.choice is not Choice.ABSTAIN for each in poll.ballots)


@pytest.mark.guarantee("C1")
def test_what_voters_were_told_of_a_decision_is_what_the_log_says(aftermath: Aftermath) -> None:
    at = {entry.key: commit.revision for commit, entry in aftermath.decisions()}
    for key, revisions in aftermath.minutes.decided.items():
        assert revisions <= {at[key]}
    assert {key: each.decided_revision for key, each in aftermath.proposals.items()} == at
    for key, each in aftermath.minutes.proposals.items():
        after = aftermath.proposals[key]
        assert (after.content_hash, after.base_version, after.electors) == (
            each.content_hash,
            each.base_version,
            each.electors,
        )


@pytest.mark.guarantee("S2")
@pytest.mark.guarantee("S6")
def test_every_acknowledged_claim_is_there_once_with_the_merge_that_was_told(
    aftermath: Aftermath,
) -> None:
    made: dict[tuple[str, str, int], tuple[object, ...]] = {}
    ends = 0
    for commit in aftermath.log:
        merges = {entry.key: entry for entry in commit.entries if entry.kind is Kind.NOTE}
        for entry in commit.entries:
            if entry.kind is not Kind.CLAIM:
                continue
            key = entry.key.rpartition("/")[0]
            if entry.value is None:
                ends += 1
                continue
            merge = merges[key].value
            assert merge is not None
            made[key, entry.author, entry.version] = (
                entry.value.content, entry.confidence, commit.revision, merge.content,
            )  # fmt: skip
    told = {
        name: (said.json, said.confidence, said.revision, said.merged_json)
        for name, said in aftermath.minutes.claims.items()
    }

    assert made == told
    assert ends == aftermath.minutes.withdrawn


@pytest.mark.guarantee("C4")
async def test_the_same_claims_give_the_same_bytes_computed_again_and_on_another_store(
    aftermath: Aftermath,
) -> None:
    merges = 0
    live: defaultdict[str, dict[str, Entry]] = defaultdict(dict)
    async with running(EphemeralStore(), ManualClock()) as engine:
        root = claimant(engine, "root", Role.ADMIN)
        merging = Merging(MergeRules(number="mean"))
        await root.region("effort", policy=Policy.WEIGHTED, merging=merging)
        for commit in aftermath.log:
            for claim in (each for each in commit.entries if each.kind is Kind.CLAIM):
                key, agent = claim.key.rpartition("/")[0], claim.key.rpartition("@")[2]
                live[key][agent] = claim
                there = claimant(engine, agent)
                if claim.value is None:
                    del live[key][agent]
                    again = (await there.withdraw(key)).merged
                else:
                    claimed = await there.claim(key, claim.value, confidence=claim.confidence)
                    again = claimed.merged
                (stored,) = (each for each in commit.entries if each.key == key)
                emptied = f'{{"emptied":{{"claim":"{claim.key}@{claim.version}"}}}}'
                assert bytes_of(stored) == (
                    ("", None, emptied) if again is None else bytes_of(again)
                )
                if live[key]:
                    check_replay(stored, live[key])
                    merges += 1
    assert merges > len(aftermath.minutes.claims) / 2


def check_replay(entry: Entry, claims: Mapping[str, Entry]) -> None:
    """The merge, computed from the claims alone and in another order, is the stored one."""
    again = replayed(entry.basis, list(reversed(list(claims.values()))))
    assert (again.result.value, again.result.confidence) == (entry.value, entry.confidence)
    assert again.versions == {agent: claim.version for agent, claim in claims.items()}


def bytes_of(entry: Entry) -> tuple[object, ...]:
    """All of a merge that must be the same, bit for bit."""
    content = "" if entry.value is None else entry.value.content
    confidence = None if entry.confidence is None else entry.confidence.hex()
    return content, confidence, entry.basis


@pytest.mark.guarantee("S1")
@pytest.mark.guarantee("S3")
def test_revisions_run_without_a_gap_and_the_hash_chain_is_intact(aftermath: Aftermath) -> None:
    previous = b""
    for revision, commit in enumerate(aftermath.log, 1):
        assert commit.revision == revision
        assert commit.content_digest == content_digest(commit.entries)
        assert commit.digest == chain_digest(commit, commit.content_digest, previous)
        previous = commit.digest
    assert doctor(aftermath.data_dir) == []
