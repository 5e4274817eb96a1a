"""The store on SQLite: a board in one directory, for one server."""

from lavagna_server.storage.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
