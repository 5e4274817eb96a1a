"""The store on SQLite: a board in one directory, for one server."""

from lavagna_server.storage.sqlite.backup import restore
from lavagna_server.storage.sqlite.connections import DATABASE_FILE
from lavagna_server.storage.sqlite.store import SQLITE_VERSION, SqliteStore

__all__ = ["DATABASE_FILE", "SQLITE_VERSION", "SqliteStore", "restore"]
