"""The store on SQLite: transactions on the one connection that writes, snapshots on connections that read."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Lock

from sqlalchemy import Connection, Engine, Insert, Table
from sqlalchemy.dialects import sqlite

from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.errors import StartRefused, StorageFailed
from lavagna_server.ports.store import Changes, Snapshot, Transaction
from lavagna_server.storage.batches import Batches
from lavagna_server.storage.reading import Reading
from lavagna_server.storage.sqlite import backup, connections, schema
from lavagna_server.storage.sqlite.connections import DATABASE_FILE
from lavagna_server.storage.sqlite.failures import FAILURES, check_not_emptied, unread, unwritten
from lavagna_server.storage.sqlite.lock import DirectoryLock
from lavagna_server.storage.verification import Finding, Progress, findings
from lavagna_server.storage.writing import Writing

SQLITE_VERSION = sqlite3.sqlite_version
"""The version of the library that this process runs."""


def _upsert(table: Table, key: Sequence[str], rest: Sequence[str]) -> Insert:
    statement = sqlite.insert(table)
    if not rest:
        return statement.on_conflict_do_nothing(index_elements=key)
    replaced = {name: statement.excluded[name] for name in rest}
    return statement.on_conflict_do_update(index_elements=key, set_=replaced)


_BATCHES = Batches(sqlite.dialect(), _upsert)


class _Transaction(Writing):
    """A transaction that knows whether SQLite has ended it."""

    def write(self, changes: Changes) -> None:
        # SQLite rolls back by itself when a read meets a failing disk; what is written after that would be committed row by row.
        if not self._connection.connection.driver_connection.in_transaction:  # type: ignore[union-attr]
            raise StorageFailed("the database gave up the transaction after an error")
        super().write(changes)


class SqliteStore:
    """A `Store` in a directory of its own."""

    def __init__(self, lock: DirectoryLock, writer: Engine, readers: Engine) -> None:
        self._lock = lock
        # Readers end first, so that the writer makes the last checkpoint.
        self._engines = (readers, writer)
        self._readers = readers
        self._writer = writer.connect()
        self._writing = Lock()
        self._space_ids: dict[SpaceName, int] = {}

    @classmethod
    def open(cls, directory: Path, *, readers_max: int = 8) -> SqliteStore:
        """The store in `directory`, which is made when it does not exist.

        Raises:
            StartRefused: Another server uses it, it holds something else, or it may not be written.
            NotReadable: The database cannot be read, in particular `Damaged`.
        """
        with ExitStack() as undo:
            try:
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                lock = DirectoryLock(directory)
                undo.callback(lock.release)
                path = directory / DATABASE_FILE
                check_not_emptied(path)
                writer = connections.writer(path)
                undo.callback(writer.dispose)
                with writer.connect() as connection:
                    _keep_log(connection)
                    schema.prepare(connection)
                store = cls(lock, writer, connections.readers(path, readers_max))
            except OSError as error:
                raise StartRefused(f"{directory}: {error.strerror}") from error
            except FAILURES as error:
                raise unread(error) from error
            undo.pop_all()
            return store

    @contextmanager
    def transaction(self) -> Generator[Transaction]:
        """A write transaction; nobody else can write until it ends."""
        with self._writing:
            connection = self._writer
            try:
                _run(connection, "BEGIN IMMEDIATE")
                with closing(_Transaction(connection, self._space_ids, _BATCHES)) as writing:
                    yield writing
                connection.connection.commit()
            except BaseException as error:
                self._space_ids.clear()  # some may be of spaces that do not come to be
                connection.connection.rollback()
                if isinstance(error, FAILURES):
                    raise unwritten(error) from error
                raise
            finally:
                connection.rollback()  # only in SQLAlchemy's books: the database has ended it

    @contextmanager
    def snapshot(self) -> Generator[Snapshot]:
        """A view of everything that is committed now."""
        with self._reader() as connection, closing(Reading(connection, {})) as reading:
            yield reading

    def verify(
        self, *, commits_max: int | None = None, progress: Progress | None = None
    ) -> Sequence[Finding]:
        """What is wrong with the stored logs: with the newest `commits_max` commits of each space, or with all."""
        with self._reader() as connection:
            return findings(connection, commits_max=commits_max, progress=progress)

    def back_up(self, target: Path, *, progress: Progress | None = None) -> None:
        """Copies everything that is committed now to a new file, while others read and write.

        Raises:
            Invalid: The file exists.
            StorageFailed: It cannot be written.
        """
        with self._reader() as connection:
            backup.back_up(connection, target, progress)

    @contextmanager
    def _reader(self) -> Generator[Connection]:
        try:
            with self._readers.connect() as connection:
                # SQLite takes a snapshot at the first read, not at BEGIN.
                _run(connection, "BEGIN", "SELECT 1 FROM spaces LIMIT 1")
                yield connection
        except FAILURES as error:
            raise unread(error) from error

    def close(self) -> None:
        """Ends all connections and lets go of the directory."""
        self._writer.close()
        for engine in self._engines:
            engine.dispose()
        self._lock.release()


def _run(connection: Connection, *statements: str) -> None:
    # On the driver's cursor: half of what a small transaction costs would else be SQLAlchemy's.
    with closing(connection.connection.cursor()) as cursor:
        for statement in statements:
            cursor.execute(statement)
            cursor.fetchall()


def _keep_log(connection: Connection) -> None:
    mode = connection.exec_driver_sql("PRAGMA journal_mode=WAL").scalar_one()
    if mode != "wal":
        raise StartRefused(
            "the file system cannot keep a write-ahead log; network file systems often cannot"
        )
