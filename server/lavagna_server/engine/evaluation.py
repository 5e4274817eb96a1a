"""Evaluating a trigger's precondition on a state: what it may look at, and what it came to.

The state may be the one inside a commit or that of any readable revision; the rules are the same. A trigger sees what the agent that set it may
read, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import Entry, EntryId, Kind, SpaceName
from lavagna_server.domain.keys import Pattern
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.regions import Regions
from lavagna_server.domain.triggers import Trigger
from lavagna_server.ports.languages import Conditions


class View(Protocol):
    """A state of a space."""

    def newest(self, space: SpaceName, entry: EntryId) -> Entry | None:
        """The newest version of an entry, also when that is its end."""
        ...

    def matching(
        self, space: SpaceName, pattern: Pattern, kinds: frozenset[Kind] = ...
    ) -> Iterator[Entry]:
        """The entries that exist and match, by kind and key."""
        ...


class Verdict(Enum):
    """What a condition came to; an error never counts as true."""

    TRUE = "true"
    FALSE = "false"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a precondition came to for one subject."""

    verdict: Verdict
    rating: int = 0
    error: str = ""
    read_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """What a precondition is evaluated for: an entry, a change, or a time."""

    entry: Entry | None
    old: Entry | None
    bind: Mapping[str, str]


class Evaluator:
    """Evaluates conditions and ratings."""

    def __init__(self, conditions: Conditions, limits: Limits) -> None:
        self._conditions = conditions
        self._limits = limits

    def check(self, trigger: Trigger) -> None:
        """Compiles what a trigger says.

        Raises:
            Invalid: Its condition or its rating is wrong.
        """
        self._conditions.condition(trigger.when, field="trigger.when")
        self._conditions.rating(trigger.rating, field="trigger.rating")

    def evaluate(
        self,
        view: View,
        trigger: Trigger,
        subject: Subject,
        *,
        reader: Caller,
        regions: Regions,
        now: datetime,
    ) -> Evaluated:
        """What the precondition comes to for `subject` on `view`."""
        if subject.entry is not None and not regions.may_read(subject.entry.key, reader):
            return Evaluated(Verdict.FALSE)
        if not trigger.when and not trigger.rating:
            return Evaluated(Verdict.TRUE)
        read = self._read(view, trigger, subject.bind, reader, regions)
        keys = tuple(entry.key for entry in read)
        if excess := self._excess(read):
            return Evaluated(Verdict.ERROR, error=excess, read_keys=keys)
        says = trigger.when + trigger.rating
        names = {
            "entry": _as_map(subject.entry, says),
            "old": _as_map(subject.old, says),
            "board": {
                entry.key: entry.value.decoded() for entry in read if entry.value is not None
            },
            "bind": dict(subject.bind),
            "now": now,
        }
        return self._outcome(trigger, names, keys)

    def _read(
        self,
        view: View,
        trigger: Trigger,
        bind: Mapping[str, str],
        reader: Caller,
        regions: Regions,
    ) -> list[Entry]:
        found: dict[EntryId, Entry] = {}
        for pattern in trigger.reads:
            bound = pattern.with_bound(bind)
            if bound.is_literal:
                entries = [view.newest(trigger.space, EntryId(Kind.NOTE, bound.text))]
            else:
                entries = list(view.matching(trigger.space, bound, frozenset({Kind.NOTE})))
            for entry in entries:
                if entry is not None and entry.exists and regions.may_read(entry.key, reader):
                    found[entry.id] = entry
            if len(found) > self._limits.reads_entries_max:
                break
        return list(found.values())

    def _excess(self, read: Sequence[Entry]) -> str:
        """Why this is more than a condition may look at; empty when it is not. Checked before anything is decoded."""
        limits = self._limits
        if len(read) > limits.reads_entries_max:
            return f"reads more than {limits.reads_entries_max} entries (reads_entries_max)"
        if (
            sum(entry.value.size_bytes for entry in read if entry.value is not None)
            > limits.reads_bytes_max
        ):
            return f"reads more than {limits.reads_bytes_max} bytes of values (reads_bytes_max)"
        return ""

    def _outcome(
        self, trigger: Trigger, names: Mapping[str, Any], keys: tuple[str, ...]
    ) -> Evaluated:
        holds = self._conditions.condition(trigger.when, field="when").evaluate(names)
        if holds.error:
            return Evaluated(Verdict.ERROR, error=holds.error, read_keys=keys)
        if not holds.value:
            return Evaluated(Verdict.FALSE, read_keys=keys)
        rating = self._conditions.rating(trigger.rating, field="rating").evaluate(names)
        if rating.error:
            return Evaluated(Verdict.TRUE, error=f"rating: {rating.error}", read_keys=keys)
        return Evaluated(Verdict.TRUE, rating.value, read_keys=keys)


def _as_map(entry: Entry | None, says: str) -> dict[str, Any] | None:
    """The entry as conditions see it; what it rests on is taken apart only where they say so, for that may be long."""
    if entry is None:
        return None
    names_basis = bool(entry.basis) and "basis" in says
    return {
        "key": entry.key,
        "kind": entry.kind.value,
        "value": entry.value.decoded() if entry.value is not None else None,
        "version": entry.version,
        "revision": entry.revision,
        "change": entry.change.value,
        "author": entry.author,
        "tags": list(entry.tags),
        "confidence": entry.confidence,
        "sources": list(entry.sources),
        "committed_at": entry.committed_at,
        "basis": json.loads(entry.basis) if names_basis else {},
    }
