"""The statements that write a group, each for many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy import Delete, Dialect, Insert, Table, bindparam, delete, insert
from sqlalchemy.engine.interfaces import DBAPICursor

from lavagna_server.storage import tables
from lavagna_server.storage.prepared import Prepared
from lavagna_server.storage.rows import Cells

Upsert: TypeAlias = Callable[[Table, Sequence[str], Sequence[str]], Insert]
"""Makes an insert into a table that, where a row has the same values in the first columns, replaces the second; each database has its own."""

_MOVES = [
    "state",
    "is_open",
    "rating",
    "descent",
    "not_before",
    "start_by",
    "due_by",
    "attempt",
    "fence",
    "lease_holder",
    "lease_nonce",
    "lease_expires_at",
    "lease_duration",
    "lease_ends_at",
    "reason",
    "finished_at",
    "completed_revision",
    "holder",
]
"""What changes of an activation; the indexes by what fired it are spared."""


class Batch:
    """One statement, for any number of rows."""

    def __init__(
        self, statement: Insert | Delete, dialect: Dialect, columns: Sequence[str]
    ) -> None:
        self._statement = Prepared(statement, dialect, columns)
        assert self._statement.names == tuple(columns), "cells are in the order of their columns"

    def run(self, cursor: DBAPICursor, cells: Sequence[Cells]) -> None:
        """Runs the statement for each row; the cells are in the order of the table's columns."""
        if cells:
            cursor.executemany(self._statement.text, cells)


class Batches:
    """Every statement that writes a group, in the words of one database."""

    def __init__(self, dialect: Dialect, upsert: Upsert) -> None:
        def upserting(table: Table, key: Sequence[str] = (), moves: Sequence[str] = ()) -> Batch:
            columns = [column.name for column in table.c if column.name != "id"]
            key = key or _key(table)
            rest = moves or [name for name in columns if name not in key]
            return Batch(upsert(table, key, rest), dialect, columns)

        def inserting(table: Table) -> Batch:
            return Batch(insert(table), dialect, [column.name for column in table.c])

        def deleting(table: Table) -> Batch:
            key = _key(table)
            return Batch(
                delete(table).where(*(table.c[name] == bindparam(name) for name in key)),
                dialect,
                key,
            )

        self.spaces = upserting(tables.spaces, key=("board", "owner"))
        self.commits = inserting(tables.commits)
        self.versions = inserting(tables.versions)
        self.heads = upserting(tables.heads)
        self.born = upserting(tables.alive)
        self.gone = deleting(tables.alive)
        self.activations = upserting(tables.activations, moves=_MOVES)
        self.edges = upserting(tables.edges)
        self.lost_edges = deleting(tables.edges)
        self.requests = upserting(tables.requests)
        records = (
            tables.boards,
            tables.regions,
            tables.agents,
            tables.standings,
            tables.triggers,
        )
        self.saved = {table.name: upserting(table) for table in records}
        self.removed = {table.name: deleting(table) for table in records}


def _key(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.primary_key)
