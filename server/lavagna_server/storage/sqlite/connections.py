"""Connections to a database file: one that writes and alone checkpoints, and a bounded number of readers.

SQLite before 3.51.3 can lose its write-ahead log when two connections write or checkpoint at once, so only one ever does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import QueuePool

DATABASE_FILE = "board.db"
"""The name of the database in a data directory."""

_EVERY = ("busy_timeout=5000", "mmap_size=0", "trusted_schema=OFF", "temp_store=MEMORY")
_WRITER = (
    *_EVERY,
    "synchronous=FULL",
    "wal_autocheckpoint=2000",
    "journal_size_limit=67108864",
    "cache_size=-65536",
)
_READER = (*_EVERY, "query_only=ON", "wal_autocheckpoint=0", "cache_size=-16384")


def writer(path: Path) -> Engine:
    """Makes the one connection that writes."""
    return create_engine(
        "sqlite://",
        creator=_opener(path, _WRITER),
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
    )


def readers(path: Path, connections_max: int) -> Engine:
    """Makes connections that only read, on demand; each serves one thread at a time."""
    return create_engine(
        "sqlite://",
        creator=_opener(path, _READER),
        poolclass=QueuePool,
        pool_size=connections_max,
        max_overflow=0,
    )


def _opener(path: Path, pragmas: Iterable[str]) -> Callable[[], sqlite3.Connection]:
    def opened() -> sqlite3.Connection:
        # Transactions begin where this program says so, never by themselves.
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        return connection

    return opened
