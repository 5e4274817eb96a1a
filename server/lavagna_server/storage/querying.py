"""Runs prepared queries on a connection, and knows spaces by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Executable

from lavagna_server.domain.entries import SpaceName
from lavagna_server.storage import selects
from lavagna_server.storage.rows import Row


class Querying:
    """The queries of one transaction."""

    def __init__(self, connection: Connection, space_ids: dict[SpaceName, int]) -> None:
        self._connection = connection
        self._space_ids = space_ids
        """The numbers of spaces that this transaction has seen; they change when a board is erased and made anew."""

    def _all(self, statement: Executable, **parameters: Any) -> Sequence[Row]:
        return self._connection.execute(statement, parameters).all()

    def _first(self, statement: Executable, **parameters: Any) -> Row | None:
        return self._connection.execute(statement, parameters).first()

    def _space_id(self, name: SpaceName) -> int | None:
        if (known := self._space_ids.get(name)) is not None:
            return known
        found = self._first(selects.SPACE_ID, board=name.board, owner=name.owner)
        return self._space_ids.setdefault(name, found[0]) if found else None
