"""Regions, proposals and explanations between Python and the wire."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from google.protobuf.duration_pb2 import Duration

from lavagna import (
    Ballot,
    ChangeType,
    Choice,
    Elector,
    Electorate,
    Kind,
    Merging,
    Outcome,
    Policy,
    Region,
    Voters,
)
from lavagna.clients.consensus_codec import (
    choice_number,
    explanation_of,
    outcome_number,
    proposal_of,
)
from lavagna.clients.region_codec import region_message, region_of
from lavagna.entries import change_numbers, entry_of, kind_number, kind_of, written_of
from lavagna.times import timestamp
from lavagna.v1 import boards_pb2, consensus_pb2, entries_pb2

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def known(words: type[Choice | Outcome | Kind | ChangeType]) -> list[str]:
    """The words of an enum that a program can say."""
    return [word.value for word in words if word.value != "unknown"]


def test_every_word_has_its_number_in_the_contract() -> None:
    choices = [choice_number(Choice(word)) for word in known(Choice)]
    outcomes = [outcome_number(Outcome(word)) for word in known(Outcome)]
    kinds = [kind_number(Kind(word)) for word in known(Kind)]
    changes = change_numbers([ChangeType(word) for word in known(ChangeType)], field="changes")
    assert sorted(choices) == sorted(consensus_pb2.Choice.values())[1:]
    assert sorted(outcomes) == sorted(consensus_pb2.Outcome.values())[1:]
    assert sorted(kinds) == sorted(entries_pb2.Kind.values())[1:]
    assert sorted(changes) == sorted(entries_pb2.ChangeType.values())[1:]


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (entries_pb2.KIND_UNSPECIFIED, Kind.NOTE),
        (entries_pb2.KIND_NOTE, Kind.NOTE),
        (entries_pb2.KIND_PROPOSAL, Kind.PROPOSAL),
        (entries_pb2.KIND_BALLOT, Kind.BALLOT),
        (entries_pb2.KIND_CLAIM, Kind.CLAIM),
        (99, Kind.UNKNOWN),
    ],
)
def test_a_kind_is_known_or_said_to_be_unknown(
    number: entries_pb2.Kind.ValueType, kind: Kind
) -> None:
    assert kind_of(number) is kind


def test_an_entry_says_what_it_rests_on() -> None:
    message = entries_pb2.Entry(key="k", basis_json='{"decision":{"proposal":"k/1"}}')
    assert entry_of(message).basis == {"decision": {"proposal": "k/1"}}
    assert entry_of(entries_pb2.Entry(key="k")).basis == {}


def test_a_result_says_whether_it_is_about_a_proposal() -> None:
    message = entries_pb2.ChangeResult(
        key="k/1",
        kind=entries_pb2.KIND_PROPOSAL,
        version=1,
        change_type=entries_pb2.CHANGE_TYPE_DECIDED,
    )
    written = written_of(message, revision=7)
    assert (written.kind, written.change, written.exists) == (
        Kind.PROPOSAL,
        ChangeType.DECIDED,
        False,
    )


def test_a_proposal_comes_over_whole() -> None:
    proposal = proposal_of(
        consensus_pb2.Proposal(
            key="k/1",
            target_key="k",
            base_version=3,
            value=entries_pb2.Value(json="[1]"),
            content_hash="ab",
            author="ada",
            propose_time=timestamp(NOON, field="time"),
            electors=[consensus_pb2.Elector(agent="bob", weight=0.5, group="g", veto=True)],
            threshold=1.5,
            strict=True,
            groups_min=2,
            outcome=consensus_pb2.OUTCOME_REJECTED,
            reason="vetoed by bob",
            ballots=[
                consensus_pb2.Ballot(
                    agent="bob", choice=consensus_pb2.CHOICE_REJECT, confidence=0.0, version=2
                ),
                consensus_pb2.Ballot(agent="eve", choice=consensus_pb2.CHOICE_ABSTAIN, reason="?"),
            ],
            decided_by="k/1/@bob@2",
            decided_revision=9,
        )
    )
    assert (proposal.value, proposal.proposed_at, proposal.deadline_at) == ([1], NOON, None)
    assert proposal.electors == (Elector("bob", 0.5, "g", True),)
    assert proposal.ballots == (
        Ballot("bob", Choice.REJECT, 0.0, "", 2),
        Ballot("eve", Choice.ABSTAIN, None, "?", 0),
    )
    assert (proposal.threshold, proposal.strict, proposal.groups_min) == (1.5, True, 2)
    assert (proposal.outcome, proposal.decided_by, proposal.decided_revision) == (
        Outcome.REJECTED,
        "k/1/@bob@2",
        9,
    )
    assert not proposal.awaits("bob")


def test_what_this_sdk_is_too_old_to_know_is_unknown() -> None:
    message = consensus_pb2.Proposal(ballots=[consensus_pb2.Ballot()])
    proposal = proposal_of(message)
    assert (proposal.outcome, proposal.ballots[0].choice) == (Outcome.UNKNOWN, Choice.UNKNOWN)
    assert not proposal.is_open


def test_an_explanation_says_what_is_not_known() -> None:
    told = explanation_of(
        consensus_pb2.ExplainResponse(
            policy=boards_pb2.POLICY_WEIGHTED,
            rule="sum@1",
            contributions=[consensus_pb2.Contribution(agent="ada", weight=0.5, supports=True)],
            judgements=[
                consensus_pb2.Judgement(
                    agent="ada",
                    calibration=[consensus_pb2.CalibrationBucket(low=0.5, high=0.6, used=0.55)],
                ),
                consensus_pb2.Judgement(agent="bob", reliability=0.0, polls=3),
            ],
        )
    )
    assert (told.entry, told.proposal, told.policy) == (None, None, Policy.WEIGHTED)
    assert (told.contributions[0].claim, told.contributions[0].weight) == (None, 0.5)
    ada, bob = told.judgements
    assert (ada.reliability, ada.calibration[0].seen, ada.calibration[0].used) == (None, None, 0.55)
    assert (bob.reliability, bob.polls, bob.calibration) == (0.0, 3, ())


@pytest.mark.parametrize("policy", [policy for policy in Policy if policy is not Policy.UNKNOWN])
def test_a_region_comes_back_as_it_went(policy: Policy) -> None:
    region = Region(
        "plan",
        policy=policy,
        electorate=Electorate((Voters("ada", 2.0, veto=True),), approvals=1.5, deadline_seconds=60),
        merging=Merging(text="lines", fields={"effort": "max"}, threshold=0.0),
        version=3,
    )
    came = region_of(region_message(region))
    for field in ("path", "policy", "electorate", "merging", "version"):
        assert getattr(came, field) == getattr(region, field), field


def test_what_is_not_said_of_a_region_stays_unset() -> None:
    message = region_message(Region("plan"))
    assert not message.HasField("electorate")
    assert not message.HasField("merging")
    named = region_message(Region("plan", electorate=Electorate(["ada"]), merging=Merging()))
    assert not named.electorate.HasField("deadline")
    assert named.electorate.voters[0] == boards_pb2.Voters(name="ada", weight=0)
    assert not named.merging.HasField("threshold")
    said = Electorate(["ada"], deadline_seconds=0.5)
    assert region_message(Region("plan", electorate=said)).electorate.deadline == Duration(
        nanos=500_000_000
    )
