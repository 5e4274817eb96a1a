"""Proposals and ballots: what a voter says, and how a poll stands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TypeAlias

from lavagna.v1 import consensus_pb2
from lavagna_server.domain.agents import Caller
from lavagna_server.domain.consensus.polls import Ballot, Elector, Outcome
from lavagna_server.domain.entries import EntryId, Kind, Operation, Request, SpaceName
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import normal_key
from lavagna_server.domain.limits import Limits
from lavagna_server.engine.consensus import Proposal, ProposalRead, ProposalsRead, Vote
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.rpc.codec.changes import change_from_wire, confidence_from_wire
from lavagna_server.rpc.codec.checks import check_bytes, not_negative, required
from lavagna_server.rpc.codec.enums import CHOICES, OUTCOMES
from lavagna_server.rpc.codec.pages import next_place, next_token
from lavagna_server.rpc.codec.spaces import header
from lavagna_server.rpc.codec.times import moment_to_wire, optional_moment
from lavagna_server.rpc.codec.values import value_to_wire

WAIT_MAX = timedelta(seconds=60)
HASH_CHARACTERS_MAX = 128

Reading: TypeAlias = (
    consensus_pb2.GetProposalRequest
    | consensus_pb2.ListProposalsRequest
    | consensus_pb2.ListClaimsRequest
    | consensus_pb2.ExplainRequest
)


def request_from_wire(
    message: consensus_pb2.ProposeRequest, *, board: str, limits: Limits
) -> Request:
    """What a caller proposes."""
    required(message.HasField("change"), field="change")
    change = change_from_wire(message.change, field="change", limits=limits)
    if change.operation is Operation.APPEND:
        raise Invalid("change", "propose a put, a patch or a deletion; an append names no entry")
    return Request(SpaceName(board), (change,), request_id=message.request_id, is_single=True)


def vote_from_wire(message: consensus_pb2.VoteRequest, *, limits: Limits) -> Vote:
    """What a voter says.

    Raises:
        Invalid: Naming the field.
    """
    required(
        0 < len(message.content_hash) <= HASH_CHARACTERS_MAX,
        field="content_hash",
        rule="name the content hash of the proposal that you looked at",
    )
    return Vote(
        proposal_key(message.proposal_key, limits=limits),
        CHOICES.from_wire(message.choice, field="choice"),
        confidence_from_wire(message.confidence, field="confidence")
        if message.HasField("confidence")
        else None,
        reason_from_wire(message.reason, limits=limits),
        message.content_hash,
        not_negative(message.base_version, field="base_version"),
    )


def proposal_key(text: str, *, limits: Limits) -> str:
    """The key of a proposal, in its normal form."""
    return normal_key(text, field="proposal_key", limits=limits)


def reason_from_wire(text: str, *, limits: Limits) -> str:
    """Why, in the caller's words."""
    check_bytes(text, limits.reason_bytes_max, field="reason", limit="reason_bytes_max")
    return text


def outcomes_from_wire(numbers: Sequence[int]) -> frozenset[Outcome]:
    """Which outcomes a caller asks for."""
    return OUTCOMES.set_from_wire(numbers, field="outcomes")


def read_point(message: Reading) -> ReadPoint:
    """At which revision a caller wants to read."""
    return ReadPoint(
        not_negative(message.at_revision, field="at_revision"),
        not_negative(message.min_revision, field="min_revision"),
    )


def proposals_place(
    message: consensus_pb2.ListProposalsRequest, caller: Caller
) -> tuple[ReadPoint, EntryId | None]:
    """At which revision a page is read, and after which proposal."""
    point = read_point(message)
    return next_place(message.page_token, message, caller, kind=Kind.PROPOSAL, point=point)


def proposals_response(
    read: ProposalsRead, request: consensus_pb2.ListProposalsRequest, caller: Caller
) -> consensus_pb2.ListProposalsResponse:
    """A page of proposals."""
    return consensus_pb2.ListProposalsResponse(
        header=header(read.space, read.at, revision=read.revision),
        proposals=[proposal_to_wire(each) for each in read.proposals],
        next_page_token=next_token(read, request, caller),
    )


def propose_response(read: ProposalRead) -> consensus_pb2.ProposeResponse:
    """What a write became."""
    return consensus_pb2.ProposeResponse(
        header=header(read.space, read.at), proposal=proposal_to_wire(read.proposal)
    )


def vote_response(read: ProposalRead) -> consensus_pb2.VoteResponse:
    """The poll after a ballot."""
    return consensus_pb2.VoteResponse(
        header=header(read.space, read.at), proposal=proposal_to_wire(read.proposal)
    )


def withdraw_response(read: ProposalRead) -> consensus_pb2.WithdrawResponse:
    """A proposal that was taken back."""
    return consensus_pb2.WithdrawResponse(
        header=header(read.space, read.at), proposal=proposal_to_wire(read.proposal)
    )


def get_response(read: ProposalRead) -> consensus_pb2.GetProposalResponse:
    """One proposal."""
    return consensus_pb2.GetProposalResponse(
        header=header(read.space, read.at, revision=read.revision),
        proposal=proposal_to_wire(read.proposal),
    )


def wait_response(read: ProposalRead) -> consensus_pb2.WaitProposalResponse:
    """One proposal, once it is decided."""
    return consensus_pb2.WaitProposalResponse(
        header=header(read.space, read.at, revision=read.revision),
        proposal=proposal_to_wire(read.proposal),
    )


def proposal_to_wire(proposal: Proposal) -> consensus_pb2.Proposal:
    """The proposal as a message."""
    opened, newest, poll = proposal.opened, proposal.newest, proposal.poll
    is_value = poll.operation is not Operation.DELETE and opened.value is not None
    return consensus_pb2.Proposal(
        key=newest.key,
        target_key=poll.target,
        base_version=poll.base_version,
        deletes=poll.operation is Operation.DELETE,
        value=value_to_wire(opened.value) if is_value and opened.value else None,
        content_hash=poll.content_hash,
        author=poll.author,
        propose_time=moment_to_wire(opened.committed_at),
        deadline_time=optional_moment(proposal.deadline),
        electors=[_elector(each) for each in poll.electors],
        threshold=poll.threshold,
        strict=poll.strict,
        groups_min=poll.groups_min,
        outcome=OUTCOMES.to_wire(poll.outcome),
        reason=poll.reason,
        ballots=[_ballot(each) for each in poll.ballots],
        decided_by=poll.decided_by,
        decided_revision=0 if newest.exists else newest.revision,
    )


def _elector(elector: Elector) -> consensus_pb2.Elector:
    return consensus_pb2.Elector(
        agent=elector.agent, weight=elector.weight, group=elector.group, veto=elector.veto
    )


def _ballot(ballot: Ballot) -> consensus_pb2.Ballot:
    return consensus_pb2.Ballot(
        agent=ballot.voter,
        choice=CHOICES.to_wire(ballot.choice),
        confidence=ballot.confidence,
        reason=ballot.reason,
        version=ballot.version,
    )
