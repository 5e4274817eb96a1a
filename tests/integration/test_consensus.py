"""Proposals in the engine: what becomes of writes where others have a say, and who learns of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.consensus.polls import Choice, Outcome, poll_of
from lavagna_server.domain.entries import ChangeType, Kind
from lavagna_server.domain.errors import (
    Exhausted,
    Invalid,
    NotAWriter,
    NotFound,
    NotVoted,
    PermissionDenied,
    PollClosed,
    QuorumImpossible,
    StaleVersion,
)
from lavagna_server.domain.keys import EVERYTHING
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.regions import Electorate, Policy, Voters
from lavagna_server.domain.standings import Standing
from lavagna_server.engine.engine import Engine, EngineOptions
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.storage.ephemeral import EphemeralStore
from tests.desks import delete, entries_of, in_one_group, json_value, put, running
from tests.voters import Voter, electorate, stand, voter


async def test_the_authors_vote_can_be_enough(engine: Engine) -> None:
    root, ada = voter(engine, "root", Role.ADMIN), voter(engine, "ada")
    await root.region("design", policy=Policy.QUORUM, electorate=electorate("ada"))
    written = await ada.commit(put("design", "log"))

    assert [(each.kind, each.change) for each in entries_of(written)] == [
        (Kind.PROPOSAL, ChangeType.DECIDED),
        (Kind.BALLOT, ChangeType.CREATED),
        (Kind.NOTE, ChangeType.CREATED),
    ]
    assert written.plan.answers == 1
    assert (await ada.get("design")).value == json_value("log")


async def test_any_write_there_proposes_and_a_retry_proposes_once(ada: Voter) -> None:
    await ada.commit(put("design", "log"), put("notes", "free"))
    page = await ada.engine.consensus.list(
        ada.caller,
        EVERYTHING,
        outcomes=frozenset({Outcome.OPEN}),
        voter="",
        point=ReadPoint(),
        after=None,
        size=10,
    )

    assert [each.newest.key for each in page.proposals] == ["design/000000000001-000"]
    assert (await ada.get("notes")).value == json_value("free")


async def test_a_deletion_is_voted_on_too(ada: Voter) -> None:
    bob = voter(ada.engine, "bob")
    await bob.vote(await ada.propose("design", "log"))
    written = await ada.commit(delete("design"))
    (proposal, *_) = entries_of(written)
    found = await ada.engine.consensus.get(ada.caller, proposal.key, ReadPoint())
    await bob.vote(found.proposal)

    with pytest.raises(NotFound):
        await ada.get("design")


async def test_a_veto_rejects_and_acceptance_waits_for_its_holder(
    engine: Engine, clock: ManualClock
) -> None:
    root, ada = voter(engine, "root", Role.ADMIN), voter(engine, "ada")
    terms = Electorate(
        (Voters("ada"), Voters("bob"), Voters("eve", veto=True)), deadline=timedelta(minutes=1)
    )
    await root.region("design", policy=Policy.QUORUM, electorate=terms)
    bob, eve = voter(engine, "bob"), voter(engine, "eve")
    first = await ada.propose("design", "log")
    waiting = await bob.vote(first)
    vetoed = await eve.vote(waiting, Choice.REJECT, reason="unsafe")
    second = await bob.vote(await ada.propose("design", "tree"))
    await clock.advance(60)

    assert stand(waiting).outcome is Outcome.OPEN
    assert (stand(vetoed).outcome, stand(vetoed).reason) == (Outcome.REJECTED, "vetoed by eve")
    assert stand(await ada.proposal(second)).outcome is Outcome.ACCEPTED
    assert (await ada.get("design")).value == json_value("tree")


async def test_weights_groups_and_caps_count(engine: Engine) -> None:
    root, ada = voter(engine, "root", Role.ADMIN), voter(engine, "ada")
    copies = [f"copy{number}" for number in range(1, 6)]
    for name in copies:
        standing = Standing(root.board, name, group="one-model", version=0)
        await engine.agents.set_standing(root.call(), standing, expected_version=0)
    terms = Electorate(
        (Voters("ada", 2.0), *(Voters(name) for name in copies), Voters("bob")),
        approvals=2.0,
        groups_min=2,
        group_cap=2.0,
    )
    await root.region("design", policy=Policy.QUORUM, electorate=terms)
    proposal = await voter(engine, "copy1").propose("design", "log")
    for name in copies[1:]:
        proposal = await voter(engine, name).vote(proposal)

    weights = {each.agent: each.weight for each in stand(proposal).electors}
    assert weights == {"ada": 2.0, "bob": 1.0} | dict.fromkeys(copies, 0.4)
    assert stand(proposal).outcome is Outcome.OPEN
    assert stand(await voter(engine, "bob").vote(proposal)).outcome is Outcome.ACCEPTED
    lone = await ada.propose("design", "tree")
    assert stand(lone).outcome is Outcome.OPEN  # two of weight, but of one group


@pytest.mark.guarantee("C5")
async def test_the_owner_writes_and_everyone_else_proposes_to_it(engine: Engine) -> None:
    root, ceo, ada = voter(engine, "root", Role.ADMIN), voter(engine, "ceo"), voter(engine, "ada")
    await root.region("goal", policy=Policy.OWNER, owner="ceo")
    await ceo.put("goal", "a game")
    proposal = await ada.propose("goal", "a better game", expected=1)
    accepted = await ceo.vote(proposal)
    refused = await ceo.vote(await ada.propose("goal", "no game"), Choice.REJECT)

    assert [each.agent for each in stand(proposal).electors] == ["ceo"]
    assert stand(accepted).outcome is Outcome.ACCEPTED
    assert stand(refused).outcome is Outcome.REJECTED
    assert (await ada.get("goal")).value == json_value("a better game")
    with pytest.raises(NotVoted, match="the policy there is owner"):
        await ceo.propose("goal", "mine anyway")


async def test_a_stale_base_is_refused_before_anything_is_proposed(ada: Voter) -> None:
    await voter(ada.engine, "bob").vote(await ada.propose("design", "log"))

    with pytest.raises(StaleVersion):
        await ada.propose("design", "tree", expected=0)


async def test_an_electorate_that_can_never_agree_is_refused(engine: Engine) -> None:
    root, ada = voter(engine, "root", Role.ADMIN), voter(engine, "ada")
    for terms in (electorate("team:nobody"), electorate("ada", approvals=2)):
        await root.region("design", policy=Policy.QUORUM, electorate=terms)
        with pytest.raises(QuorumImpossible, match="nothing can be accepted in region design"):
            await ada.propose("design", "log")
    assert await ada.commits() == []


async def test_open_proposals_about_one_key_are_bounded(clock: ManualClock) -> None:
    options = EngineOptions(limits=Limits(proposals_per_key_max=2))
    async with running(EphemeralStore(), clock, options=options) as engine:
        root, ada = voter(engine, "root", Role.ADMIN), voter(engine, "ada")
        await root.region("design", policy=Policy.QUORUM, electorate=electorate("ada", "bob"))
        first = await ada.propose("design", 1)
        await ada.propose("design", 2)
        with pytest.raises(Exhausted, match="proposals_per_key_max is limited to 2"):
            await ada.propose("design", 3)
        await engine.consensus.withdraw(ada.call(), first.newest.key, reason="", token="")
        await ada.propose("design", 3)


async def test_only_its_author_or_an_administrator_withdraws(ada: Voter) -> None:
    proposal = await ada.propose("design", "log")
    key, engine = proposal.newest.key, ada.engine
    bob = voter(engine, "bob")
    with pytest.raises(PermissionDenied, match="ada's to withdraw"):
        await engine.consensus.withdraw(bob.call(), key, reason="", token="")
    ended = await engine.consensus.withdraw(ada.call(), key, reason="premature", token="")

    poll = stand(ended.proposal)
    assert (poll.outcome, poll.reason) == (Outcome.WITHDRAWN, "withdrawn by ada: premature")
    with pytest.raises(PollClosed):
        await engine.consensus.withdraw(ada.call(), key, reason="", token="")
    other = await ada.propose("design", "tree")
    await bob.vote(other)
    with pytest.raises(PermissionDenied, match="ada's to withdraw"):  # whoever decided on it
        await engine.consensus.withdraw(bob.call(), other.newest.key, reason="", token="")


async def test_who_may_not_write_there_may_not_propose(engine: Engine) -> None:
    root, ada = voter(engine, "root", Role.ADMIN), voter(engine, "ada")
    terms = electorate("bob")
    await root.region("design", policy=Policy.QUORUM, writers=("bob",), electorate=terms)

    with pytest.raises(NotAWriter):
        await ada.propose("design", "log")


@pytest.mark.guarantee("S8")
async def test_a_proposal_where_one_may_not_read_does_not_exist(engine: Engine) -> None:
    root, bob, eve = (voter(engine, name) for name in ("root", "bob", "eve"))
    root.role = Role.ADMIN
    terms = electorate("bob", "eve", "cyd")
    readers = ("bob", "cyd")
    await root.region("design", policy=Policy.QUORUM, readers=readers, electorate=terms)
    proposal = await bob.propose("design", "log")

    for attempt in (eve.vote(proposal), eve.proposal(proposal), eve.propose("design", "tree")):
        with pytest.raises(NotFound):
            await attempt
    # Who may write but not read puts into the urn, and is told no more than that.
    written = await eve.commit(put("design", "tree"))
    assert written.plan.unseen == frozenset(each.id for each in entries_of(written))


async def test_a_schema_that_changed_meanwhile_supersedes(ada: Voter) -> None:
    proposal = await ada.propose("design", "log")
    root = voter(ada.engine, "root", Role.ADMIN)
    terms = electorate("ada", "bob", "cyd")
    schema = '{"type": "object"}'
    await root.region("design", policy=Policy.QUORUM, electorate=terms, schema_json=schema)
    late = await voter(ada.engine, "bob").vote(proposal)

    assert stand(late).outcome is Outcome.SUPERSEDED
    assert "the schema changed since" in stand(late).reason
    with pytest.raises(Invalid):
        await ada.propose("design", "a text")


async def test_expiry_of_the_entry_supersedes_what_was_proposed_for_it(
    ada: Voter, clock: ManualClock
) -> None:
    bob = voter(ada.engine, "bob")
    await bob.vote(await ada.propose("design", "log", ttl=timedelta(minutes=1)))
    assert (await ada.get("design")).expires_at is not None
    proposal = await ada.propose("design", "tree")
    await clock.advance(60)

    assert stand(await ada.proposal(proposal)).outcome is Outcome.SUPERSEDED
    with pytest.raises(NotFound):
        await ada.get("design")


@pytest.mark.guarantee("C1")
async def test_thirty_two_votes_at_once_come_to_one_decision_in_one_revision(
    engine: Engine,
) -> None:
    root = voter(engine, "root", Role.ADMIN)
    names = [f"v{number:02d}" for number in range(32)]
    terms = electorate(*names, approvals=20)
    await root.region("design", policy=Policy.QUORUM, electorate=terms)
    proposal = await voter(engine, names[0]).propose("design", "log")
    votes = [voter(engine, name).vote(proposal) for name in names[1:]]
    results = await in_one_group(engine, *votes)

    refused = [each for each in results if isinstance(each, PollClosed)]
    decisions = [
        (commit.revision, entry.change)
        for commit in await root.commits()
        for entry in commit.entries
        if entry.change is ChangeType.DECIDED or entry.kind is Kind.NOTE
    ]
    poll = stand(await root.proposal(proposal))
    assert len(refused) == 12
    assert decisions == [(20, ChangeType.DECIDED), (20, ChangeType.CREATED)]
    assert len(poll.ballots) == 20


async def test_proposing_and_deciding_fire_triggers(ada: Voter) -> None:
    bob = voter(ada.engine, "bob")
    await bob.trigger("to-vote", "design/{proposal}", changes={ChangeType.PROPOSED})
    await ada.trigger("outcome", "design/{proposal}", changes={ChangeType.DECIDED})
    proposal = await ada.propose("design", "log")
    to_vote = await bob.acquire_one()
    await bob.vote(proposal)
    decided = await ada.acquire_one()

    assert to_vote.entry is not None
    assert to_vote.entry.id == proposal.newest.id
    assert decided.entry is not None
    assert poll_of(decided.entry).outcome is Outcome.ACCEPTED


async def test_the_ballots_of_others_and_their_effects_are_no_own_writes(ada: Voter) -> None:
    """Bob's vote decides for Ada's design: that wakes Bob, who did not write it, and not Ada."""
    bob = voter(ada.engine, "bob")
    for desk in (ada, bob):
        await desk.trigger(f"on-design-{desk.agent}", "design")
    await bob.vote(await ada.propose("design", "log"))

    assert await ada.acquire() == ()
    assert len(await bob.acquire()) == 1


async def test_the_deciding_voters_own_gate_opens_too(ada: Voter) -> None:
    """Bob's vote brings Ada's plan, which Bob's work waits for: that is Ada's doing, and none of Bob's own."""
    bob = voter(ada.engine, "bob")
    for desk in (ada, bob):
        await desk.trigger(
            f"gate-{desk.agent}", "tasks/{task}", reads=("design",), when="'design' in board"
        )
    await voter(ada.engine, "cyd").put("tasks/1", "wait for the design")
    await bob.vote(await ada.propose("design", "log"))

    assert await ada.acquire() == ()
    assert len(await bob.acquire()) == 1


async def test_a_gate_counts_notes_and_neither_proposals_nor_ballots(ada: Voter) -> None:
    await ada.trigger("gate", "start", reads=("design/**",), when="size(board) >= 2")
    await ada.put("start", 1)
    await voter(ada.engine, "bob").propose("design/a", 1)
    await ada.propose("design/b", 2)

    assert await ada.acquire() == ()


async def test_a_conditions_on_a_decision_can_look_at_how_it_came_about(ada: Voter) -> None:
    await ada.trigger(
        "lost",
        "design/*",
        changes={ChangeType.DECIDED},
        when="entry.basis.poll.outcome == 'rejected'",
    )
    for choice in (Choice.ACCEPT, Choice.REJECT):
        proposal = await ada.propose("design", choice.value)
        await voter(ada.engine, "bob").vote(proposal, choice)
        if choice is Choice.REJECT:
            await voter(ada.engine, "cyd").vote(proposal, choice)
    fired = await ada.acquire(most=10)

    assert [each.activation.bind for each in fired] == [{}]
