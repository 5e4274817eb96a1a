"""Proposals through the SDK, on a real server: what is proposed, voted on and decided."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import lavagna
from lavagna import (
    Agent,
    Board,
    ChangeType,
    Choice,
    Commit,
    Conflict,
    ContentMismatch,
    Electorate,
    Entry,
    Invalid,
    Kind,
    Merging,
    NotAVoter,
    NotFound,
    NotInTime,
    NotMerged,
    NotVoted,
    Outcome,
    Policy,
    PollClosed,
    Put,
    QuorumImpossible,
    Region,
    Target,
    Voters,
    Watch,
    Work,
    testing,
)
from lavagna.testing import LocalServer

TWO_OF_THREE = Electorate(["ada", "bob", "eve"], approvals=2)


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def board(server: LocalServer) -> AsyncGenerator[Board]:
    async with server.connect("ada") as each:
        yield each


@pytest.fixture
async def voted(board: Board) -> Board:
    """A board whose design is decided by two of three, as the first of them sees it."""
    await board.regions.set(Region("design", policy=Policy.QUORUM, electorate=TWO_OF_THREE))
    return board


async def first(watch: Watch[Commit], count: int) -> list[Entry]:
    """The entries of the first commits of a watch."""
    entries: list[Entry] = []
    async for commit in watch:
        entries += commit.entries
        count -= 1
        if not count:
            break
    return entries


async def test_a_region_comes_back_as_it_was_set(board: Board) -> None:
    electorate = Electorate(
        voters=(Voters("ada", 2.0, veto=True), Voters("team:dev"), Voters("*", 0.5)),
        share=0.75,
        deadline_seconds=90,
        groups_min=2,
        group_cap=1.5,
    )
    merging = Merging(
        number="mean",
        category="plurality",
        collection="union",
        record="select",
        text="lines",
        fields={"plan/effort": "max"},
        threshold=0.25,
        group_cap=2.0,
        reconcilers=("ada", "team:dev"),
    )
    await board.regions.set(Region("q", policy=Policy.QUORUM, electorate=electorate))
    await board.regions.set(Region("w", policy=Policy.WEIGHTED, merging=merging))
    await board.regions.set(Region("o", policy=Policy.OWNER, owner="team:dev"))
    q, w, o = [await board.regions.get(path) for path in "qwo"]
    assert (q.policy, q.electorate, q.merging) == (Policy.QUORUM, electorate, None)
    assert (w.policy, w.electorate, w.merging) == (Policy.WEIGHTED, None, merging)
    assert (o.policy, o.owner) == (Policy.OWNER, "team:dev")
    assert (await board.regions.set(replace(q, owner="ada"))).electorate == electorate
    by_name = await board.regions.set(Region("n", policy=Policy.QUORUM, electorate=TWO_OF_THREE))
    assert by_name.electorate is not None
    assert by_name.electorate.voters == (Voters("ada"), Voters("bob"), Voters("eve"))


@pytest.mark.guarantee("C1")
async def test_a_proposal_is_voted_on_and_its_decision_says_why(voted: Board) -> None:
    proposal = await voted.propose("design", {"store": "log"}, confidence=0.9, tags=["draft"])
    assert (proposal.target, proposal.base_version, proposal.author) == ("design", 0, "ada")
    assert (proposal.value, proposal.deletes) == ({"store": "log"}, False)
    assert (proposal.outcome, proposal.is_open) == (Outcome.OPEN, True)
    assert proposal.deadline_at == proposal.proposed_at + timedelta(days=1)
    assert [(each.agent, each.weight) for each in proposal.electors] == [
        ("ada", 1.0),
        ("bob", 1.0),
        ("eve", 1.0),
    ]
    assert [proposal.awaits(name) for name in ("ada", "bob", "mia")] == [False, True, False]
    against = await voted.as_agent("eve").vote(
        proposal, Choice.REJECT, confidence=0.8, reason="too slow"
    )
    assert against.reason == "1 of 3 accept, at least 2 needed"
    decided = await voted.as_agent("bob").vote(against, Choice.ACCEPT)
    assert (decided.outcome, decided.is_open) == (Outcome.ACCEPTED, False)
    assert decided.decided_by == f"{proposal.key}/@bob@1"
    dissent = decided.ballot("eve")
    assert dissent is not None
    assert (dissent.choice, dissent.confidence, dissent.reason) == (
        Choice.REJECT,
        0.8,
        "too slow",
    )
    entry = await voted.get("design")
    assert (entry.value, entry.revision, entry.author) == (
        {"store": "log"},
        decided.decided_revision,
        "ada",
    )
    assert entry.basis == {"decision": {"ballot": decided.decided_by, "proposal": proposal.key}}
    assert await voted.proposals.get(proposal.key) == decided
    assert (await voted.proposals.get(proposal.key, at=1)).outcome is Outcome.OPEN


async def test_any_write_there_says_that_it_became_a_proposal(voted: Board) -> None:
    put = await voted.put("design", "log")
    assert (put.kind, put.change, put.exists) == (Kind.PROPOSAL, ChangeType.PROPOSED, True)
    assert await voted.find("design") is None
    await voted.as_agent("bob").vote(await voted.proposals.get(put.key), Choice.ACCEPT)

    updated = await voted.update("design", lambda value: f"{value} and index")
    patched = await voted.commit(Put("design/notes", "x"), Put("elsewhere", "y"))
    deleted = await voted.propose_delete("design", expected_version=1)
    assert updated.kind is Kind.PROPOSAL
    assert [each.kind for each in patched.results] == [Kind.PROPOSAL, Kind.NOTE]
    assert (await voted.proposals.get(updated.key)).value == "log and index"
    assert (deleted.deletes, deleted.value, deleted.base_version) == (True, None, 1)
    ended = await voted.as_agent("eve").vote(deleted, Choice.ACCEPT)
    superseded = await voted.proposals.get(updated.key)
    assert (ended.outcome, superseded.outcome) == (Outcome.ACCEPTED, Outcome.SUPERSEDED)
    assert await voted.find("design") is None


async def test_one_voice_that_is_enough_decides_at_once(board: Board) -> None:
    await board.regions.set(
        Region("goal", policy=Policy.QUORUM, electorate=Electorate(["ada"], approvals=1))
    )
    written = await board.put("goal", "a game")
    assert (written.kind, written.change, written.exists) == (
        Kind.PROPOSAL,
        ChangeType.DECIDED,
        False,
    )
    assert (await board.get("goal")).value == "a game"
    assert (await board.propose("goal", "a better game")).outcome is Outcome.ACCEPTED


@pytest.mark.guarantee("C2")
async def test_a_ballot_is_about_what_was_seen_and_refused_by_its_class(voted: Board) -> None:
    bob = voted.as_agent("bob")
    proposal = await voted.propose("design", "log")
    with pytest.raises(ContentMismatch):
        await bob.vote(replace(proposal, content_hash="0" * 64), Choice.ACCEPT)
    with pytest.raises(ContentMismatch):
        await bob.vote(replace(proposal, base_version=7), Choice.ACCEPT)
    with pytest.raises(NotAVoter):
        await voted.as_agent("mia").vote(proposal, Choice.ACCEPT)
    await bob.vote(proposal, Choice.ACCEPT)
    with pytest.raises(PollClosed) as closed:
        await voted.as_agent("eve").vote(proposal, Choice.REJECT)
    assert closed.value.outcome == Outcome.ACCEPTED
    with pytest.raises(Conflict):
        await voted.propose("design", "tree", expected_version=0)


async def test_what_nobody_votes_on_or_merges_is_refused_by_its_class(board: Board) -> None:
    await board.regions.set(
        Region("never", policy=Policy.QUORUM, electorate=Electorate(["ada"], approvals=2))
    )
    with pytest.raises(QuorumImpossible):
        await board.put("never", 1)
    with pytest.raises(NotVoted):
        await board.propose("free", 1)
    with pytest.raises(NotMerged):
        await board.claim("free", 1)


async def test_a_proposal_is_withdrawn_with_a_reason(voted: Board) -> None:
    proposal = await voted.propose("design", "log")
    ended = await voted.withdraw(proposal, reason="I was wrong")
    assert (ended.outcome, ended.reason) == (
        Outcome.WITHDRAWN,
        "withdrawn by ada: I was wrong",
    )
    with pytest.raises(PollClosed):
        await voted.withdraw(proposal)


async def test_proposals_are_listed_by_what_they_are_about_and_how_they_stand(
    voted: Board,
) -> None:
    bob = voted.as_agent("bob")
    first = await voted.propose("design/api", "rest")
    await voted.commit(*(Put(f"design/part/{number:03}", number) for number in range(120)))
    await bob.vote(first, Choice.ACCEPT)
    open_ones = [each async for each in voted.proposals.list(outcomes=[Outcome.OPEN])]
    assert [each.value for each in open_ones] == list(range(120))
    accepted = [each async for each in voted.proposals.list(outcomes=[Outcome.ACCEPTED])]
    assert [each.key for each in accepted] == [first.key]
    about = [each async for each in voted.proposals.list("design/*")]
    assert [each.target for each in about] == ["design/api"]
    assert [each async for each in voted.proposals.list(awaiting_me=True)] == []
    assert len([each async for each in bob.proposals.list("design/**", awaiting_me=True)]) == 120
    early = [each async for each in bob.proposals.list(awaiting_me=True, at=1)]
    assert [each.key for each in early] == [first.key]


async def test_a_decision_is_waited_for(server: LocalServer, voted: Board) -> None:
    proposal = await voted.propose("design", "log")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(voted.proposals.wait(proposal, timeout=30))
        by_key = group.create_task(voted.as_agent("eve").proposals.wait(proposal.key))
        await voted.as_agent("bob").vote(proposal, Choice.ACCEPT)
    assert waiting.result().outcome is Outcome.ACCEPTED
    assert by_key.result() == waiting.result()
    later = await voted.propose("design", "tree")
    with pytest.raises(NotInTime, match=r"was not decided within 0\.05 s: 1 of 3 accept"):
        await voted.proposals.wait(later, timeout=0.05)
    await server.clock.advance(86_400)
    ended = await voted.proposals.wait(later, timeout=30)
    assert (ended.outcome, ended.decided_by) == (Outcome.UNDECIDED, "")


async def test_a_wait_for_a_decision_goes_on_over_a_restart(tmp_path: Path) -> None:
    async with testing.start(data_dir=tmp_path) as server, server.connect("ada") as ada:
        await ada.regions.set(Region("design", policy=Policy.QUORUM, electorate=TWO_OF_THREE))
        proposal = await ada.propose("design", "log")
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(ada.proposals.wait(proposal))
            await server.stop()
            await server.start()
            await ada.as_agent("bob").vote(proposal, Choice.ACCEPT)
    assert waiting.result().outcome is Outcome.ACCEPTED


@pytest.mark.guarantee("C1")
async def test_of_many_who_vote_at_once_one_decides_and_the_rest_come_too_late(
    board: Board,
) -> None:
    names = [f"voter{number:02}" for number in range(32)]
    electorate = Electorate(names, approvals=20)
    await board.regions.set(Region("design", policy=Policy.QUORUM, electorate=electorate))
    proposal = await board.propose("design", "log")
    votes = [board.as_agent(name).vote(proposal, Choice.ACCEPT) for name in names]
    outcomes = await asyncio.gather(*votes, return_exceptions=True)
    decided = [each for each in outcomes if isinstance(each, lavagna.Proposal) and not each.is_open]
    late = [each for each in outcomes if isinstance(each, PollClosed)]
    assert (len(decided), len(late)) == (1, 12)
    assert len(decided[0].ballots) == 20
    assert await board.proposals.get(proposal.key) == decided[0]
    async with board.watch(Target("design/**", changes=[ChangeType.DECIDED]), after=0) as watch:
        (end,) = await first(watch, 1)
    assert end.revision == (await board.get("design")).revision == 21


async def test_waiting_for_an_entry_looks_at_notes_alone(voted: Board) -> None:
    await voted.propose("design/a", 1)
    decided = await voted.propose("design/b", 2)
    await voted.as_agent("bob").vote(decided, Choice.ACCEPT)
    found = await voted.wait("true", on="design/**", timeout=10)
    assert found.key == "design/b"


async def test_what_is_decided_is_watched_and_read_by_its_kind(voted: Board) -> None:
    proposal = await voted.propose("design", "log")
    await voted.as_agent("bob").vote(proposal, Choice.ACCEPT, reason="good")
    async with voted.watch("design/**", after=0) as watch:
        seen = [(each.revision, each.kind, each.change) for each in await first(watch, 2)]
    assert seen == [
        (1, Kind.PROPOSAL, ChangeType.PROPOSED),
        (1, Kind.BALLOT, ChangeType.CREATED),
        (2, Kind.BALLOT, ChangeType.CREATED),
        (2, Kind.PROPOSAL, ChangeType.DECIDED),
        (2, Kind.NOTE, ChangeType.CREATED),
    ]
    decisions = Target("design/*", kinds=[Kind.PROPOSAL], changes=[ChangeType.DECIDED])
    async with voted.watch(decisions, after=0) as watch:
        (entry,) = await first(watch, 1)
    assert (entry.exists, entry.basis["poll"]["outcome"]) == (False, "accepted")

    ballot = await voted.get(f"{proposal.key}/@bob", kind=Kind.BALLOT)
    assert ballot.value["reason"] == "good"
    assert await voted.find(f"{proposal.key}/@bob") is None
    listed = [each.author async for each in voted.entries("design/**", kind=Kind.BALLOT)]
    assert listed == ["ada", "bob"]
    versions = [each.change async for each in voted.history(proposal.key, kind=Kind.PROPOSAL)]
    assert versions == [ChangeType.DECIDED, ChangeType.PROPOSED]
    several = await voted.batch_get([proposal.key, "design"], at=1, kind=Kind.PROPOSAL)
    assert [*several] == [proposal.key]
    (difference,) = await voted.diff("design/*", 1, kind=Kind.PROPOSAL)
    assert (difference.key, difference.after) == (proposal.key, None)
    found = await voted.wait(
        "entry.value.reason == 'good'", on="design/**", timeout=10, kind=Kind.BALLOT
    )
    assert found.key == ballot.key


async def test_a_decision_is_explained_with_its_dissent(voted: Board) -> None:
    proposal = await voted.propose("design", "log")
    await voted.as_agent("eve").vote(proposal, Choice.REJECT, reason="too slow")
    waiting = await voted.explain(proposal.key)
    assert waiting.entry is None
    assert waiting.proposal is not None
    assert waiting.proposal.is_open
    await voted.as_agent("bob").vote(proposal, Choice.ACCEPT)
    told = await voted.explain("design")
    assert told.proposal == await voted.proposals.get(proposal.key)
    assert "eve (weight 1): reject: too slow" in told.lines
    assert {each.agent: each.polls for each in told.judgements} == {"ada": 1, "bob": 1, "eve": 1}
    with pytest.raises(NotFound):
        await voted.explain("nothing")


async def test_nothing_private_is_proposed_or_claimed(voted: Board) -> None:
    private = voted.private
    for attempt in (
        private.propose("design", "secret"),
        private.propose_delete("design"),
        private.claim("effort", 1),
        private.withdraw("effort"),
        private.explain("design"),
    ):
        with pytest.raises(Invalid, match="a private space has no regions"):
            await attempt
    with pytest.raises(Invalid, match="a private space has no regions"):
        _ = private.proposals
    with pytest.raises(Invalid, match="a private space has no regions"):
        _ = private.claims


async def test_the_result_of_work_can_be_a_proposal_and_a_claim(voted: Board) -> None:
    await voted.regions.set(Region("effort", policy=Policy.WEIGHTED))
    planner = Agent("bob")
    results: list[lavagna.Committed] = []

    @planner.on("goal")
    async def plan(work: Work) -> None:
        await work.board.claim("effort", 5)
        results.append(
            await work.complete([Put("design", "log"), Put("effort", 8, confidence=0.5)])
        )

    async with planner.joined(voted):
        await voted.put("goal", "a game")
        await voted.wait("entry.value == 8", on="effort", timeout=20)
    (committed,) = results
    assert [(each.kind, each.exists) for each in committed.results] == [
        (Kind.PROPOSAL, True),
        (Kind.CLAIM, True),
    ]
    proposal = await voted.get(committed.results[0].key, kind=Kind.PROPOSAL)
    assert proposal.cause is not None
    assert proposal.cause.trigger_id == "bob.plan"
