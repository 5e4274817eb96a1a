"""Activations: the work that triggers fire, and the leases under which it is done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lavagna.calls import Caller
from lavagna.changes import Change
from lavagna.conditions import Condition
from lavagna.entries import Committed, Entry, Space
from lavagna.times import Seconds


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


class Activations:
    """The agenda of one board."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def acquire(
        self, *, count: int = 1, wait: Seconds = 0, trigger_ids: Sequence[str] = ()
    ) -> tuple[Lease, ...]:
        """Leases of the most urgent work, waiting for some if there is none; empty if in vain."""
        raise NotImplementedError

    async def heartbeat(self, tokens: Sequence[str]) -> tuple[Beat, ...]:
        """Extends leases; one answer per token, in order."""
        raise NotImplementedError

    async def complete(
        self,
        token: str,
        changes: Sequence[Change] = (),
        *,
        conditions: Sequence[Condition] = (),
        otherwise: Sequence[Change] = (),
    ) -> Committed:
        """Commits the changes and completes the activation together, or neither."""
        raise NotImplementedError

    async def fail(
        self, token: str, reason: str, *, retry_after: Seconds | None = None, final: bool = False
    ) -> Activation:
        """Gives up an attempt; the activation waits for its backoff, or becomes a dead letter."""
        raise NotImplementedError

    async def release(self, *, token: str = "", activation_id: str = "") -> Activation:
        """Gives a lease back without counting an attempt, or ends a hold by the activation's id."""
        raise NotImplementedError

    async def hold(self, activation_id: str, *, until: datetime | None = None) -> Activation:
        """Holds a waiting activation back, until a time or until it is released."""
        raise NotImplementedError

    async def cancel(self, activation_id: str, reason: str = "") -> Activation:
        """Ends an activation without a result."""
        raise NotImplementedError

    async def get(self, activation_id: str) -> Activation:
        """The activation."""
        raise NotImplementedError

    def list(
        self,
        *,
        states: Sequence[ActivationState] = (),
        trigger_id: str = "",
        space: Space = Space.SHARED,
    ) -> AsyncIterator[Activation]:
        """The activations, the newest first."""
        raise NotImplementedError

    async def replay(self, activation_id: str) -> Activation:
        """Offers an ended activation again, with its attempts counted anew."""
        raise NotImplementedError
