"""Records of responses about polls: what is kept of one for a retry, and how it becomes whole again.

Every ballot's response tells the whole poll; kept as they are, those of n voters on one large value would be as many copies of it, and n times n ballots.
History holds all that, so a large response is recorded without it, and read again as of its own revision (S6).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from lavagna.v1 import consensus_pb2
from lavagna_server.engine.calls import Call, LeftOut
from lavagna_server.engine.consensus import ProposalRead
from lavagna_server.rpc.codec.consensus import proposal_to_wire

RECORD_BYTES_MAX = 16 << 10
"""A response of up to this many bytes is recorded whole."""

M = TypeVar(
    "M",
    consensus_pb2.ProposeResponse,
    consensus_pb2.VoteResponse,
    consensus_pb2.WithdrawResponse,
)


def briefly_recorded(call: Call[ProposalRead, M]) -> Call[ProposalRead, M]:
    """The call, of whose response only what history does not hold is recorded when it is large."""
    return replace(call, encode=_recorded, left_out=_left_out, restored=_restored)


def _recorded(response: M) -> bytes:
    if response.ByteSize() <= RECORD_BYTES_MAX:
        return response.SerializeToString()
    brief = type(response)()
    brief.CopyFrom(response)
    brief.proposal.ClearField("value")
    brief.proposal.ClearField("electors")
    brief.proposal.ClearField("ballots")
    return brief.SerializeToString()


def _left_out(response: M) -> LeftOut | None:
    """Somebody may vote on every proposal: one that names nobody was recorded briefly."""
    if response.proposal.electors:
        return None
    return LeftOut(response.proposal.key, response.header.revision)


def _restored(response: M, read: ProposalRead) -> M:
    told = proposal_to_wire(read.proposal)
    whole = type(response)()
    whole.CopyFrom(response)
    if told.HasField("value"):
        whole.proposal.value.CopyFrom(told.value)
    whole.proposal.electors.extend(told.electors)
    whole.proposal.ballots.extend(told.ballots)
    return whole
