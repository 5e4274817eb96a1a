"""Everything the store in memory holds at one moment, and what follows from a group of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias, TypeVar

from lavagna_server.domain.agenda import Activation
from lavagna_server.domain.agents import Agent
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import Commit, EntryId, SpaceName
from lavagna_server.domain.regions import Region
from lavagna_server.domain.standings import Standing
from lavagna_server.domain.triggers import Trigger, TriggerId
from lavagna_server.ports.store import Changes, EdgeId, Effect, Record, Subtree
from lavagna_server.storage.ephemeral.log import Log
from lavagna_server.storage.ephemeral.shards import Shards

RecordName: TypeAlias = tuple[str, ...]
Binding: TypeAlias = tuple[TriggerId, str]
RequestName: TypeAlias = tuple[str, str, str]
_ItemT = TypeVar("_ItemT")
_NameT = TypeVar("_NameT")


def record_name(record: Record) -> RecordName:
    """What identifies a record among those of its kind; the board comes first."""
    match record:
        case Board():
            return (record.name,)
        case Region():
            return (record.board, record.path)
        case Agent():
            return (record.board, record.name)
        case Standing():
            return (record.board, record.agent)
        case Trigger():
            return (*record.space, record.name)


@dataclass(frozen=True, slots=True)
class State:
    """All that is stored; never changed, only succeeded."""

    logs: Mapping[SpaceName, Log] = field(default_factory=dict[SpaceName, Log])
    records: Mapping[type[Record], Mapping[RecordName, Record]] = field(
        default_factory=dict[type[Record], Mapping[RecordName, Record]]
    )
    edges: Shards[Binding, frozenset[EntryId]] = field(
        default_factory=Shards[Binding, frozenset[EntryId]]
    )
    effects: Shards[RequestName, Effect] = field(default_factory=Shards[RequestName, Effect])

    def changed(self, changes: Changes) -> State:
        """What follows when all of `changes` are made."""
        removed_triggers = {record.id for record in changes.removed if isinstance(record, Trigger)}
        return State(
            self._logs(changes),
            self._records(changes),
            self._without_triggers(removed_triggers).edited(
                self._edges(changes.edges, removed_triggers)
            ),
            self.effects.edited(
                {(each.board, each.agent, each.request_id): each for each in changes.effects}
            ),
        )

    def _logs(self, changes: Changes) -> Mapping[SpaceName, Log]:
        logs = dict(self.logs)
        for space in changes.spaces:
            log = logs.get(space.name)
            logs[space.name] = Log(space) if log is None else replace(log, space=space)
        for name, commits in _grouped(changes.commits, _space_of_commit).items():
            logs[name] = logs[name].committed(commits)
        for name, activations in _grouped(changes.activations, _space_of_activation).items():
            agenda = logs[name].agenda.moved({each.id.number: each for each in activations})
            logs[name] = replace(logs[name], agenda=agenda)
        return logs

    def _records(self, changes: Changes) -> Mapping[type[Record], Mapping[RecordName, Record]]:
        if not changes.saved and not changes.removed:
            return self.records
        kinds = {kind: dict(records) for kind, records in self.records.items()}
        for record in changes.removed:
            kinds.get(type(record), {}).pop(record_name(record), None)
        for record in changes.saved:
            kinds.setdefault(type(record), {})[record_name(record)] = record
        return kinds

    def _without_triggers(self, triggers: set[TriggerId]) -> Shards[Binding, frozenset[EntryId]]:
        if not triggers:
            return self.edges
        return self.edges.edited({each: None for each in self.edges if each[0] in triggers})

    def _edges(
        self, edges: Iterable[tuple[EdgeId, bool]], removed: set[TriggerId]
    ) -> Mapping[Binding, frozenset[EntryId] | None]:
        changed: dict[Binding, set[EntryId]] = {}
        for edge, holds in edges:
            binding = (edge.trigger, edge.binding)
            if binding not in changed:
                changed[binding] = (
                    set() if edge.trigger in removed else set(self.edges.get(binding, ()))
                )
            if holds:
                changed[binding].add(edge.entry)
            else:
                changed[binding].discard(edge.entry)
        return {binding: frozenset(entries) or None for binding, entries in changed.items()}

    def compacted(self, space: SpaceName, subtree: Subtree, horizon: int) -> State:
        """What follows when a part of a space is compacted."""
        log = self.logs.get(space)
        return (
            self
            if log is None
            else replace(self, logs={**self.logs, space: log.compacted(subtree, horizon)})
        )

    def without_effects(self, before: datetime) -> State:
        """What follows when the requests before a moment are forgotten."""
        old = {name: None for name, effect in self.effects.items() if effect.at < before}
        return replace(self, effects=self.effects.edited(old))

    def without_board(self, board: str) -> State:
        """What follows when a board is erased."""
        return State(
            {name: log for name, log in self.logs.items() if name.board != board},
            {
                kind: {name: each for name, each in of.items() if name[0] != board}
                for kind, of in self.records.items()
            },
            self.edges.edited({each: None for each in self.edges if each[0].space.board == board}),
            self.effects.edited({each: None for each in self.effects if each[0] == board}),
        )


def _grouped(
    items: Iterable[_ItemT], name: Callable[[_ItemT], _NameT]
) -> dict[_NameT, list[_ItemT]]:
    groups: dict[_NameT, list[_ItemT]] = {}
    for item in items:
        groups.setdefault(name(item), []).append(item)
    return groups


def _space_of_commit(commit: Commit) -> SpaceName:
    return commit.space


def _space_of_activation(activation: Activation) -> SpaceName:
    return activation.id.space
