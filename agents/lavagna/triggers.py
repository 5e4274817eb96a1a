"""Triggers: the preconditions that wake agents, and what trying one comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from lavagna.entries import ChangeType, Kind, Space


class Mode(StrEnum):
    """When a true condition fires."""

    EDGE = "edge"
    """When it becomes true, once per binding until it has been false."""
    EVERY = "every"
    """At each matching change for which it is true."""
    DUE = "due"
    """At the times of the schedule."""


@dataclass(frozen=True, slots=True)
class Source:
    """Which changes a trigger is about."""

    pattern: str
    """Which keys: `tasks/{task}/status` binds a segment to a name."""
    kinds: Sequence[Kind] = ()
    """Which kinds; none means all."""
    changes: Sequence[ChangeType] = ()
    """Which changes; none means created and updated for `edge`, and all for `every`."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a `due` trigger fires: once at a time, or by a cron rule."""

    at: datetime | None = None
    cron: str = ""
    """A rule of five fields, such as `0 9 * * 1-5`."""
    time_zone: str = "UTC"
    """The IANA zone of the cron rule."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a trigger's activations; None means the server's default."""

    lease_seconds: float | None = None
    """How long a lease lasts without a heartbeat, 1 s to 1 h; 30 s by default."""
    attempts_max: int | None = None
    """How often an activation is tried before it is a dead letter; 5 by default."""
    backoff_seconds: float | None = None
    """The wait before the second attempt, doubled for each further one; 1 s by default."""
    concurrency_max: int | None = None
    """How many activations of the trigger may be leased at once; any number by default."""
    binding_concurrency_max: int | None = None
    """How many activations of one binding may be leased at once; 1 by default."""
    cooldown_seconds: float | None = None
    """The least time between two activations of one binding being offered; none by default."""
    start_deadline_seconds: float | None = None
    """An activation that nobody acquired for this long expires; never by default."""
    run_deadline_seconds: float | None = None
    """A lease cannot be extended past this long after it was acquired; never by default."""
    causal_depth_max: int | None = None
    """How long a chain of activations that cause one another may be; 32 by default."""
    firings_per_minute_max: int | None = None
    """How many activations of one binding may be fired per minute; 6,000 by default."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What became of a trigger's activations so far."""

    fired: int = 0
    completed: int = 0
    failed: int = 0
    """Attempts that failed."""
    expired_leases: int = 0
    obviated: int = 0
    """Activations whose condition no longer held when they were claimed."""
    dead: int = 0
    """Activations that became dead letters."""
    overrun: int = 0
    """Activations refused by a bound on cascades."""
    errors: int = 0
    """Conditions or ratings that could not be evaluated."""
    last_error: str = ""
    last_fired_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Trigger:
    """An agent's standing precondition."""

    id: str
    """The last part of its name: letters, digits, `.`, `_` and `-`."""
    on: Sequence[str | Source] = ()
    """Which changes it is about; at most 16."""
    reads: Sequence[str] = ()
    """Patterns of further entries that the condition may look at; at most 16."""
    when: str = ""
    """The precondition in CEL over `entry`, `old`, `board`, `bind`, `now`; empty means true."""
    rating: str = ""
    """How urgent an activation is: a CEL integer, higher first; empty means 0."""
    mode: Mode = Mode.EDGE
    schedule: Schedule | None = None
    """When a `due` trigger fires."""
    limits: Limits = field(default_factory=Limits)
    space: Space = Space.SHARED
    team: str = ""
    """The team whose members may acquire its activations; empty means the agent alone."""
    own_writes: bool = False
    """Whether writes of its own agent (or team) fire it too."""
    version: int = 0
    """Counts its changes; when not 0, setting it needs this to be the current one."""
    agent: str = ""
    """Who set it; the server fills this in, and what follows."""
    suspended: bool = False
    statistics: Statistics = field(default_factory=Statistics)
    next_due_at: datetime | None = None


class Verdict(StrEnum):
    """What a condition came to."""

    TRUE = "true"
    FALSE = "false"
    ERROR = "error"
    """It could not be evaluated; an error never fires."""
    UNKNOWN = "unknown"
    """It was not evaluated."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a trigger made of one entry."""

    key: str
    bind: Mapping[str, str]
    """The segments that the pattern bound."""
    verdict: Verdict
    rating: int
    """The rating, when the condition holds."""
    reason: str
    """Why it would not fire, or what went wrong; empty when it would fire."""
    read_keys: tuple[str, ...]
    """The keys that the condition could look at."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trigger would do."""

    revision: int
    """The revision that it was tried at."""
    would_fire: bool
    """Whether it would fire for at least one entry."""
    evaluations: tuple[Evaluation, ...]
    """One per entry looked at."""
