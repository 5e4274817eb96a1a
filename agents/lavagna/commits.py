"""Commits: what a watch and an export give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lavagna.checks import checked_text, checked_type
from lavagna.entries import (
    Cause,
    ChangeType,
    Entry,
    Kind,
    Space,
    cause_of,
    change_numbers,
    entry_of,
    kind_numbers,
    space_number,
)
from lavagna.times import time_of
from lavagna.v1 import watch_pb2 as wire


class Occasion(StrEnum):
    """What a commit was made for."""

    WRITE = "write"
    EXPIRY = "expiry"
    """Entries reached their expiry time."""
    QUIESCENCE = "quiescence"
    """Nothing waits, nothing is leased, nothing is due: the crew has come to rest."""
    COMPACTION = "compaction"
    """History before a revision was given up."""
    UNKNOWN = "unknown"


_OCCASION_OF = {
    wire.OCCASION_WRITE: Occasion.WRITE,
    wire.OCCASION_EXPIRY: Occasion.EXPIRY,
    wire.OCCASION_QUIESCENCE: Occasion.QUIESCENCE,
    wire.OCCASION_COMPACTION: Occasion.COMPACTION,
}


@dataclass(frozen=True, slots=True)
class Target:
    """What to watch."""

    pattern: str = ""
    """Which keys: `plan/*/status`, `plan/**`; empty means all."""
    kinds: Sequence[Kind] = ()
    """Which kinds; none means all."""
    changes: Sequence[ChangeType] = ()
    """Which types of change; none means all."""
    space: Space | None = None
    """Which space; None means that of the board view that watches."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, as far as it matches what is watched."""

    space: Space
    revision: int
    committed_at: datetime
    author: str
    """The agent that made it; empty for the server's own."""
    cause: Cause | None
    """Why it happened; None when no activation led to it."""
    occasion: Occasion
    entries: tuple[Entry, ...]
    """The changed entries that match, in the commit's order."""


@dataclass(frozen=True, slots=True)
class State:
    """A part of the state that a watch begins with."""

    space: Space
    revision: int
    """The revision of the state, the same in all its parts."""
    entries: tuple[Entry, ...]
    synced: bool
    """Whether this is the last part; commits after `revision` follow."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A part of an export."""

    epoch: str
    last_revision: int
    """The last revision that this export will give."""
    state: tuple[Entry, ...]
    """Entries at the oldest readable revision, when history before it is gone."""
    commits: tuple[Commit, ...]
    """Commits, in order."""


def commit_of(message: wire.Commit, space: Space) -> Commit:
    """The commit that the wire holds."""
    return Commit(
        space=space,
        revision=message.revision,
        committed_at=time_of(message.commit_time),
        author=message.author,
        cause=cause_of(message.cause),
        occasion=_OCCASION_OF.get(message.occasion, Occasion.UNKNOWN),
        entries=tuple(entry_of(entry) for entry in message.entries),
    )


def target_message(target: str | Target, *, space: Space) -> wire.WatchTarget:
    """The target as the wire has it, in this space unless it names another.

    Raises:
        Invalid: It is no target, or a part of it is none.
    """
    checked_type(target, (str, Target), field="targets")
    if isinstance(target, str):
        target = Target(target)
    return wire.WatchTarget(
        space=space_number(target.space or space, field="targets.space"),
        pattern=checked_text(target.pattern, field="targets.pattern"),
        kinds=kind_numbers(target.kinds, field="targets.kinds"),
        change_types=change_numbers(target.changes, field="targets.changes"),
    )
