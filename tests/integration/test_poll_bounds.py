"""Polls within bounds: of what an entry, a page and a record may hold, of who may vote, and of when something may still be said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.consensus.polls import Ballot, Choice, Outcome, poll_basis
from lavagna_server.domain.entries import EntryId, Kind
from lavagna_server.domain.errors import Exhausted, NotAVoter, PollClosed, QuorumImpossible
from lavagna_server.domain.keys import EVERYTHING
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.regions import Electorate, Policy, Voters
from lavagna_server.engine.consensus import Proposal, ProposalsRead
from lavagna_server.engine.engine import Engine, EngineOptions
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.storage.ephemeral import EphemeralStore
from tests.desks import Desk, entries_of, json_value, put, running
from tests.integration.conftest import OpenStore
from tests.voters import Voter, electorate, newest, stand, voter

REASON = "r" * Limits().reason_bytes_max
BASIS_BYTES_MAX = 256 << 10


async def page(desk: Desk, *, after: EntryId | None = None, awaited: bool = False) -> ProposalsRead:
    """A page of all proposals."""
    return await desk.engine.consensus.list(
        desk.caller,
        EVERYTHING,
        outcomes=frozenset(),
        voter=desk.agent if awaited else "",
        point=ReadPoint(),
        after=after,
        size=1_000,
    )


async def pages(desk: Desk) -> Sequence[tuple[Proposal, ...]]:
    """All pages of all proposals."""
    read = await page(desk)
    found = [read.proposals]
    while read.next_after is not None:
        read = await page(desk, after=read.next_after)
        found.append(read.proposals)
    return found


@pytest.mark.guarantee("C1")
async def test_a_decision_rests_on_who_voted_how_and_the_reasons_stay_in_the_ballots(
    ada: Voter,
) -> None:
    proposal = await ada.propose("design", "log", confidence=0.5)
    decided = await voter(ada.engine, "bob").vote(proposal, reason=REASON)

    assert json.loads(decided.newest.basis)["poll"]["ballots"] == [
        {"choice": "accept", "confidence": 0.5, "version": 1, "voter": "ada"},
        {"choice": "accept", "confidence": None, "version": 1, "voter": "bob"},
    ]
    for read in (decided, await ada.proposal(proposal)):
        assert [each.reason for each in stand(read).ballots] == ["proposed it", REASON]


@pytest.mark.guarantee("C1")
async def test_what_the_largest_decision_rests_on_is_bounded(engine: Engine) -> None:
    root = voter(engine, "root", Role.ADMIN)
    names = [f"v{number:03d}".ljust(63, "x") for number in range(Limits().electors_max)]
    for path, more in (("design", ()), ("other", ("one-more",))):
        terms = electorate(*names, *more, approvals=1)
        await root.region(path, policy=Policy.QUORUM, electorate=terms)
    proposal = await root.propose("design", "log")
    with pytest.raises(Exhausted, match="electors_max is limited to 500"):
        await root.propose("other", "log")

    ballots = tuple(Ballot(name, Choice.ABSTAIN, 0.1 + 0.2, REASON, 10**6) for name in names)
    decided = replace(stand(proposal), ballots=ballots, reason=REASON)
    assert len(poll_basis(decided).encode()) < BASIS_BYTES_MAX


@pytest.mark.guarantee("S8")
async def test_who_may_not_read_is_never_told_by_a_limit_that_a_proposal_waits(
    open_store: OpenStore, clock: ManualClock
) -> None:
    options = EngineOptions(limits=Limits(proposals_per_key_max=2))
    async with running(open_store(), clock, options=options) as engine:
        root, bob, eve = (voter(engine, name) for name in ("root", "bob", "eve"))
        root.role = Role.ADMIN
        terms = electorate("bob", deadline=timedelta(minutes=1))
        await root.region("urn", policy=Policy.QUORUM, readers=("bob",), electorate=terms)
        keys = [entries_of(await eve.commit(put("urn", number)))[0].key for number in range(2)]
        both = await eve.commit(put("urn", 2), put("urn", 3))

        assert both.plan.answers == 2
        assert both.plan.unseen == {each.id for each in entries_of(both)}
        outcomes = {each.newest.key: stand(each) for each in (await page(bob)).proposals}
        assert [outcomes[key].outcome for key in keys] == [Outcome.WITHDRAWN] * 2
        assert {outcomes[key].reason for key in keys} == {"its author has proposed 2 times since"}
        waiting = [each for each, poll in outcomes.items() if poll.outcome is Outcome.OPEN]
        assert waiting == [each.key for each in entries_of(both)[:2]]
        clock.jump(60)  # nobody has looked at the time yet: it decides on what gives way now
        await eve.commit(put("urn", 4))
        read = {each.newest.key: stand(each).outcome for each in (await page(bob)).proposals}
        assert read[waiting[0]] is Outcome.UNDECIDED


async def test_proposals_of_one_commit_count_for_the_limit_too(clock: ManualClock) -> None:
    options = EngineOptions(limits=Limits(proposals_per_key_max=2))
    async with running(EphemeralStore(), clock, options=options) as engine:
        root, ada = voter(engine, "root", Role.ADMIN), voter(engine, "ada")
        await root.region("design", policy=Policy.QUORUM, electorate=electorate("ada", "bob"))
        with pytest.raises(Exhausted, match="proposals_per_key_max is limited to 2"):
            await ada.commit(*(put("design", number) for number in range(3)))
        await ada.commit(put("design", 0), put("design", 1), put("design/other", 2))


async def test_a_page_of_proposals_is_bounded_in_bytes(ada: Voter) -> None:
    large = "x" * (1 << 19)
    for _ in range(3):
        await ada.propose("design", large)
    for each in await pages(ada):
        assert len(each) == 1
    await ada.propose("design", "small")
    assert [len(each) for each in await pages(ada)] == [1, 1, 2]


async def test_what_is_decided_at_once_keeps_what_was_proposed_and_its_deadline(
    engine: Engine,
) -> None:
    root, ada = voter(engine, "root", Role.ADMIN), voter(engine, "ada")
    terms = electorate("ada", deadline=timedelta(minutes=5))
    await root.region("design", policy=Policy.QUORUM, electorate=terms)
    more = {"tags": ("t",), "confidence": 0.5, "sources": ("s",)}
    alone = await ada.propose("design", "log", **more)
    first, second = entries_of(await ada.commit(put("design", "tree"), put("design", "heap")))[:2]

    assert alone.opened.value == json_value("log")
    kept = (alone.newest.tags, alone.newest.confidence, alone.newest.sources)
    assert kept == (("t",), 0.5, ("s",))
    assert alone.deadline == alone.opened.committed_at + timedelta(minutes=5)
    for entry, value, outcome in (
        (first, "tree", Outcome.ACCEPTED),
        (second, "heap", Outcome.SUPERSEDED),
    ):
        read = (await engine.consensus.get(ada.caller, entry.key, ReadPoint())).proposal
        assert (read.opened.value, stand(read).outcome) == (json_value(value), outcome)
        assert not read.newest.exists
        assert entry.version == 1
    listed = await engine.reads.list(
        ada.caller, ada.shared, frozenset({Kind.PROPOSAL}), EVERYTHING,
        tags=frozenset(), point=ReadPoint(), after=None, size=10, keys_only=False,
    )  # fmt: skip
    assert listed.entries == ()


async def test_only_those_who_may_read_are_electors(engine: Engine) -> None:
    root, ada, bob = voter(engine, "root", Role.ADMIN), voter(engine, "ada"), voter(engine, "bob")
    voters = (Voters("*"), Voters("ada"), Voters("bob"), Voters("cyd", veto=True), Voters("own"))
    for name, teams in (("dee", ("crew",)), ("eli", ())):
        await engine.agents.register(root.call(), name, Role.AGENT, teams)
    terms = Electorate(voters, approvals=2.0)
    rules = {"policy": Policy.QUORUM, "owner": "own", "electorate": terms}
    await root.region("design", readers=("ada", "team:crew"), **rules)
    proposal = await ada.propose("design", "log")
    assert [each.agent for each in stand(proposal).electors] == ["ada", "dee", "own"]

    await root.region("open", readers=("*",), **rules)
    proposal = await ada.propose("open", "log")
    assert [each.agent for each in stand(proposal).electors] == [
        "ada", "bob", "cyd", "dee", "eli", "own",
    ]  # fmt: skip
    blind = electorate("bob", "cyd", approvals=1)
    await root.region("shut", policy=Policy.QUORUM, readers=("ada",), electorate=blind)
    with pytest.raises(QuorumImpossible):
        await bob.commit(put("shut", "log"))


async def test_nothing_that_is_decided_awaits_anybody(ada: Voter) -> None:
    cyd = voter(ada.engine, "cyd")
    open_, decided = [await ada.propose(f"design/{name}", "log") for name in ("a", "b")]
    await voter(ada.engine, "bob").vote(decided)

    awaited = await page(cyd, awaited=True)
    assert [each.newest.key for each in awaited.proposals] == [open_.newest.key]


@pytest.mark.guarantee("C1")
async def test_the_electorate_stays_as_it_was_when_the_proposal_was_made(engine: Engine) -> None:
    root, ada, cyd = voter(engine, "root", Role.ADMIN), voter(engine, "ada"), voter(engine, "cyd")
    await root.region("goal", policy=Policy.OWNER, owner="ada")
    proposal = await voter(engine, "bob").propose("goal", "a game")
    await root.region("goal", policy=Policy.OWNER, owner="cyd")

    with pytest.raises(NotAVoter):
        await cyd.vote(proposal)
    assert stand(await ada.vote(proposal)).outcome is Outcome.ACCEPTED
    other = await voter(engine, "bob").propose("goal", "no game")
    await cyd.put("goal", "my game")  # the new owner has the last word: whatever waits is off
    assert stand(await ada.proposal(other)).outcome is Outcome.SUPERSEDED


@pytest.mark.guarantee("C2")
@pytest.mark.parametrize("policy", [Policy.LATEST, Policy.GUARDED, Policy.WEIGHTED])
async def test_a_vote_changes_nothing_where_none_is_asked_for_any_more(
    ada: Voter, policy: Policy
) -> None:
    proposal = await ada.propose("design", "log")
    await voter(ada.engine, "root", Role.ADMIN).region("design", policy=policy)
    ended = stand(await voter(ada.engine, "bob").vote(proposal))

    assert (ended.outcome, ended.reason) == (
        Outcome.SUPERSEDED,
        f"nobody votes on design any more: the policy there is {policy.value}",
    )
    assert await newest(ada, "design") is None


@pytest.mark.guarantee("C1")
async def test_what_time_decides_cannot_be_withdrawn_any_more(
    ada: Voter, clock: ManualClock
) -> None:
    root = voter(ada.engine, "root", Role.ADMIN)
    voters = (Voters("ada"), Voters("bob"), Voters("eve", veto=True))
    await root.region("design", policy=Policy.QUORUM, electorate=Electorate(voters))
    proposal = await voter(ada.engine, "bob").vote(await ada.propose("design", "log"))
    key = proposal.newest.key
    clock.jump(86_400)  # nobody has looked at the time yet

    with pytest.raises(PollClosed, match="is open: its deadline has come"):
        await ada.engine.consensus.withdraw(ada.call(), key, reason="", token="")
    await clock.advance(0)
    assert stand(await ada.proposal(proposal)).outcome is Outcome.ACCEPTED
    assert (await ada.get("design")).value == json_value("log")
