"""Activations from the wire."""

from __future__ import annotations

from lavagna.activations import Activation, ActivationState, Beat, Lease
from lavagna.checks import checked_choice
from lavagna.entries import entry_of, space_of
from lavagna.names import last_part
from lavagna.times import optional_time, seconds_of, time_of
from lavagna.v1 import activations_pb2 as wire

_STATES = {
    ActivationState.WAITING: wire.ACTIVATION_STATE_WAITING,
    ActivationState.HELD: wire.ACTIVATION_STATE_HELD,
    ActivationState.LEASED: wire.ACTIVATION_STATE_LEASED,
    ActivationState.COMPLETED: wire.ACTIVATION_STATE_COMPLETED,
    ActivationState.OBVIATED: wire.ACTIVATION_STATE_OBVIATED,
    ActivationState.DEAD: wire.ACTIVATION_STATE_DEAD,
    ActivationState.CANCELLED: wire.ACTIVATION_STATE_CANCELLED,
    ActivationState.EXPIRED: wire.ACTIVATION_STATE_EXPIRED,
    ActivationState.OVERRUN: wire.ACTIVATION_STATE_OVERRUN,
}
_STATE_OF = {number: state for state, number in _STATES.items()}


def state_number(state: ActivationState) -> wire.ActivationState.ValueType:
    """The state as the wire has it.

    Raises:
        Invalid: It is none, or is unknown.
    """
    return checked_choice(state, _STATES, field="states")


def activation_of(message: wire.Activation) -> Activation:
    """The activation that the wire holds."""
    return Activation(
        id=last_part(message.name),
        trigger_id=last_part(message.trigger_name),
        space=space_of(message.space),
        state=_STATE_OF.get(message.state, ActivationState.UNKNOWN),
        key=message.key,
        bind=dict(message.bind),
        rating=message.rating,
        fired_revision=message.fired_revision,
        fired_at=time_of(message.fire_time),
        slot_at=optional_time(message, "slot_time"),
        late=message.late,
        attempt=message.attempt,
        attempts_max=message.attempts_max,
        fence=message.fence,
        holder=message.holder,
        lease_expires_at=optional_time(message, "lease_expire_time"),
        depth=message.depth,
        parent_id=last_part(message.parent_name),
        not_before=optional_time(message, "not_before_time"),
        reason=message.reason,
        finished_at=optional_time(message, "finish_time"),
        completed_revision=message.completed_revision,
    )


def lease_of(message: wire.LeasedActivation) -> Lease:
    """The lease that the wire holds."""
    return Lease(
        activation=activation_of(message.activation),
        token=message.token,
        entry=entry_of(message.entry) if message.HasField("entry") else None,
        old=entry_of(message.old) if message.HasField("old") else None,
        lease_seconds=seconds_of(message.lease),
    )


def beat_of(message: wire.HeartbeatResult) -> Beat:
    """The answer to a heartbeat that the wire holds."""
    expires_at = optional_time(message, "lease_expire_time")
    return Beat(message.token, expires_at, message.lost_reason)
