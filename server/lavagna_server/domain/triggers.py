"""Triggers: an agent's standing preconditions, as set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import ChangeType, Entry, Kind, SpaceName
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import Pattern
from lavagna_server.domain.regions import TEAM_PREFIX
from lavagna_server.domain.schedules import Schedule

_TRIGGER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,127})")

LEASE_MIN = timedelta(seconds=1)
LEASE_MAX = timedelta(hours=1)
BACKOFF_MAX = timedelta(minutes=5)


class TriggerId(NamedTuple):
    """Names a trigger; those of a private space have names of their own, so that none shows in another's."""

    space: SpaceName
    name: str


class Mode(Enum):
    """When a true condition fires."""

    EDGE = "edge"
    EVERY = "every"
    DUE = "due"


@dataclass(frozen=True, slots=True)
class Source:
    """Which changes a trigger is about."""

    pattern: Pattern
    kinds: frozenset[Kind] = frozenset()
    """None means all."""
    changes: frozenset[ChangeType] = frozenset()
    """None means all. An edge trigger looks at an entry's end in any case, unless it is about ends: its condition no longer holds."""

    def bind(self, entry: Entry) -> Mapping[str, str] | None:
        """What the pattern binds when this is about `entry`, whatever became of it; else None."""
        if self.kinds and entry.kind not in self.kinds:
            return None
        return self.pattern.match(entry.key)

    def is_moved_by(self, change: ChangeType) -> bool:
        """Whether a change of this type is looked at."""
        return not self.changes or change in self.changes

    def is_present(self, entry: Entry) -> bool:
        """Whether a condition can hold for `entry` as it is: it exists, or its end is what the trigger is about."""
        return entry.exists or entry.change in self.changes


@dataclass(frozen=True, slots=True)
class TriggerLimits:
    """What bounds a trigger's activations."""

    lease: timedelta = timedelta(seconds=30)
    attempts_max: int = 5
    backoff: timedelta = timedelta(seconds=1)
    """The wait before the second attempt; it doubles with each further one, up to five minutes."""
    concurrency_max: int = 0
    """Leases of the trigger at once; 0 means any number."""
    binding_concurrency_max: int = 1
    cooldown: timedelta = timedelta(0)
    """The least time between two activations of one binding being offered."""
    start_deadline: timedelta | None = None
    run_deadline: timedelta | None = None
    causal_depth_max: int = 32
    firings_per_minute_max: int = 6_000


@dataclass(frozen=True, slots=True)
class Statistics:
    """What became of a trigger's activations, since it has looked at what it looks at with the rights that it has."""

    fired: int = 0
    completed: int = 0
    failed: int = 0
    expired_leases: int = 0
    obviated: int = 0
    dead: int = 0
    overrun: int = 0
    errors: int = 0
    last_error: str = ""
    last_fired_at: datetime | None = None
    since: int = 0
    """The space's last activation before; a later one that bears the trigger's name is its own."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """A standing precondition."""

    space: SpaceName
    """The log that it looks at; with the name it identifies the trigger."""
    name: str
    agent: str
    """Who set it last; its condition sees what this agent may read."""
    team: str = ""
    on: tuple[Source, ...] = ()
    reads: tuple[Pattern, ...] = ()
    when: str = ""
    rating: str = ""
    mode: Mode = Mode.EDGE
    schedule: Schedule | None = None
    limits: TriggerLimits = field(default_factory=TriggerLimits)
    own_writes: bool = False
    suspended: bool = False
    version: int = 1
    statistics: Statistics = field(default_factory=Statistics)
    next_due_at: datetime | None = None

    @property
    def id(self) -> TriggerId:
        """Its name within the board."""
        return TriggerId(self.space, self.name)

    @property
    def worker(self) -> str:
        """Who may acquire its activations: an agent's name, or `team:` and a team's."""
        return TEAM_PREFIX + self.team if self.team else self.agent

    @property
    def looks_at(self) -> tuple[Pattern, ...]:
        """What decides, besides an entry itself, whether that entry fires it: what the condition reads, and the entries that share its edge."""
        patterns = tuple(source.pattern for source in self.on)
        names = any(pattern.names for pattern in patterns)
        many = len(patterns) > 1 or any("*" in pattern.text for pattern in patterns)
        return (*self.reads, *patterns) if names and many else self.reads

    def is_own_write(self, author: str, teams: Iterable[str]) -> bool:
        """Whether a change by `author`, who works in `teams`, is the trigger's own doing."""
        return author == self.agent or (bool(self.team) and self.team in teams)

    def may_work(self, caller: Caller) -> bool:
        """Whether `caller` may acquire its activations."""
        return self.team in caller.teams if self.team else caller.agent == self.agent


def check_trigger_name(text: str, *, field: str) -> str:
    """The last part of a trigger's resource name, as given.

    Raises:
        Invalid: It is empty, longer than 128 characters, or has characters other than letters, digits, `.`, `_` and `-`.
    """
    if not _TRIGGER.fullmatch(text):
        raise Invalid(
            field,
            "a trigger's name has 1 to 128 letters, digits, '.', '_' or '-', and begins with a letter or digit",
        )
    return text
