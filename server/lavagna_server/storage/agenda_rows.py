"""Activations as rows, and rows as activations: each undoes the other."""

from __future__ import annotations

import json
from datetime import timedelta

from lavagna_server.domain.agenda import Activation, ActivationId, ActivationState
from lavagna_server.domain.entries import Kind, SpaceName
from lavagna_server.domain.leases import Lease
from lavagna_server.storage.damage import of_row
from lavagna_server.storage.record_rows import duration, limits_of, limits_text
from lavagna_server.storage.rows import Cells, Row, micros, micros_or_none, moment, moment_or_none

_encoded = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def activation_cells(space: int, activation: Activation) -> Cells:
    """An activation's row."""
    state = activation.state
    start_by = micros_or_none(activation.start_by)
    waits = state.is_open and state is not ActivationState.LEASED
    return (
        space,
        activation.id.number,
        activation.trigger,
        activation.worker,
        state.value,
        state.is_open,
        activation.kind.value if activation.kind else None,
        activation.key,
        activation.version,
        _encoded(dict(activation.bind)),
        activation.binding,
        activation.rating,
        ~activation.rating,
        activation.fired_revision,
        micros(activation.fired_at),
        activation.depth,
        activation.root,
        limits_text(activation.limits),
        activation.parent,
        micros_or_none(activation.slot_at),
        activation.late,
        micros_or_none(activation.not_before),
        start_by,
        start_by if waits else None,
        activation.attempt,
        activation.fence,
        *_lease_cells(activation.lease),
        activation.reason,
        micros_or_none(activation.finished_at),
        activation.completed_revision,
        activation.holder,
    )


@of_row
def activation_of(row: Row, space: SpaceName) -> Activation:
    """The activation of a row."""
    (_, number, trigger, worker, state, _, kind, key, version, bind, binding, rating, _, *rest) = (
        row
    )
    (
        fired_revision,
        fired_at,
        depth,
        root,
        limits,
        parent,
        slot_at,
        late,
        not_before,
        start_by,
        _,
        *rest,
    ) = rest
    (attempt, fence, *lease, reason, finished_at, completed_revision, holder) = rest
    return Activation(
        ActivationId(space, number),
        trigger,
        worker,
        ActivationState(state),
        Kind(kind) if kind else None,
        key,
        version,
        json.loads(bind),
        binding,
        rating,
        fired_revision,
        moment(fired_at),
        depth,
        root,
        limits_of(limits),
        parent,
        moment_or_none(slot_at),
        bool(late),
        moment_or_none(not_before),
        moment_or_none(start_by),
        attempt,
        fence,
        _lease_of(lease),
        reason,
        moment_or_none(finished_at),
        completed_revision,
        holder,
    )


def _lease_cells(lease: Lease | None) -> Cells:
    if lease is None:
        return (None,) * 5
    return (
        lease.holder,
        lease.nonce,
        micros(lease.expires_at),
        duration(lease.duration),
        micros_or_none(lease.ends_at),
    )


def _lease_of(cells: Row) -> Lease | None:
    holder, nonce, expires_at, length, ends_at = cells
    if nonce is None:
        return None
    return Lease(
        holder, nonce, moment(expires_at), timedelta(microseconds=length), moment_or_none(ends_at)
    )
