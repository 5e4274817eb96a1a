"""Activations: how one is fired, and how it moves from state to state.

Pure: every function takes an activation and the time and gives the activation that follows. The agenda is their order: the higher
rating first, among equals the oldest (A7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from lavagna_server.domain.entries import Cause, Kind, SpaceName
from lavagna_server.domain.errors import WrongState
from lavagna_server.domain.leases import Lease, LeaseToken
from lavagna_server.domain.triggers import BACKOFF_MAX, TriggerId, TriggerLimits


class ActivationState(Enum):
    """Where an activation stands."""

    WAITING = "waiting"
    HELD = "held"
    LEASED = "leased"
    COMPLETED = "completed"
    OBVIATED = "obviated"
    DEAD = "dead"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    OVERRUN = "overrun"

    @property
    def is_open(self) -> bool:
        """Whether something may still come of it by itself."""
        return self in OPEN_STATES


OPEN_STATES = frozenset({ActivationState.WAITING, ActivationState.HELD, ActivationState.LEASED})


class ActivationId(NamedTuple):
    """Names an activation: its space, and its number there."""

    space: SpaceName
    number: int

    def __str__(self) -> str:
        prefix = f"{self.space.owner}~" if self.space.owner else ""
        return f"{prefix}{self.number}"


@dataclass(frozen=True, slots=True)
class Activation:
    """One firing of one trigger."""

    id: ActivationId
    trigger: str
    worker: str
    """Who may acquire it, as in `Trigger.worker`."""
    state: ActivationState
    kind: Kind | None
    """None, with no key, when a schedule fired it."""
    key: str
    version: int
    """The version of the entry that fired it."""
    bind: Mapping[str, str]
    binding: str
    """What edges, cooldown and concurrency are counted by: the bound segments, or the key when nothing is bound."""
    rating: int
    fired_revision: int
    fired_at: datetime
    depth: int
    root: int
    limits: TriggerLimits
    parent: int = 0
    slot_at: datetime | None = None
    late: bool = False
    not_before: datetime | None = None
    start_by: datetime | None = None
    attempt: int = 0
    fence: int = 0
    lease: Lease | None = None
    reason: str = ""
    finished_at: datetime | None = None
    completed_revision: int = 0
    holder: str = ""
    """Who works on it or did last."""

    @property
    def token(self) -> LeaseToken:
        """The token of the running lease."""
        assert self.lease is not None
        return LeaseToken(self.id.space, self.id.number, self.fence, self.lease.nonce)

    @property
    def trigger_id(self) -> TriggerId:
        """The trigger that fired it."""
        return TriggerId(self.id.space, self.trigger)

    @property
    def cause(self) -> Cause:
        """The cause of commits made for it."""
        return Cause(self.id.number, self.trigger, self.fired_revision, self.depth, self.root)

    @property
    def agenda_order(self) -> tuple[int, int]:
        """Sorts the agenda: the higher rating first, among equals the oldest."""
        return (-self.rating, self.id.number)


def granted(activation: Activation, *, holder: str, nonce: str, now: datetime) -> Activation:
    """The activation in the hands of `holder`, under a new fence."""
    limits = activation.limits
    ends_at = now + limits.run_deadline if limits.run_deadline else None
    expires_at = now + limits.lease if ends_at is None else min(now + limits.lease, ends_at)
    return replace(
        activation,
        state=ActivationState.LEASED,
        attempt=activation.attempt + 1,
        fence=activation.fence + 1,
        lease=Lease(holder, nonce, expires_at, limits.lease, ends_at),
        holder=holder,
        start_by=None,  # it has been started; what follows is bounded by attempts
    )


def finished(
    activation: Activation,
    state: ActivationState,
    *,
    now: datetime,
    reason: str = "",
    revision: int = 0,
) -> Activation:
    """The activation at its end."""
    return replace(
        activation,
        state=state,
        lease=None,
        finished_at=now,
        reason=reason,
        completed_revision=revision,
    )


def offered(
    activation: Activation, *, not_before: datetime | None = None, reason: str = ""
) -> Activation:
    """The activation back on the agenda."""
    return replace(
        activation,
        state=ActivationState.WAITING,
        lease=None,
        not_before=not_before,
        reason=reason or activation.reason,
    )


def failed(
    activation: Activation,
    *,
    now: datetime,
    reason: str,
    retry_after: timedelta | None,
    final: bool,
) -> Activation:
    """The activation after an attempt that its holder gave up: waiting for its backoff, or a dead letter."""
    if final or activation.attempt >= activation.limits.attempts_max:
        return finished(activation, ActivationState.DEAD, now=now, reason=reason)
    wait = (
        retry_after if retry_after is not None else backoff(activation.limits, activation.attempt)
    )
    return offered(activation, not_before=now + wait, reason=reason)


def lease_expired(activation: Activation, *, now: datetime) -> Activation:
    """The activation after its holder fell silent: offered again at once (A4), or a dead letter."""
    reason = f"the lease of {activation.holder} ran out"
    if activation.attempt >= activation.limits.attempts_max:
        return finished(activation, ActivationState.DEAD, now=now, reason=reason)
    return offered(activation, reason=reason)


def released(activation: Activation) -> Activation:
    """The activation given back without counting the attempt."""
    return replace(offered(activation), attempt=activation.attempt - 1)


def replayed(activation: Activation) -> Activation:
    """An ended activation, offered again with its attempts counted anew.

    Raises:
        WrongState: It has not ended.
    """
    if activation.state.is_open or activation.state is ActivationState.COMPLETED:
        raise WrongState(
            str(activation.id), state=activation.state.value, needs="ended without a result"
        )
    return replace(offered(activation), attempt=0, finished_at=None, start_by=None)


def backoff(limits: TriggerLimits, attempt: int) -> timedelta:
    """The wait after the `attempt`-th attempt: doubled with each, at most five minutes."""
    return (
        min(BACKOFF_MAX, limits.backoff * 2 ** min(attempt - 1, 30))
        if limits.backoff
        else timedelta(0)
    )


@dataclass(frozen=True, slots=True)
class ActivationFilter:
    """Which activations are meant; unset fields do not restrict."""

    space: SpaceName | None = None
    states: frozenset[ActivationState] = field(default_factory=frozenset[ActivationState])
    trigger: str = ""
    triggers: frozenset[str] = field(default_factory=frozenset[str])
    workers: frozenset[str] = field(default_factory=frozenset[str])
    binding: str | None = None
    root: int = 0
    rating_min: int | None = None
    below_number: int = 0
    fired_after: datetime | None = None
    offered_by: datetime | None = None
    """Waiting or held ones whose `not_before` is unset or has come."""
    wait_ended_by: datetime | None = None
    """Only those with a `not_before` that has come."""
    lease_expired_by: datetime | None = None
    start_due_by: datetime | None = None

    def includes(self, activation: Activation) -> bool:
        """Whether `activation` is meant."""
        lease = activation.lease
        return (
            (self.space is None or activation.id.space == self.space)
            and (not self.states or activation.state in self.states)
            and (not self.trigger or activation.trigger == self.trigger)
            and (not self.triggers or activation.trigger in self.triggers)
            and (not self.workers or activation.worker in self.workers)
            and (self.binding is None or activation.binding == self.binding)
            and (not self.root or activation.root == self.root)
            and (self.rating_min is None or activation.rating >= self.rating_min)
            and (not self.below_number or activation.id.number < self.below_number)
            and (self.fired_after is None or activation.fired_at > self.fired_after)
            and (
                self.offered_by is None
                or activation.not_before is None
                or activation.not_before <= self.offered_by
            )
            and (
                self.wait_ended_by is None
                or (
                    activation.not_before is not None
                    and activation.not_before <= self.wait_ended_by
                )
            )
            and (
                self.lease_expired_by is None
                or (lease is not None and lease.expires_at <= self.lease_expired_by)
            )
            and (
                self.start_due_by is None
                or (activation.start_by is not None and activation.start_by <= self.start_due_by)
            )
        )
