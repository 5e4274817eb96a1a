"""Regions: subtrees of the shared space with rules of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Policy(StrEnum):
    """What a region does with a write."""

    GUARDED = "guarded"
    """Changing an entry needs the version that was seen, or `overwrite`."""
    LATEST = "latest"
    """The write is the new value; an expected version, when given, must match."""
    OWNER = "owner"
    """The write is the new value when the owner writes, else a proposal that the owner decides."""
    QUORUM = "quorum"
    """The write is a proposal on which the electorate votes; its author's vote is the first."""
    WEIGHTED = "weighted"
    """The write is its author's claim; the entry is the merge of all live claims."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Retention:
    """What a region keeps of its history."""

    age_seconds: float | None = None
    """Superseded versions older than this are given up; None means never."""
    versions_max: int = 0
    """At most this many versions of each entry are kept; 0 means all."""


@dataclass(frozen=True, slots=True)
class Voters:
    """Some of an electorate, alike in what their votes weigh."""

    name: str
    """An agent, `team:{team}`, `role:agent`, `role:admin`, or `*` for every agent that is registered."""
    weight: float = 1.0
    """How much the vote of each weighs; more than 0."""
    veto: bool = False
    """Whether each can reject a proposal alone."""


@dataclass(frozen=True, slots=True)
class Electorate:
    """Who decides on proposals, and when enough have agreed.

    A proposal keeps the electorate of the moment in which it was made.
    """

    voters: Sequence[str | Voters] = ()
    """Who may vote; a name alone is that of voters whose votes weigh 1."""
    approvals: float = 0.0
    """The weight that must accept: the k of k of n. Give this or `share`."""
    share: float = 0.0
    """The share of all weight that must accept: at least this much, and more than this for up to
    one half. 0 means more than one half."""
    deadline_seconds: float | None = None
    """How long after it was made a proposal ends undecided; a day when None, at most 30 days."""
    groups_min: int = 0
    """From how many voter groups acceptance must come at least."""
    group_cap: float = 0.0
    """How many times its strongest member a voter group may weigh: 1 or more; 0 means no cap."""


@dataclass(frozen=True, slots=True)
class Merging:
    """How the claims about a key become one value, by the type of the value.

    An empty rule means the default, which is named first.
    """

    number: str = ""
    """`median`, `mean`, `min`, `max`, `sum`, `linear-pool` and `log-pool` (of probabilities),
    `select`."""
    category: str = ""
    """For strings, true, false and null: `weighted-plurality`, `plurality`, `confidence-buckets`."""
    collection: str = ""
    """For arrays, taken as sets: `threshold`, `union`, `select`."""
    record: str = ""
    """For objects: `fields` (each by the rule of its own type), `select`."""
    text: str = ""
    """For text and bytes: `select` (by vote), `lines` (with visible conflicts), `reconcile`."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Rules for single fields of objects, by path: `effort`, `plan/effort`."""
    threshold: float | None = None
    """An element belongs to a set when more than this share of the weight claims it; half if None."""
    group_cap: float = 0.0
    """How many times its strongest member a voter group may count: 1 or more; 0 means no cap."""
    reconcilers: Sequence[str] = ()
    """Whose claim ends a `reconcile`, once it names all others with their versions among its sources:
    agents, `team:{team}`, `*`. None means the region's owner."""


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
    """A JSON Schema that every value must satisfy, so that text and bytes are refused."""
    retention: Retention | None = None
    electorate: Electorate | None = None
    """Who decides, where the policy is `quorum`."""
    merging: Merging | None = None
    """How claims are merged, where the policy is `weighted`; None means the default rules."""
    version: int = 0
    """Counts its changes; when not 0, setting it needs this to be the current one."""
    oldest_revision: int = 0
    """The oldest revision at which it can be read; the server fills this in."""
