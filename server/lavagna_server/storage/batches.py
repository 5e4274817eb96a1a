"""Statements that write many rows at once, compiled before the first.

Measured with 64 rows of fifteen columns: `Connection.execute` takes 470 µs, most of it to bind dictionaries, the compiled text 190 µs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy import Connection, Delete, Dialect, Insert, Table, bindparam, delete, insert

from lavagna_server.storage import tables
from lavagna_server.storage.rows import Cells

Upsert: TypeAlias = Callable[[Table, Sequence[str]], Insert]
"""Makes an insert that replaces the row with the same values in the named columns; each database has its own."""


class Batch:
    """One statement, for any number of rows."""

    def __init__(self, statement: Insert | Delete, dialect: Dialect, names: Sequence[str]) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=names)
        assert compiled.positiontup == list(names)
        self._text = str(compiled)

    def run(self, connection: Connection, cells: Sequence[Cells]) -> None:
        """Runs the statement for each row; the cells are in the order of the table's columns."""
        if cells:
            connection.exec_driver_sql(self._text, list(cells))


class Batches:
    """Every statement that writes a group, in the words of one database."""

    def __init__(self, dialect: Dialect, upsert: Upsert) -> None:
        def upserting(table: Table, *key: str) -> Batch:
            names = [column.name for column in table.c if column.name != "id"]
            return Batch(upsert(table, key or _key(table)), dialect, names)

        def inserting(table: Table) -> Batch:
            return Batch(insert(table), dialect, [column.name for column in table.c])

        def deleting(table: Table) -> Batch:
            key = _key(table)
            return Batch(
                delete(table).where(*(table.c[name] == bindparam(name) for name in key)),
                dialect,
                key,
            )

        self.spaces = upserting(tables.spaces, "board", "owner")
        self.commits = inserting(tables.commits)
        self.versions = inserting(tables.versions)
        self.heads = upserting(tables.heads)
        self.activations = upserting(tables.activations)
        self.edges = upserting(tables.edges)
        self.lost_edges = deleting(tables.edges)
        self.requests = upserting(tables.requests)
        records = (tables.boards, tables.regions, tables.agents, tables.triggers)
        self.saved = {table.name: upserting(table) for table in records}
        self.removed = {table.name: deleting(table) for table in records}


def _key(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.primary_key)
