"""What SQLite's failures mean to those who run a server: in words, without paths and without SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from lavagna_server.domain.errors import StorageFailed
from lavagna_server.storage.damage import RESTORE, Damaged, NotReadable

_DAMAGE: Mapping[str, str] = {
    "SQLITE_CORRUPT": "the database is damaged",
    "SQLITE_NOTADB": "the file is not a database",
    "SQLITE_IOERR_READ": "the disk does not give back what was written",
    "SQLITE_IOERR_SHORT_READ": "the database is cut off",
    "SQLITE_IOERR_DATA": "the disk does not give back what was written",
    "SQLITE_IOERR_CORRUPTFS": "the file system is damaged",
    # Python's own, of text that is no UTF-8: in a row, and in what SQLite says about a schema that it cannot read.
    "OperationalError": "the database is damaged",
    "UnicodeDecodeError": "the database is damaged",
}
"""What only a backup helps against."""

_MEANINGS: Mapping[str, str] = {
    **_DAMAGE,
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "the database may not be written, or its file system is read-only",
    "SQLITE_PERM": "the database may not be opened",
    "SQLITE_CANTOPEN": "the database cannot be opened; also reading takes the right to write in its directory",
    "SQLITE_IOERR": "the disk fails",
    "SQLITE_NOMEM": "memory ran out",
    "SQLITE_BUSY": "another program has the database open",
    "TimeoutError": "all readers are busy",
    "SQLITE_TOOBIG": "a value is too large for the database",
}


def meaning(error: Exception) -> str:
    """What went wrong, for people."""
    name = _name(error)
    known = next(
        (text for prefix, text in _MEANINGS.items() if name.startswith(prefix)),
        "the database refused",
    )
    return f"{known} ({name})"


def unread(error: Exception) -> NotReadable:
    """What a failure to read comes to."""
    return _damage(error) or NotReadable(meaning(error))


def unwritten(error: Exception) -> StorageFailed:
    """What a failure to write comes to."""
    return _damage(error) or StorageFailed(meaning(error))


def check_not_emptied(path: Path) -> None:
    """Checks that a database is not a file of no bytes, which SQLite would take for a new one.

    Raises:
        Damaged: It is.
    """
    if path.is_file() and path.stat().st_size == 0:
        remedy = f"{RESTORE}, or remove the file to begin anew"
        raise Damaged(f"{path.name} is empty, and what it held is lost", remedy)


def _damage(error: Exception) -> Damaged | None:
    return Damaged(meaning(error)) if _name(error).startswith(tuple(_DAMAGE)) else None


def _name(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlite_errorname", None) or type(cause or error).__name__


FAILURES = (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError)
"""Everything that the database may raise."""
