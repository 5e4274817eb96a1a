"""Backups of a database: copied while it is used, and brought back as another life of its boards."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, bindparam, select, update

from lavagna_server.domain.errors import Invalid, StartRefused, StorageFailed
from lavagna_server.storage.damage import Damaged
from lavagna_server.storage.sqlite import connections, schema
from lavagna_server.storage.sqlite.connections import DATABASE_FILE
from lavagna_server.storage.sqlite.failures import FAILURES, check_not_emptied, meaning
from lavagna_server.storage.sqlite.lock import DirectoryLock
from lavagna_server.storage.tables import boards, spaces
from lavagna_server.storage.verification import Finding, Progress, findings

_PAGES = 1_024
"""How many pages one step copies: four megabytes."""

_BOARDS = select(spaces.c.board).union(select(boards.c.name))
_NEW_LIVES = (
    update(boards).where(boards.c.name == bindparam("of")).values(epoch=bindparam("life")),
    update(spaces).where(spaces.c.board == bindparam("of")).values(epoch=bindparam("life")),
)


def back_up(connection: Connection, target: Path, progress: Progress | None) -> None:
    """Copies what the connection's transaction sees to a new file, which appears when it is whole.

    Raises:
        Invalid: The file exists.
        StorageFailed: It cannot be written.
    """
    if target.exists():
        raise Invalid("target", "a file of that name exists: choose another")
    source = connection.connection.driver_connection
    assert isinstance(source, sqlite3.Connection)

    def tell(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    try:
        with _appearing(target) as path, closing(sqlite3.connect(path)) as copy:
            source.backup(copy, pages=_PAGES, progress=tell)
            copy.execute("PRAGMA journal_mode=DELETE")  # so that one file is all there is
    except OSError as error:
        raise StorageFailed(f"the backup cannot be written: {error.strerror}") from error
    except FAILURES as error:
        raise StorageFailed(f"the backup cannot be written: {meaning(error)}") from error


def restore(backup: Path, directory: Path, *, progress: Progress | None = None) -> None:
    """Makes a backup the database of a directory that has none, verified, and with a new epoch for every board.

    Raises:
        StartRefused: The directory has a database already or is in use, or the backup is none, is damaged, or is from a
            newer server. The directory is as it was.
    """
    try:
        check_not_emptied(backup)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = DirectoryLock(directory)
        try:
            if (directory / DATABASE_FILE).exists():
                raise StartRefused("the directory holds boards already: restore into another")
            with _appearing(directory / DATABASE_FILE) as path:
                shutil.copyfile(backup, path)
                _renew(path, progress)
        finally:
            lock.release()
    except OSError as error:
        raise StartRefused(f"the backup cannot be restored: {error.strerror}") from error
    except FAILURES as error:
        raise StartRefused(f"the backup cannot be restored: {meaning(error)}") from error
    except Damaged as error:
        raise StartRefused(f"the backup cannot be restored: {error.what}") from error


def _renew(path: Path, progress: Progress | None) -> None:
    engine = connections.writer(path)
    try:
        with engine.connect() as connection:
            schema.check(connection)
            _refuse(findings(connection, progress=progress))
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            for (board,) in connection.execute(_BOARDS).all():
                life = {"of": board, "life": secrets.token_hex(8)}
                for renewal in _NEW_LIVES:
                    connection.execute(renewal, life)
            connection.commit()
    finally:
        engine.dispose()


def _refuse(found: Sequence[Finding]) -> None:
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise StartRefused(f"the backup is damaged: {found[0]}{more}")


@contextmanager
def _appearing(target: Path) -> Generator[Path]:
    """A file to write beside the target, which takes its place when it is whole and on the disk."""
    path = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        yield path
        _sync(path)
        path.rename(target)
        _sync(target.parent)
    finally:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
