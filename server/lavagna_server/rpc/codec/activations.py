"""Activations as resources, and the leases on them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from lavagna.v1 import activations_pb2
from lavagna_server.domain.agenda import Activation, ActivationId
from lavagna_server.domain.agents import Caller
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.names import activation_name, parse_activation, trigger_name
from lavagna_server.domain.triggers import TriggerId, check_trigger_name
from lavagna_server.engine.activations import Acquired, Heartbeats
from lavagna_server.engine.grants import Leased
from lavagna_server.rpc.codec.checks import check_count, required
from lavagna_server.rpc.codec.entries import entry_to_wire
from lavagna_server.rpc.codec.enums import ACTIVATION_STATES
from lavagna_server.rpc.codec.pages import number_of, page_token, place_of
from lavagna_server.rpc.codec.spaces import header, space_to_wire
from lavagna_server.rpc.codec.times import moment_to_wire, optional_moment, span_to_wire

ACQUIRED_MAX = 100
"""Activations that one call may lease."""
TOKENS_MAX = 100
"""Leases that one heartbeat may extend."""
WAIT_MAX = timedelta(seconds=60)
"""How long a call may wait for something to happen."""


def activation_to_wire(activation: Activation) -> activations_pb2.Activation:
    """The activation as a message."""
    space, lease = activation.id.space, activation.lease
    parent = ActivationId(space, activation.parent) if activation.parent else None
    return activations_pb2.Activation(
        name=activation_name(activation.id),
        trigger_name=trigger_name(TriggerId(space, activation.trigger)),
        space=space_to_wire(space),
        state=ACTIVATION_STATES.to_wire(activation.state),
        key=activation.key,
        bind=activation.bind,
        rating=activation.rating,
        fired_revision=activation.fired_revision,
        fire_time=moment_to_wire(activation.fired_at),
        slot_time=optional_moment(activation.slot_at),
        late=activation.late,
        attempt=activation.attempt,
        attempts_max=activation.limits.attempts_max,
        fence=activation.fence,
        holder=activation.holder,
        lease_expire_time=None if lease is None else moment_to_wire(lease.expires_at),
        depth=activation.depth,
        parent_name=activation_name(parent) if parent else "",
        not_before_time=optional_moment(activation.not_before),
        reason=activation.reason,
        finish_time=optional_moment(activation.finished_at),
        completed_revision=activation.completed_revision,
    )


def acquire_response(acquired: Acquired) -> activations_pb2.AcquireResponse:
    """The work that was leased."""
    return activations_pb2.AcquireResponse(
        header=header(acquired.space, acquired.at),
        leases=[_leased(each) for each in acquired.leases],
    )


def wanted_triggers(request: activations_pb2.AcquireRequest, *, limits: Limits) -> frozenset[str]:
    """The triggers whose activations a caller wants; none means all."""
    names, maximum = request.trigger_ids, limits.triggers_per_agent_max
    check_count(names, maximum, field="trigger_ids", limit="triggers_per_agent_max")
    return frozenset(
        check_trigger_name(name, field=f"trigger_ids[{index}]") for index, name in enumerate(names)
    )


def required_token(token: str) -> str:
    """The lease token that a call cannot do without."""
    required(bool(token), field="activation_token", rule="give the token that Acquire returned")
    return token


def released_subject(request: activations_pb2.ReleaseRequest) -> tuple[str, ActivationId | None]:
    """What to release: a lease by its token, or a held activation by its name."""
    match request.WhichOneof("subject"):
        case "activation_token":
            return required_token(request.activation_token), None
        case "name":
            return "", parse_activation(request.name, field="name")
        case _:
            raise Invalid("subject", "give the token of a lease, or the name of a held activation")


def heartbeat_tokens(request: activations_pb2.HeartbeatRequest) -> Sequence[str]:
    """The leases to extend."""
    check_count(request.tokens, TOKENS_MAX, field="tokens", limit="tokens_max")
    if not request.tokens:
        raise Invalid("tokens", "give at least one token")
    return request.tokens


def heartbeat_response(heartbeats: Heartbeats) -> activations_pb2.HeartbeatResponse:
    """One answer per token."""
    return activations_pb2.HeartbeatResponse(
        header=header(heartbeats.space, heartbeats.at),
        results=[
            activations_pb2.HeartbeatResult(
                token=each.token,
                lease_expire_time=optional_moment(each.expires_at),
                lost_reason=each.lost_reason,
            )
            for each in heartbeats.results
        ],
    )


def activations_place(request: activations_pb2.ListActivationsRequest, caller: Caller) -> int:
    """Below which number a page begins; 0 for the first page."""
    place = place_of(request.page_token, request, caller, parts=1)
    return 0 if place is None else number_of(place[0])


def activations_response(
    page: Sequence[Activation],
    request: activations_pb2.ListActivationsRequest,
    caller: Caller,
    *,
    size: int,
    limits: Limits,
) -> activations_pb2.ListActivationsResponse:
    """A page of activations; a full one may go on."""
    response = activations_pb2.ListActivationsResponse()
    left = limits.page_bytes_max
    for index, activation in enumerate(page):
        message = activation_to_wire(activation)
        left -= message.ByteSize()
        if left < 0 and index:
            break
        response.activations.append(message)
    given = len(response.activations)
    if given and (given < len(page) or given == size):
        response.next_page_token = page_token(request, caller, page[given - 1].id.number)
    return response


def fail_response(activation: Activation) -> activations_pb2.FailResponse:
    """The activation as it now is."""
    return activations_pb2.FailResponse(activation=activation_to_wire(activation))


def release_response(activation: Activation) -> activations_pb2.ReleaseResponse:
    """The activation as it now is."""
    return activations_pb2.ReleaseResponse(activation=activation_to_wire(activation))


def hold_response(activation: Activation) -> activations_pb2.HoldResponse:
    """The activation as it now is."""
    return activations_pb2.HoldResponse(activation=activation_to_wire(activation))


def cancel_response(activation: Activation) -> activations_pb2.CancelResponse:
    """The activation as it now is."""
    return activations_pb2.CancelResponse(activation=activation_to_wire(activation))


def replay_response(activation: Activation) -> activations_pb2.ReplayResponse:
    """The activation as it now is."""
    return activations_pb2.ReplayResponse(activation=activation_to_wire(activation))


def _leased(leased: Leased) -> activations_pb2.LeasedActivation:
    activation = leased.activation
    assert activation.lease is not None
    space = activation.id.space
    return activations_pb2.LeasedActivation(
        activation=activation_to_wire(activation),
        token=str(activation.token),
        entry=None if leased.entry is None else entry_to_wire(leased.entry, space),
        old=None if leased.old is None else entry_to_wire(leased.old, space),
        lease=span_to_wire(activation.lease.duration),
    )
