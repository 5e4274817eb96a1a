"""Regions: who may read and write where, and what becomes of a write.

The deepest region that holds a key rules it. Keys are compared in their normal form, by whole segments (C5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import Pattern, may_overlap
from lavagna_server.domain.merging.rules import MergeRules

EVERYONE = "*"
TEAM_PREFIX = "team:"
ROLE_PREFIX = "role:"
"""In an electorate: all agents that are registered with a role."""


class Policy(Enum):
    """What a region does with a write."""

    LATEST = "latest"
    GUARDED = "guarded"
    OWNER = "owner"
    QUORUM = "quorum"
    WEIGHTED = "weighted"


@dataclass(frozen=True, slots=True)
class Retention:
    """What a region keeps of its history; both bounds may be unset."""

    age: timedelta | None = None
    versions_max: int = 0
    """At most this many of each entry, and fewer where another entry of the region changes more often: the region reads exactly from one
    revision on. 0 keeps all."""


@dataclass(frozen=True, slots=True)
class Voters:
    """Some of an electorate, alike in what their votes weigh."""

    name: str
    """An agent, `team:` and a team's, `role:` and a role's, or `*` for every agent that is registered on the board."""
    weight: float = 1.0
    veto: bool = False
    """Whether each of them can reject a proposal alone."""


@dataclass(frozen=True, slots=True)
class Electorate:
    """Who decides on proposals, and when enough of them have agreed."""

    voters: tuple[Voters, ...] = ()
    approvals: float = 0.0
    """The weight that must accept; 0 leaves it to `share`."""
    share: float = 0.0
    """The share of all weight that must accept: at least this much, and more than this for up to one half. 0 means more than one half."""
    deadline: timedelta = timedelta(days=1)
    """How long after it was made an undecided proposal ends."""
    groups_min: int = 0
    """From how many voter groups acceptance must come at least."""
    group_cap: float = 0.0
    """How many times its strongest member a voter group may weigh; 0 means no cap."""

    @classmethod
    def of(cls, owner: str) -> Electorate:
        """The owner alone; of a team any one member decides."""
        return cls((Voters(owner),), approvals=1.0)


@dataclass(frozen=True, slots=True)
class Merging:
    """How the claims of a region become one value."""

    rules: MergeRules = field(default_factory=MergeRules)
    group_cap: float = 0.0
    """How many times its strongest member a voter group may count; 0 means no cap."""
    reconcilers: tuple[str, ...] = ()
    """Whose claim ends a `reconcile` when it names all others among its sources: agents, `team:` names, or `*`; none means the owner."""


@dataclass(frozen=True, slots=True)
class Region:
    """A subtree of the shared space with rules of its own."""

    board: str
    path: str
    owner: str = ""
    readers: tuple[str, ...] = ()
    """None named means everyone."""
    writers: tuple[str, ...] = ()
    policy: Policy = Policy.GUARDED
    schema_json: str = ""
    retention: Retention = field(default_factory=Retention)
    version: int = 1
    oldest: int = 0
    """The oldest revision at which the region reads exactly; 0 when retention gave nothing up."""
    electorate: Electorate = field(default_factory=Electorate)
    """Who decides, where the policy is `quorum`."""
    merging: Merging = field(default_factory=Merging)
    """How claims are merged, where the policy is `weighted`."""

    def check(self, field: str) -> None:
        """Checks that the policy has what it needs.

        Raises:
            Invalid: Naming what is missing or unknown.
        """
        if self.policy is Policy.OWNER and not self.owner:
            raise Invalid(f"{field}.owner", "the policy is owner: say whose region this is")
        if self.policy is Policy.QUORUM and not self.electorate.voters:
            raise Invalid(f"{field}.electorate.voters", "the policy is quorum: say who votes")
        self.merging.rules.check(f"{field}.merging")
        for name, cap in (
            ("electorate", self.electorate.group_cap),
            ("merging", self.merging.group_cap),
        ):
            if cap and cap < 1:
                rule = "a group counts at least as much as its strongest member: give 1 or more"
                raise Invalid(f"{field}.{name}.group_cap", rule)

    def may_read(self, caller: Caller) -> bool:
        """Whether `caller` may know what is in here."""
        return not self.readers or self.is_owner(caller) or includes(self.readers, caller)

    def may_write(self, caller: Caller) -> bool:
        """Whether `caller` may change what is in here."""
        return not self.writers or self.is_owner(caller) or includes(self.writers, caller)

    def asks_others(self, caller: Caller) -> bool:
        """Whether a write by `caller` waits for votes."""
        if self.policy is Policy.OWNER:
            return not self.is_owner(caller)
        return self.policy is Policy.QUORUM

    def is_owner(self, caller: Caller) -> bool:
        """Whether the region belongs to `caller` or to a team it works in."""
        return bool(self.owner) and includes((self.owner,), caller)


def includes(names: Iterable[str], caller: Caller) -> bool:
    """Whether `caller` is among agents, `team:` names or `*`."""
    teams = caller.teams
    return any(
        name in (EVERYONE, caller.agent)
        or (name.startswith(TEAM_PREFIX) and name.removeprefix(TEAM_PREFIX) in teams)
        for name in names
    )


class Regions:
    """The regions of one board, found by key."""

    def __init__(self, regions: Iterable[Region] = ()) -> None:
        self._by_path: Mapping[str, Region] = {region.path: region for region in regions}
        self._hides_anything = any(region.readers for region in self._by_path.values())

    def __len__(self) -> int:
        return len(self._by_path)

    def __iter__(self) -> Iterator[Region]:
        return iter(self._by_path.values())

    def at(self, path: str) -> Region | None:
        """The region whose root is exactly `path`."""
        return self._by_path.get(path)

    def of(self, key: str) -> Region | None:
        """The deepest region that holds `key`."""
        if not self._by_path:
            return None
        path = key
        while path:
            if (region := self._by_path.get(path)) is not None:
                return region
            path = path.rpartition("/")[0]
        return None

    def may_read(self, key: str, caller: Caller) -> bool:
        """Whether `caller` may know that `key` exists."""
        if not self._hides_anything:
            return True
        region = self.of(key)
        return region is None or region.may_read(caller)

    def hide(self, pattern: Pattern, caller: Caller) -> bool:
        """Whether something that matches `pattern` may lie where the caller may not read."""
        return self._hides_anything and any(
            not region.may_read(caller) and may_overlap(pattern, region.path)
            for region in self._by_path.values()
        )

    def oldest_for(self, pattern: Pattern, caller: Caller) -> int:
        """The oldest revision at which every readable key of `pattern` reads exactly, as far as retention goes."""
        return max(
            (
                region.oldest
                for region in self._by_path.values()
                if region.oldest and region.may_read(caller) and may_overlap(pattern, region.path)
            ),
            default=0,
        )
