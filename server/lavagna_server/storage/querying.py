"""Runs queries within one transaction, and knows spaces by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.sql.expression import ClauseElement

from lavagna_server.domain.entries import SpaceName
from lavagna_server.storage import selects
from lavagna_server.storage.prepared import prepared
from lavagna_server.storage.rows import Row


class Querying:
    """The queries of one transaction."""

    def __init__(self, connection: Connection, space_ids: dict[SpaceName, int]) -> None:
        self._connection = connection
        self._dialect = connection.dialect
        self._cursor = connection.connection.cursor()
        self._space_ids = space_ids
        """The numbers of spaces that this transaction has seen; they change when a board is erased and made anew."""

    def close(self) -> None:
        """Lets go of the cursor, in this thread: collected later in another one it would disturb what runs there."""
        self._cursor.close()

    def _all(self, statement: ClauseElement, **parameters: Any) -> Sequence[Row]:
        found = prepared(statement, self._dialect)
        self._cursor.execute(found.text, found.arguments(parameters))
        rows: Sequence[Row] = self._cursor.fetchall()
        return rows

    def _first(self, statement: ClauseElement, **parameters: Any) -> Row | None:
        rows = self._all(statement, **parameters)
        return rows[0] if rows else None

    def _number(self, statement: ClauseElement, **parameters: Any) -> int:
        """The one number that a query gives; 0 for none."""
        found = self._first(statement, **parameters)
        return int(found[0] or 0) if found else 0

    def _space_id(self, name: SpaceName) -> int | None:
        if (known := self._space_ids.get(name)) is not None:
            return known
        found = self._first(selects.SPACE_ID, board=name.board, owner=name.owner)
        return self._space_ids.setdefault(name, found[0]) if found else None
