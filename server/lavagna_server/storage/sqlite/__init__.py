"""The store on SQLite: a board in one directory, for one server."""

from lavagna_server.storage.sqlite.store import DATABASE_FILE, SQLITE_VERSION, SqliteStore

__all__ = ["DATABASE_FILE", "SQLITE_VERSION", "SqliteStore"]
