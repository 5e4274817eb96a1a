"""Claims: what an agent holds to be true, and what turned out to be."""

from __future__ import annotations

import math

from lavagna.v1 import consensus_pb2
from lavagna_server.domain.agents import Caller
from lavagna_server.domain.consensus.resolving import Truth
from lavagna_server.domain.entries import EntryId, Kind, Operation, Request, SpaceName
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import normal_key
from lavagna_server.domain.limits import Limits
from lavagna_server.engine.claims import Claimed, Resolved
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.engine.reads import EntriesRead
from lavagna_server.rpc.codec.changes import change_from_wire
from lavagna_server.rpc.codec.checks import required
from lavagna_server.rpc.codec.consensus import read_point
from lavagna_server.rpc.codec.entries import entry_to_wire
from lavagna_server.rpc.codec.pages import next_place, next_token
from lavagna_server.rpc.codec.spaces import header
from lavagna_server.rpc.codec.values import value_from_wire


def claim_from_wire(message: consensus_pb2.ClaimRequest, *, board: str, limits: Limits) -> Request:
    """What a caller claims.

    Raises:
        Invalid: Naming the field.
    """
    required(message.HasField("change"), field="change")
    change = change_from_wire(message.change, field="change", limits=limits)
    if change.operation not in {Operation.PUT, Operation.PATCH}:
        raise Invalid("change", "claim a put, or a patch of your claim; withdraw it with Withdraw")
    return Request(SpaceName(board), (change,), request_id=message.request_id, is_single=True)


def truth_from_wire(message: consensus_pb2.ResolveRequest, *, limits: Limits) -> Truth:
    """What a caller says is true.

    Raises:
        Invalid: Naming the field.
    """
    required(message.HasField("value"), field="value")
    if not 0 <= message.tolerance < math.inf:  # also false for NaN
        raise Invalid("tolerance", f"must be finite and not negative, not {message.tolerance}")
    return Truth(
        normal_key(message.key, field="key", limits=limits),
        value_from_wire(message.value, field="value", limits=limits),
        message.tolerance,
    )


def claim_response(claimed: Claimed) -> consensus_pb2.ClaimResponse:
    """A claim, and what became of the entry."""
    name = claimed.space.name
    return consensus_pb2.ClaimResponse(
        header=header(claimed.space, claimed.at),
        claim=entry_to_wire(claimed.claim, name),
        merged=None if claimed.merged is None else entry_to_wire(claimed.merged, name),
    )


def withdraw_response(claimed: Claimed) -> consensus_pb2.WithdrawResponse:
    """What the claims that are left come to."""
    merged = claimed.merged
    return consensus_pb2.WithdrawResponse(
        header=header(claimed.space, claimed.at),
        merged=None if merged is None else entry_to_wire(merged, claimed.space.name),
    )


def resolve_response(resolved: Resolved) -> consensus_pb2.ResolveResponse:
    """Whose claims were right."""
    return consensus_pb2.ResolveResponse(
        header=header(resolved.space, resolved.at),
        entry=entry_to_wire(resolved.entry, resolved.space.name),
        right=resolved.right,
        wrong=resolved.wrong,
    )


def claims_place(
    message: consensus_pb2.ListClaimsRequest, caller: Caller
) -> tuple[ReadPoint, EntryId | None]:
    """At which revision a page is read, and after which claim."""
    point = read_point(message)
    return next_place(message.page_token, message, caller, kind=Kind.CLAIM, point=point)


def claims_response(
    read: EntriesRead, request: consensus_pb2.ListClaimsRequest, caller: Caller
) -> consensus_pb2.ListClaimsResponse:
    """A page of claims."""
    return consensus_pb2.ListClaimsResponse(
        header=header(read.space, read.at, revision=read.revision),
        claims=[entry_to_wire(entry, read.space.name) for entry in read.entries],
        next_page_token=next_token(read, request, caller),
    )
