"""Proposals, claims and explanations from the wire."""

from __future__ import annotations

from lavagna.checks import checked_choice
from lavagna.clients.region_codec import policy_of
from lavagna.entries import entry_of
from lavagna.explanations import CalibrationBucket, Contribution, Explanation, Judgement
from lavagna.proposals import Ballot, Choice, Elector, Outcome, Proposal
from lavagna.times import optional_time, time_of
from lavagna.v1 import consensus_pb2 as wire
from lavagna.values import decoded

_CHOICES = {
    Choice.ACCEPT: wire.CHOICE_ACCEPT,
    Choice.REJECT: wire.CHOICE_REJECT,
    Choice.ABSTAIN: wire.CHOICE_ABSTAIN,
}
_CHOICE_OF = {number: choice for choice, number in _CHOICES.items()}
_OUTCOMES = {
    Outcome.OPEN: wire.OUTCOME_OPEN,
    Outcome.ACCEPTED: wire.OUTCOME_ACCEPTED,
    Outcome.REJECTED: wire.OUTCOME_REJECTED,
    Outcome.UNDECIDED: wire.OUTCOME_UNDECIDED,
    Outcome.SUPERSEDED: wire.OUTCOME_SUPERSEDED,
    Outcome.WITHDRAWN: wire.OUTCOME_WITHDRAWN,
}
_OUTCOME_OF = {number: outcome for outcome, number in _OUTCOMES.items()}


def choice_number(choice: Choice) -> wire.Choice.ValueType:
    """The choice as the wire has it.

    Raises:
        Invalid: It is none, or is unknown.
    """
    return checked_choice(choice, _CHOICES, field="choice")


def outcome_number(outcome: Outcome) -> wire.Outcome.ValueType:
    """The outcome as the wire has it.

    Raises:
        Invalid: It is none, or is unknown.
    """
    return checked_choice(outcome, _OUTCOMES, field="outcomes")


def proposal_of(message: wire.Proposal) -> Proposal:
    """The proposal that the wire holds."""
    return Proposal(
        key=message.key,
        target=message.target_key,
        base_version=message.base_version,
        deletes=message.deletes,
        value=decoded(message.value),
        content_hash=message.content_hash,
        author=message.author,
        proposed_at=time_of(message.propose_time),
        deadline_at=optional_time(message, "deadline_time"),
        electors=tuple(
            Elector(each.agent, each.weight, each.group, each.veto) for each in message.electors
        ),
        threshold=message.threshold,
        strict=message.strict,
        groups_min=message.groups_min,
        outcome=_OUTCOME_OF.get(message.outcome, Outcome.UNKNOWN),
        reason=message.reason,
        ballots=tuple(_ballot_of(each) for each in message.ballots),
        decided_by=message.decided_by,
        decided_revision=message.decided_revision,
    )


def _ballot_of(message: wire.Ballot) -> Ballot:
    return Ballot(
        agent=message.agent,
        choice=_CHOICE_OF.get(message.choice, Choice.UNKNOWN),
        confidence=message.confidence if message.HasField("confidence") else None,
        reason=message.reason,
        version=message.version,
    )


def explanation_of(message: wire.ExplainResponse) -> Explanation:
    """The explanation that the wire holds."""
    return Explanation(
        revision=message.header.revision,
        entry=entry_of(message.entry) if message.HasField("entry") else None,
        policy=policy_of(message.policy),
        rule=message.rule,
        contributions=tuple(_contribution_of(each) for each in message.contributions),
        dissent=tuple(message.dissent),
        conflicts=message.conflicts,
        open=message.open,
        proposal=proposal_of(message.proposal) if message.HasField("proposal") else None,
        judgements=tuple(_judgement_of(each) for each in message.judgements),
        lines=tuple(message.lines),
    )


def _contribution_of(message: wire.Contribution) -> Contribution:
    return Contribution(
        claim=entry_of(message.claim) if message.HasField("claim") else None,
        agent=message.agent,
        group=message.group,
        trust=message.trust,
        confidence=message.confidence,
        calibrated=message.calibrated,
        strength=message.strength,
        before_cap=message.before_cap,
        weight=message.weight,
        supports=message.supports,
        agreement=message.agreement,
    )


def _judgement_of(message: wire.Judgement) -> Judgement:
    return Judgement(
        agent=message.agent,
        calibration=tuple(_bucket_of(each) for each in message.calibration),
        reliability=message.reliability if message.HasField("reliability") else None,
        polls=message.polls,
    )


def _bucket_of(message: wire.CalibrationBucket) -> CalibrationBucket:
    return CalibrationBucket(
        low=message.low,
        high=message.high,
        claims=message.claims,
        stated=message.stated if message.HasField("stated") else None,
        seen=message.seen if message.HasField("seen") else None,
        used=message.used,
    )
