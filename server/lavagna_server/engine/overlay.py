"""What operations have changed and the store does not know yet: the layer through which they read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from lavagna_server.domain.agenda import Activation, ActivationId
from lavagna_server.domain.agents import Agent
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import Commit, Entry, EntryId, Space, SpaceName
from lavagna_server.domain.regions import Region
from lavagna_server.domain.triggers import Trigger
from lavagna_server.ports.store import Changes, EdgeId, Effect, Record

RequestKey: TypeAlias = tuple[str, str, str]
"""Board, agent and request id."""


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
    edges: dict[EdgeId, bool] = field(default_factory=dict[EdgeId, bool])
    records: list[tuple[Record, bool]] = field(default_factory=list[tuple[Record, bool]])
    """Each with whether it is removed."""
    effects: dict[RequestKey, Effect] = field(default_factory=dict[RequestKey, Effect])

    def absorb(self, later: Overlay) -> None:
        """Takes in what a later operation changed."""
        self.spaces.update(later.spaces)
        for space, entries in later.entries.items():
            self.entries.setdefault(space, {}).update(entries)
        self.commits += later.commits
        self.activations.update(later.activations)
        self.edges.update(later.edges)
        self.records += later.records
        self.effects.update(later.effects)

    def forget(self, board: str) -> None:
        """Drops all that belongs to a board, which was erased in the same transaction."""
        self.spaces = {name: space for name, space in self.spaces.items() if name.board != board}
        self.entries = {
            name: entries for name, entries in self.entries.items() if name.board != board
        }
        self.commits = [commit for commit in self.commits if commit.space.board != board]
        self.activations = {
            id_: each for id_, each in self.activations.items() if id_.space.board != board
        }
        self.edges = {
            edge: holds for edge, holds in self.edges.items() if edge.trigger.space.board != board
        }
        self.records = [each for each in self.records if board_of(each[0]) != board]
        self.effects = {
            key: effect for key, effect in self.effects.items() if effect.board != board
        }

    def put_commit(self, commit: Commit) -> None:
        """Takes a commit in; its entries are the newest from now on."""
        self.commits.append(commit)
        newest = self.entries.setdefault(commit.space, {})
        for entry in commit.entries:
            newest[entry.id] = entry

    def changes(self) -> Changes:
        """The same in the form that a store writes."""
        return Changes(
            spaces=list(self.spaces.values()),
            commits=self.commits,
            activations=list(self.activations.values()),
            edges=list(self.edges.items()),
            saved=[record for record, removed in _last(self.records) if not removed],
            removed=[record for record, removed in _last(self.records) if removed],
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


def _last(records: Iterable[tuple[Record, bool]]) -> list[tuple[Record, bool]]:
    newest = {record_key(record): (record, removed) for record, removed in records}
    return list(newest.values())


def record_key(record: Record) -> tuple[object, ...]:
    """What identifies a record among all."""
    match record:
        case Board():
            return (Board, record.name)
        case Region():
            return (Region, record.board, record.path)
        case Agent():
            return (Agent, record.board, record.name)
        case Trigger():
            return (Trigger, record.id)


def board_of(record: Record) -> str:
    """The board that a record belongs to."""
    match record:
        case Board():
            return record.name
        case Trigger():
            return record.space.board
        case Region() | Agent():
            return record.board
