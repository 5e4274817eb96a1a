"""Writes in SQL: what a group of commits left behind, compaction, and erasure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Connection, Table, bindparam, delete, select

from lavagna_server.domain.agents import Agent
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import Commit, SpaceName
from lavagna_server.domain.regions import Region
from lavagna_server.domain.standings import Standing
from lavagna_server.domain.triggers import Trigger
from lavagna_server.ports.store import Changes, EdgeId, Record, Subtree
from lavagna_server.storage import rows, selects, tables
from lavagna_server.storage.agenda_rows import activation_cells
from lavagna_server.storage.batches import Batches
from lavagna_server.storage.reading import Reading
from lavagna_server.storage.record_rows import (
    agent_cells,
    board_cells,
    region_cells,
    standing_cells,
    trigger_cells,
)
from lavagna_server.storage.rows import Cells, micros

_EARLIER_COMMITS = delete(tables.commits).where(
    tables.commits.c.space == bindparam("space"), tables.commits.c.revision < bindparam("horizon")
)
_EARLIER_REQUESTS = delete(tables.requests).where(tables.requests.c.at < bindparam("before"))
_EDGES_OF_TRIGGER = delete(tables.edges).where(
    tables.edges.c.board == bindparam("board"),
    tables.edges.c.owner == bindparam("owner"),
    tables.edges.c.trigger == bindparam("trigger"),
)
_SPACE_IDS = select(tables.spaces.c.id).where(tables.spaces.c.board == bindparam("board"))
_ERASURES = (
    *(
        delete(table).where(table.c.space.in_(_SPACE_IDS))
        for table in (
            tables.versions,
            tables.heads,
            tables.alive,
            tables.commits,
            tables.activations,
        )
    ),
    *(
        delete(table).where(table.c.board == bindparam("board"))
        for table in (
            tables.edges,
            tables.requests,
            tables.triggers,
            tables.agents,
            tables.standings,
            tables.regions,
            tables.spaces,
        )
    ),
    delete(tables.boards).where(tables.boards.c.name == bindparam("board")),
)


class Writing(Reading):
    """A `Transaction` on a connection that is in one."""

    def __init__(
        self, connection: Connection, space_ids: dict[SpaceName, int], batches: Batches
    ) -> None:
        super().__init__(connection, space_ids)
        self._batches = batches

    def write(self, changes: Changes) -> None:
        batches, cursor = self._batches, self._cursor
        batches.spaces.run(cursor, [rows.space_cells(space) for space in changes.spaces])
        self._write_commits(changes.commits)
        batches.activations.run(
            cursor,
            [activation_cells(self._id(each.id.space), each) for each in changes.activations],
        )
        self._write_records(changes.saved, changes.removed)
        self._write_edges(changes.edges)
        batches.requests.run(cursor, [rows.effect_cells(effect) for effect in changes.effects])

    def _id(self, space: SpaceName) -> int:
        found = self._space_id(space)
        assert found is not None, f"{space} is written to, but neither stored nor among the changes"
        return found

    def _write_commits(self, commits: Sequence[Commit]) -> None:
        if not commits:
            return
        written: list[Cells] = []
        versions: list[Cells] = []
        heads: dict[Cells, Cells] = {}
        born: set[Cells] = set()
        for commit in commits:
            space = self._id(commit.space)
            written.append(rows.commit_cells(space, commit))
            for ordinal, entry in enumerate(commit.entries):
                name = (space, entry.kind.value, entry.key)
                versions.append(rows.version_cells(space, ordinal, entry))
                heads[name] = rows.head_cells(space, ordinal, entry)
                if entry.change.begins_entry:
                    born.add(name)
        batches, cursor = self._batches, self._cursor
        batches.commits.run(cursor, written)
        batches.versions.run(cursor, versions)
        batches.heads.run(cursor, list(heads.values()))
        gone = [name for name, (*_, ended) in heads.items() if ended]
        batches.born.run(cursor, list(born))
        batches.gone.run(cursor, gone)

    def _write_records(self, saved: Iterable[Record], removed: Iterable[Record]) -> None:
        for record in removed:
            table, cells = _row(record)
            key = cells[: len(table.primary_key)]
            self._batches.removed[table.name].run(self._cursor, [key])
            if isinstance(record, Trigger):
                board, owner, trigger = key
                self._connection.execute(
                    _EDGES_OF_TRIGGER, {"board": board, "owner": owner, "trigger": trigger}
                )
        groups: dict[str, list[Cells]] = {}
        for record in saved:
            table, cells = _row(record)
            groups.setdefault(table.name, []).append(cells)
        for name, group in groups.items():
            self._batches.saved[name].run(self._cursor, group)

    def _write_edges(self, edges: Iterable[tuple[EdgeId, bool]]) -> None:
        last = dict(edges)
        for batch, holds in ((self._batches.edges, True), (self._batches.lost_edges, False)):
            cells = [rows.edge_cells(edge) for edge, held in last.items() if held is holds]
            batch.run(self._cursor, cells)

    def compact(self, space: SpaceName, subtree: Subtree, horizon: int) -> None:
        parameters = {"space": self._space_id(space), "horizon": horizon}
        self._connection.execute(
            delete(tables.versions).where(selects.superseded(subtree)), parameters
        )
        if subtree == Subtree():
            self._connection.execute(_EARLIER_COMMITS, parameters)

    def forget_effects(self, before: datetime) -> None:
        self._connection.execute(_EARLIER_REQUESTS, {"before": micros(before)})

    def erase_board(self, board: str) -> None:
        for erasure in _ERASURES:
            self._connection.execute(erasure, {"board": board})
        self._space_ids.clear()


def _row(record: Record) -> tuple[Table, Cells]:
    match record:
        case Board():
            return tables.boards, board_cells(record)
        case Region():
            return tables.regions, region_cells(record)
        case Agent():
            return tables.agents, agent_cells(record)
        case Standing():
            return tables.standings, standing_cells(record)
        case Trigger():
            return tables.triggers, trigger_cells(record)
