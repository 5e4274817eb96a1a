"""What SQLite's failures mean to those who run a server: in words, without paths and without SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

_MEANINGS: Mapping[str, str] = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_NOTADB": "the file is not a database",
    "SQLITE_CORRUPT": "the database is damaged; restore a backup",
    "SQLITE_READONLY": "the database may not be written",
    "SQLITE_PERM": "the database may not be opened",
    "SQLITE_CANTOPEN": "the database cannot be opened",
    "SQLITE_IOERR": "the disk fails",
    "SQLITE_NOMEM": "memory ran out",
    "SQLITE_BUSY": "another program has the database open",
    "TimeoutError": "all readers are busy",
    "SQLITE_TOOBIG": "a value is too large for the database",
}


def meaning(error: Exception) -> str:
    """What went wrong, for people."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    name = getattr(cause, "sqlite_errorname", None) or type(cause or error).__name__
    known = next(
        (text for prefix, text in _MEANINGS.items() if name.startswith(prefix)),
        "the database refused",
    )
    return f"{known} ({name})"


FAILURES = (SQLAlchemyError, sqlite3.Error)
"""Everything that the database may raise."""
