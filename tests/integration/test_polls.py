"""Votes in the engine: electorates, early stops, ties, deadlines, and what moves a base."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.consensus.polls import Choice, Outcome
from lavagna_server.domain.entries import ChangeType, Kind
from lavagna_server.domain.errors import (
    ContentMismatch,
    NotAVoter,
    PollClosed,
    QuorumImpossible,
)
from lavagna_server.domain.regions import Electorate, Policy, Voters
from lavagna_server.engine.engine import Engine
from tests.desks import json_value
from tests.voters import Voter, electorate, newest, stand, voter


@pytest.mark.guarantee("C1")
@pytest.mark.guarantee("C3")
async def test_the_deciding_ballot_the_decision_and_its_effect_are_one_revision(ada: Voter) -> None:
    proposal = await ada.propose("design", {"store": "log"}, confidence=0.9)
    assert await newest(ada, "design") is None
    decided = await voter(ada.engine, "bob").vote(proposal, confidence=0.7, reason="simple")

    design = await ada.get("design")
    poll = stand(decided)
    assert (poll.outcome, poll.reason) == (
        Outcome.ACCEPTED,
        "2 of 3 accept, more than 1.5 needed",
    )
    assert [(each.voter, each.choice, each.confidence) for each in poll.ballots] == [
        ("ada", Choice.ACCEPT, 0.9),
        ("bob", Choice.ACCEPT, 0.7),
    ]
    assert (design.author, design.version, design.confidence) == ("ada", 1, 0.9)
    assert design.revision == decided.newest.revision
    assert poll.decided_by == f"{proposal.newest.key}/@bob@1"
    assert json.loads(design.basis) == {
        "decision": {"ballot": poll.decided_by, "proposal": proposal.newest.key}
    }
    assert decided.newest.change is ChangeType.DECIDED
    (_, last) = await ada.commits()
    assert [(each.kind, each.key) for each in last.entries] == [
        (Kind.BALLOT, f"{proposal.newest.key}/@bob"),
        (Kind.PROPOSAL, proposal.newest.key),
        (Kind.NOTE, "design"),
    ]
    assert decided.opened.value == json_value({"store": "log"})


@pytest.mark.guarantee("C1")
@pytest.mark.field_report("F26")
async def test_one_ballot_counts_per_member_by_retry_and_by_a_change_of_mind(ada: Voter) -> None:
    root = voter(ada.engine, "root", Role.ADMIN)
    names = ("ada", "bob", "cyd", "dee", "eve")
    await root.region("design", policy=Policy.QUORUM, electorate=electorate(*names, approvals=3))
    proposal = await ada.propose("design", "log")
    bob = voter(ada.engine, "bob")

    await bob.vote(proposal)
    again = await bob.vote(proposal)
    changed = await bob.vote(proposal, Choice.REJECT, reason="thought again")

    assert stand(again).outcome is Outcome.OPEN
    assert [each.version for each in changed.ballots if each.author == "bob"] == [3]
    assert stand(await voter(ada.engine, "cyd").vote(proposal)).outcome is Outcome.OPEN
    assert stand(await voter(ada.engine, "dee").vote(proposal)).outcome is Outcome.ACCEPTED


@pytest.mark.field_report("F26")
async def test_who_is_no_member_has_no_vote_and_changes_nothing(ada: Voter) -> None:
    proposal = await ada.propose("design", "log")
    before = len(await ada.commits())

    with pytest.raises(NotAVoter, match="zed is not in the electorate of design/000000000001-000"):
        await voter(ada.engine, "zed").vote(proposal)
    assert len(await ada.commits()) == before


@pytest.mark.field_report("F26")
@pytest.mark.guarantee("C1")
async def test_a_vote_after_the_decision_is_refused(ada: Voter) -> None:
    proposal = await ada.propose("design", "log")
    await voter(ada.engine, "bob").vote(proposal)
    before = len(await ada.commits())

    with pytest.raises(PollClosed, match="is accepted: 2 of 3 accept"):
        await voter(ada.engine, "cyd").vote(proposal, Choice.REJECT)
    assert len(await ada.commits()) == before


@pytest.mark.field_report("F26")
@pytest.mark.guarantee("C3")
async def test_an_even_split_at_its_deadline_is_undecided_with_the_dissent_on_record(
    ada: Voter, clock: ManualClock
) -> None:
    root = voter(ada.engine, "root", Role.ADMIN)
    terms = electorate("ada", "bob", "cyd", "dee", "eve", deadline=timedelta(minutes=5))
    await root.region("design", policy=Policy.QUORUM, electorate=terms)
    proposal = await ada.propose("design", "log")
    await voter(ada.engine, "bob").vote(proposal, Choice.REJECT, reason="too slow")
    await clock.advance(300)

    poll = stand(await ada.proposal(proposal))
    assert (poll.outcome, poll.reason, poll.decided_by) == (
        Outcome.UNDECIDED,
        "the deadline came first: 1 of 5 accept, more than 2.5 needed",
        "",
    )
    assert [(each.voter, each.reason) for each in poll.ballots if each.choice is Choice.REJECT] == [
        ("bob", "too slow")
    ]
    assert await newest(ada, "design") is None


@pytest.mark.guarantee("C3")
async def test_a_tie_is_undecided_and_no_win(ada: Voter) -> None:
    root = voter(ada.engine, "root", Role.ADMIN)
    terms = electorate("ada", "bob", "cyd", "dee", share=0.5)
    await root.region("design", policy=Policy.QUORUM, electorate=terms)
    proposal = await ada.propose("design", "log")
    await voter(ada.engine, "bob").vote(proposal)
    await voter(ada.engine, "cyd").vote(proposal, Choice.REJECT)
    tied = await voter(ada.engine, "dee").vote(proposal, Choice.REJECT)

    assert (stand(tied).outcome, stand(tied).reason) == (
        Outcome.UNDECIDED,
        "a tie: 2 accept, 2 reject",
    )
    assert await newest(ada, "design") is None


@pytest.mark.guarantee("C3")
async def test_it_is_rejected_as_soon_as_it_cannot_be_accepted_any_more(ada: Voter) -> None:
    proposal = await ada.propose("design", "log")
    await voter(ada.engine, "bob").vote(proposal, Choice.ABSTAIN)
    rejected = await voter(ada.engine, "cyd").vote(proposal, Choice.REJECT)

    assert stand(rejected).outcome is Outcome.UNDECIDED
    second = await ada.propose("design", "log")
    await voter(ada.engine, "bob").vote(second, Choice.REJECT)
    assert stand(await ada.proposal(second)).outcome is Outcome.OPEN
    ended = await voter(ada.engine, "cyd").vote(second, Choice.REJECT)
    assert stand(ended).outcome is Outcome.REJECTED


@pytest.mark.guarantee("C3")
async def test_it_is_rejected_while_one_has_yet_to_vote_who_could_change_nothing(
    ada: Voter,
) -> None:
    proposal = await voter(ada.engine, "zed").propose("design", "log")
    await voter(ada.engine, "bob").vote(proposal, Choice.REJECT)
    ended = await voter(ada.engine, "cyd").vote(proposal, Choice.REJECT)

    assert (stand(ended).outcome, len(stand(ended).ballots)) == (Outcome.REJECTED, 2)
    with pytest.raises(PollClosed):
        await ada.vote(proposal)


@pytest.mark.guarantee("C1")
async def test_the_electorate_is_that_of_the_moment_in_which_it_was_proposed(ada: Voter) -> None:
    proposal = await ada.propose("design", "log")
    root = voter(ada.engine, "root", Role.ADMIN)
    await root.region("design", policy=Policy.QUORUM, electorate=electorate("zed"))

    with pytest.raises(NotAVoter):
        await voter(ada.engine, "zed").vote(proposal)
    assert stand(await voter(ada.engine, "bob").vote(proposal)).outcome is Outcome.ACCEPTED


@pytest.mark.guarantee("C2")
async def test_votes_bind_to_content_and_to_the_base(ada: Voter) -> None:
    proposal = await ada.propose("design", "log")
    bob = voter(ada.engine, "bob")
    with pytest.raises(ContentMismatch, match="look at it again"):
        await bob.vote(proposal, content_hash="0" * 64)
    with pytest.raises(ContentMismatch, match="look at it again"):
        await bob.vote(proposal, base_version=1)
    other = await ada.propose("design", "tree")

    assert stand(other).content_hash != stand(proposal).content_hash
    assert stand(await bob.vote(proposal)).outcome is Outcome.ACCEPTED


@pytest.mark.guarantee("C2")
async def test_what_was_proposed_for_an_older_version_is_superseded_in_the_revision_that_moved_it(
    ada: Voter,
) -> None:
    first = await ada.propose("design", "log")
    second = await voter(ada.engine, "bob").propose("design", "tree")
    accepted = await voter(ada.engine, "cyd").vote(second)

    loser = await ada.proposal(first)
    assert (await ada.get("design")).value == json_value("tree")
    assert stand(loser).outcome is Outcome.SUPERSEDED
    assert stand(loser).reason == "design moved on to version 1"
    assert loser.newest.revision == accepted.newest.revision
    with pytest.raises(PollClosed):
        await voter(ada.engine, "cyd").vote(first)


@pytest.mark.guarantee("C2")
@pytest.mark.parametrize("choice", Choice)
async def test_a_base_that_moved_under_another_policy_supersedes_at_any_vote(
    ada: Voter, choice: Choice
) -> None:
    proposal = await ada.propose("design", "log")
    root = voter(ada.engine, "root", Role.ADMIN)
    await root.region("design", policy=Policy.LATEST)
    await root.put("design", "by decree")
    late = await voter(ada.engine, "bob").vote(proposal, choice)

    assert stand(late).outcome is Outcome.SUPERSEDED
    assert stand(late).reason == "design moved on to version 1"
    assert stand(late).decided_by == ""
    assert (await ada.get("design")).value == json_value("by decree")


@pytest.mark.guarantee("C2")
async def test_a_base_that_moved_under_another_policy_supersedes_at_the_deadline(
    ada: Voter, clock: ManualClock
) -> None:
    proposal = await ada.propose("design", "log")
    root = voter(ada.engine, "root", Role.ADMIN)
    await root.region("design", policy=Policy.LATEST)
    await root.put("design", "by decree")
    await clock.advance(86_400)

    assert stand(await ada.proposal(proposal)).outcome is Outcome.SUPERSEDED


@pytest.mark.guarantee("C1")
async def test_a_vote_that_comes_after_the_deadline_but_before_its_decision_does_not_count(
    ada: Voter, clock: ManualClock
) -> None:
    proposal = await ada.propose("design", "log")
    clock.jump(86_400)  # as when the machine slept: nobody has looked at the time yet

    with pytest.raises(PollClosed, match="is open: its deadline has come"):
        await voter(ada.engine, "bob").vote(proposal)
    await clock.advance(0)
    assert stand(await ada.proposal(proposal)).outcome is Outcome.UNDECIDED
    assert await newest(ada, "design") is None


@pytest.mark.guarantee("C1")
async def test_of_two_that_are_accepted_at_one_deadline_the_older_wins(
    ada: Voter, clock: ManualClock
) -> None:
    root = voter(ada.engine, "root", Role.ADMIN)
    voters = (Voters("ada"), Voters("bob"), Voters("eve", veto=True))
    terms = Electorate(voters, deadline=timedelta(minutes=1))
    await root.region("design", policy=Policy.QUORUM, electorate=terms)
    proposals = [await ada.propose("design", text) for text in ("log", "tree")]
    for each in reversed(proposals):
        await voter(ada.engine, "bob").vote(each)
    await clock.advance(60)

    older, younger = [await ada.proposal(each) for each in proposals]
    assert (stand(older).outcome, stand(younger).outcome) == (
        Outcome.ACCEPTED,
        Outcome.SUPERSEDED,
    )
    assert older.newest.revision == younger.newest.revision
    assert (await ada.get("design")).value == json_value("log")


@pytest.mark.parametrize("share", [0.0, 2 / 3, 1.0])
async def test_where_nobody_votes_nothing_can_be_proposed(ada: Voter, share: float) -> None:
    root = voter(ada.engine, "root", Role.ADMIN)
    terms = electorate("team:nobody", share=share)
    await root.region("design", policy=Policy.QUORUM, electorate=terms)

    with pytest.raises(QuorumImpossible):
        await ada.propose("design", "log")


@pytest.mark.guarantee("C1")
async def test_a_team_a_role_and_everybody_vote_as_they_are_registered(engine: Engine) -> None:
    root = voter(engine, "root", Role.ADMIN)
    for name, role, teams in (
        ("ada", Role.AGENT, ("core",)),
        ("bob", Role.AGENT, ()),
        ("cyd", Role.ADMIN, ("core",)),
        ("olga", Role.OBSERVER, ("core",)),
    ):
        await engine.agents.register(root.call(), name, role, teams)
    electorates: dict[str, list[str]] = {}
    for name in ("team:core", "role:agent", "role:admin", "*"):
        await root.region("design", policy=Policy.QUORUM, electorate=electorate(name))
        proposal = await voter(engine, "bob").propose(f"design/{len(electorates)}", 1)
        electorates[name] = [each.agent for each in stand(proposal).electors]

    assert electorates == {
        "team:core": ["ada", "cyd"],
        "role:agent": ["ada", "bob"],
        "role:admin": ["cyd"],
        "*": ["ada", "bob", "cyd"],
    }


@pytest.mark.guarantee("C1")
async def test_whose_access_ended_is_in_no_electorate_even_by_name(engine: Engine) -> None:
    root = voter(engine, "root", Role.ADMIN)
    for name, role in (("ada", Role.AGENT), ("bob", Role.AGENT), ("olga", Role.OBSERVER)):
        await engine.agents.register(root.call(), name, role, ())
    await engine.agents.revoke(root.call(), "bob")
    named = electorate("ada", "bob", "olga", "unknown")
    await root.region("design", policy=Policy.QUORUM, electorate=named)
    proposal = await voter(engine, "ada").propose("design", 1)

    assert [each.agent for each in stand(proposal).electors] == ["ada", "unknown"]
