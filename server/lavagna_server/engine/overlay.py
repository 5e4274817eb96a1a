"""What operations have changed and the store does not know yet: the layer through which they read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from lavagna_server.domain.agenda import Activation, ActivationFilter, ActivationId
from lavagna_server.domain.agents import Agent
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import Commit, Entry, EntryId, Space, SpaceName
from lavagna_server.domain.regions import Region
from lavagna_server.domain.standings import Standing
from lavagna_server.domain.triggers import Trigger, TriggerId
from lavagna_server.ports.store import Changes, EdgeId, Effect, Record

RequestKey: TypeAlias = tuple[str, str, str]
"""Board, agent and request id."""
Binding: TypeAlias = tuple[TriggerId, str]


@dataclass(slots=True)
class Overlay:
    """Changes of one operation, or of the operations of a group that succeeded so far."""

    spaces: dict[SpaceName, Space] = field(default_factory=dict[SpaceName, Space])
    entries: dict[SpaceName, dict[EntryId, Entry]] = field(
        default_factory=dict[SpaceName, dict[EntryId, Entry]]
    )
    commits: list[Commit] = field(default_factory=list[Commit])
    activations: dict[ActivationId, Activation] = field(
        default_factory=dict[ActivationId, Activation]
    )
    by_binding: dict[Binding, dict[ActivationId, Activation]] = field(
        default_factory=dict[Binding, dict[ActivationId, Activation]]
    )
    """The same activations by trigger and binding, which most searches are about."""
    edges: dict[Binding, dict[EntryId, bool]] = field(
        default_factory=dict[Binding, dict[EntryId, bool]]
    )
    records: list[tuple[Record, bool]] = field(default_factory=list[tuple[Record, bool]])
    """Each with whether it is removed, in the order in which that happened."""
    effects: dict[RequestKey, Effect] = field(default_factory=dict[RequestKey, Effect])

    def absorb(self, later: Overlay) -> None:
        """Takes in what a later operation changed."""
        for record, removed in later.records:
            if removed and isinstance(record, Trigger):
                self._forget_edges(record.id)
        self.spaces.update(later.spaces)
        for space, entries in later.entries.items():
            self.entries.setdefault(space, {}).update(entries)
        self.commits += later.commits
        for activation in later.activations.values():
            self.put_activation(activation)
        for binding, edges in later.edges.items():
            self.edges.setdefault(binding, {}).update(edges)
        self.records += later.records
        self.effects.update(later.effects)

    def forget(self, board: str) -> None:
        """Drops all that belongs to a board, which was erased in the same transaction."""
        self.spaces = {name: space for name, space in self.spaces.items() if name.board != board}
        self.entries = {name: each for name, each in self.entries.items() if name.board != board}
        self.commits = [each for each in self.commits if each.space.board != board]
        kept = [each for each in self.activations.values() if each.id.space.board != board]
        self.activations, self.by_binding = {}, {}
        for activation in kept:
            self.put_activation(activation)
        self.edges = {key: each for key, each in self.edges.items() if key[0].space.board != board}
        self.records = [each for each in self.records if board_of(each[0]) != board]
        self.effects = {key: each for key, each in self.effects.items() if each.board != board}

    def put_commit(self, commit: Commit) -> None:
        """Takes a commit in; its entries are the newest from now on."""
        self.commits.append(commit)
        newest = self.entries.setdefault(commit.space, {})
        for entry in commit.entries:
            newest[entry.id] = entry

    def put_activation(self, activation: Activation) -> None:
        """Takes an activation in, as new or in place of what it was."""
        self.activations[activation.id] = activation
        binding = (activation.trigger_id, activation.binding)
        self.by_binding.setdefault(binding, {})[activation.id] = activation

    def concerning(self, where: ActivationFilter) -> dict[ActivationId, Activation]:
        """The changed activations among which those that are meant must be."""
        if where.space is not None and where.trigger and where.binding is not None:
            return self.by_binding.get((TriggerId(where.space, where.trigger), where.binding), {})
        return self.activations

    def has_removed(self, trigger: TriggerId) -> bool:
        """Whether a trigger was removed, so that what the store knows of its edges is void."""
        return any(
            removed and isinstance(record, Trigger) and record.id == trigger
            for record, removed in self.records
        )

    def edges_of(self, trigger: TriggerId) -> Iterator[tuple[EdgeId, bool]]:
        """The changed edges of a trigger, each with whether it holds."""
        for (owner, binding), edges in self.edges.items():
            if owner == trigger:
                yield from (
                    (EdgeId(owner, binding, entry), holds) for entry, holds in edges.items()
                )

    def changes(self) -> Changes:
        """The same in the form that a store writes. What was removed and made anew is both."""
        last = {record_key(record): (record, removed) for record, removed in self.records}
        return Changes(
            spaces=list(self.spaces.values()),
            commits=self.commits,
            activations=list(self.activations.values()),
            edges=[
                (EdgeId(trigger, binding, entry), holds)
                for (trigger, binding), edges in self.edges.items()
                for entry, holds in edges.items()
            ],
            removed=[record for record, removed in self.records if removed],
            saved=[record for record, removed in last.values() if not removed],
            effects=list(self.effects.values()),
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (
            self.spaces
            or self.commits
            or self.activations
            or self.edges
            or self.records
            or self.effects
        )

    def _forget_edges(self, trigger: TriggerId) -> None:
        self.edges = {key: edges for key, edges in self.edges.items() if key[0] != trigger}


def record_key(record: Record) -> tuple[object, ...]:
    """What identifies a record among all."""
    match record:
        case Board():
            return (Board, record.name)
        case Region():
            return (Region, record.board, record.path)
        case Agent():
            return (Agent, record.board, record.name)
        case Standing():
            return (Standing, record.board, record.agent)
        case Trigger():
            return (Trigger, record.id)


def board_of(record: Record) -> str:
    """The board that a record belongs to."""
    match record:
        case Board():
            return record.name
        case Trigger():
            return record.space.board
        case Region() | Agent() | Standing():
            return record.board
