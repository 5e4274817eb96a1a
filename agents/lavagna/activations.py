"""Activations: the work that triggers fire, and the leases under which it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lavagna.entries import Entry, Space


class ActivationState(StrEnum):
    """Where an activation stands."""

    WAITING = "waiting"
    HELD = "held"
    LEASED = "leased"
    COMPLETED = "completed"
    OBVIATED = "obviated"
    """Its condition no longer held when it was claimed."""
    DEAD = "dead"
    """Its attempts are used up."""
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    """Nobody acquired it before its start deadline."""
    OVERRUN = "overrun"
    """A bound on cascades refused it; `reason` names the chain."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Activation:
    """One firing of one trigger."""

    id: str
    trigger_id: str
    space: Space
    state: ActivationState
    key: str
    """The key that fired it; empty for a `due` trigger."""
    bind: Mapping[str, str]
    """The segments that the pattern bound."""
    rating: int
    """How urgent it is; higher first."""
    fired_revision: int
    fired_at: datetime
    slot_at: datetime | None
    """The time that a `due` trigger fired for."""
    late: bool
    """Whether that time had passed, because no server was up."""
    attempt: int
    """Counts the attempts from 1; 0 before the first."""
    attempts_max: int
    fence: int
    """Rises by one with each lease."""
    holder: str
    """The agent that works on it or did last."""
    lease_expires_at: datetime | None
    depth: int
    """How many activations lie between the first cause and this one, itself counted."""
    parent_id: str
    """The activation whose holder made the commit that fired this one; empty when none did."""
    not_before: datetime | None
    reason: str
    """Why the last attempt failed, or why it ended."""
    finished_at: datetime | None
    completed_revision: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on an activation for a while."""

    activation: Activation
    token: str
    """Proves the lease; belongs to this claim and not to the agent's name."""
    entry: Entry | None
    """The entry that fired it: as it is now for `edge`, as the change left it for `every`."""
    old: Entry | None
    """The version before the change, for `every`."""
    lease_seconds: float
    """How long the lease lasts without a heartbeat."""


@dataclass(frozen=True, slots=True)
class Beat:
    """The answer to a heartbeat for one token."""

    token: str
    expires_at: datetime | None
    """When the lease now ends; None when it is lost."""
    lost_reason: str
    """Why it is lost; empty when it is not."""
