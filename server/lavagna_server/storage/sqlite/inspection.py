"""A database looked at from beside the server that uses it.

Looking takes no lock and writes nothing, so that backups and checks work while a server runs.
"""

from __future__ import annotations

import fcntl
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, func, select

from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.errors import StartRefused
from lavagna_server.domain.triggers import TriggerId
from lavagna_server.ports.store import Snapshot
from lavagna_server.storage.reading import Reading
from lavagna_server.storage.sqlite import backup, connections, schema
from lavagna_server.storage.sqlite.connections import DATABASE_FILE
from lavagna_server.storage.sqlite.failures import FAILURES, check_not_emptied, unread
from lavagna_server.storage.sqlite.lock import LOCK_FILE
from lavagna_server.storage.tables import edges, triggers
from lavagna_server.storage.verification import Finding, Progress, findings

_ORPHANED = edges.outerjoin(
    triggers,
    (triggers.c.board == edges.c.board)
    & (triggers.c.owner == edges.c.owner)
    & (triggers.c.name == edges.c.trigger),
)
_ORPHANS = (
    select(edges.c.board, edges.c.owner, edges.c.trigger, func.count())
    .select_from(_ORPHANED)
    .where(triggers.c.name.is_(None))
    .group_by(edges.c.board, edges.c.owner, edges.c.trigger)
)


class Inspection:
    """What one transaction on a database sees."""

    def __init__(self, connection: Connection, snapshot: Snapshot) -> None:
        self._connection = connection
        self.snapshot = snapshot

    def damage(self) -> Sequence[str]:
        """What SQLite finds wrong with the file."""
        rows = self._connection.exec_driver_sql("PRAGMA integrity_check(10)").all()
        told = [line for (text,) in rows for line in text.splitlines()]
        return [line for line in told if line != "ok" and not line.startswith("***")]

    def verify(self, progress: Progress | None = None) -> Sequence[Finding]:
        """What is wrong with the logs, and with the heads that are made of them."""
        return findings(self._connection, progress=progress)

    def orphaned_edges(self) -> Sequence[tuple[TriggerId, int]]:
        """The triggers that there are not, but of which edges are remembered; and how many."""
        rows = self._connection.execute(_ORPHANS).all()
        return [
            (TriggerId(SpaceName(board, owner), name), count) for board, owner, name, count in rows
        ]

    def back_up(self, target: Path, progress: Progress | None = None) -> None:
        """Copies everything that is seen to a new file.

        Raises:
            Invalid: The file exists.
            StorageFailed: It cannot be written.
        """
        backup.back_up(self._connection, target, progress)


@contextmanager
def inspected(directory: Path) -> Generator[Inspection]:
    """The database of a directory, whether or not a server uses it.

    Raises:
        StartRefused: There is none, or it belongs to another program or to a newer server.
        NotReadable: It cannot be read, in particular `Damaged`.
    """
    path = directory / DATABASE_FILE
    if not path.is_file():
        raise StartRefused(f"{directory} holds no board")
    check_not_emptied(path)
    engine = connections.readers(path, 1)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            schema.check(connection)
            with closing(Reading(connection, {})) as snapshot:
                yield Inspection(connection, snapshot)
    except FAILURES as error:
        raise unread(error) from error
    finally:
        engine.dispose()


def holder(directory: Path) -> str:
    """Who uses a directory, as its lock tells; empty when nobody does."""
    path = directory / LOCK_FILE
    if not path.exists():
        return ""
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read().strip() or "a server that is just starting"
    return ""
