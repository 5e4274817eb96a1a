"""Reads of a database within one transaction: the port's snapshot in SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import Any

from sqlalchemy import Select, Table, select

from lavagna_server.domain.agenda import Activation, ActivationFilter, ActivationId
from lavagna_server.domain.agents import Agent
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import Entry, EntryId, Kind, SpaceName
from lavagna_server.domain.regions import Region
from lavagna_server.domain.standings import Standing
from lavagna_server.domain.triggers import Trigger, TriggerId
from lavagna_server.ports.store import EdgeId, Effect, Order, Record, RecordT
from lavagna_server.storage import agenda_selects, record_rows, rows, selects, tables
from lavagna_server.storage.agenda_rows import activation_of
from lavagna_server.storage.log_reading import LogReading
from lavagna_server.storage.rows import Row, micros, moment


def _in_order(table: Table) -> Select[Any]:
    return select(table).order_by(*table.primary_key)


_RECORDS: Mapping[type[Record], tuple[Select[Any], Callable[[Row], Record]]] = {
    Board: (_in_order(tables.boards), record_rows.board_of),
    Region: (_in_order(tables.regions), record_rows.region_of),
    Agent: (_in_order(tables.agents), record_rows.agent_of),
    Standing: (_in_order(tables.standings), record_rows.standing_of),
    Trigger: (_in_order(tables.triggers), record_rows.trigger_of),
}


class Reading(LogReading):
    """A `Snapshot` of what a connection's transaction sees."""

    def records(self, kind: type[RecordT]) -> Sequence[RecordT]:
        statement, record_of = _RECORDS[kind]
        found = map(record_of, self._all(statement))
        return [record for record in found if isinstance(record, kind)]

    def effect(self, board: str, agent: str, request_id: str) -> Effect | None:
        found = self._first(selects.EFFECT, board=board, agent=agent, request_id=request_id)
        return rows.effect_of(found) if found else None

    def edges(self, trigger: TriggerId, binding: str) -> frozenset[EntryId]:
        (board, owner), name = trigger
        found = self._all(selects.EDGES, board=board, owner=owner, trigger=name, binding=binding)
        return frozenset(EntryId(Kind(kind), key) for kind, key in found)

    def edges_of(self, trigger: TriggerId) -> Sequence[EdgeId]:
        found = self._all(
            selects.EDGES_OF_TRIGGER,
            board=trigger.space.board,
            owner=trigger.space.owner,
            trigger=trigger.name,
        )
        return [EdgeId(trigger, binding, EntryId(Kind(kind), key)) for binding, kind, key in found]

    def activation(self, activation: ActivationId) -> Activation | None:
        space, number = activation
        found = self._first(selects.ACTIVATION, space=self._space_id(space), number=number)
        return activation_of(found, space) if found else None

    def activations(
        self, where: ActivationFilter, *, order: Order, limit: int
    ) -> Sequence[Activation]:
        space_id = self._space_id(where.space) if where.space else None
        if where.space is not None and space_id is None:
            return []
        parts = [
            [
                _activation_of(row, where.space)
                for row in self._all(query.statement, **query.parameters)
            ]
            for query in agenda_selects.listing(where, space_id, order, limit)
        ]
        return (
            parts[0] if len(parts) == 1 else list(islice(merge(*parts, key=_agenda_order), limit))
        )

    def count_activations(self, where: ActivationFilter) -> int:
        space_id = self._space_id(where.space) if where.space else None
        if where.space is not None and space_id is None:
            return 0
        query = agenda_selects.counting(where, space_id)
        return self._number(query.statement, **query.parameters)

    def expiring(self, by: datetime, limit: int) -> Sequence[tuple[SpaceName, Entry]]:
        found = self._all(selects.EXPIRING, by=micros(by), limit=limit)
        return [
            (SpaceName(board, owner), rows.version_of(version)) for board, owner, *version in found
        ]

    def next_deadline(self, after: datetime) -> datetime | None:
        (deadlines,) = self._all(selects.DEADLINES, after=micros(after))
        return min((moment(each) for each in deadlines if each is not None), default=None)


def _activation_of(row: Row, space: SpaceName | None) -> Activation:
    if space is not None:
        return activation_of(row, space)
    board, owner, *activation = row
    return activation_of(activation, SpaceName(board, owner))


def _agenda_order(activation: Activation) -> tuple[int, int]:
    return activation.agenda_order
