"""Regions: subtrees of the shared space with rules of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Policy(StrEnum):
    """What a region does with a write."""

    GUARDED = "guarded"
    """Changing an entry needs the version that was seen, or `overwrite`."""
    LATEST = "latest"
    """The write is the new value; an expected version, when given, must match."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Retention:
    """What a region keeps of its history."""

    age_seconds: float | None = None
    """Superseded versions older than this are given up; None means never."""
    versions_max: int = 0
    """At most this many versions of each entry are kept; 0 means all."""


@dataclass(frozen=True, slots=True)
class Region:
    """A subtree of the shared space; the deepest region that holds a key rules it."""

    path: str
    """The key at the root of the subtree."""
    owner: str = ""
    """An agent, or `team:{team}`; owners may always read, write and change the region."""
    readers: Sequence[str] = ()
    """Agents, `team:{team}`, `*`; none means everyone."""
    writers: Sequence[str] = ()
    """Agents, `team:{team}`, `*`; none means everyone."""
    policy: Policy = Policy.GUARDED
    schema: dict[str, Any] | bool | None = None
    """A JSON Schema that every JSON value must satisfy."""
    retention: Retention | None = None
    version: int = 0
    """Counts its changes; when not 0, setting it needs this to be the current one."""
    oldest_revision: int = 0
    """The oldest revision at which it can be read; the server fills this in."""
