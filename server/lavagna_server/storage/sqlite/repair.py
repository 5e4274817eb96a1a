"""Repairs of a database that no server uses: what is derived from the log is made anew."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import delete, exists, false, func, insert, not_, select

from lavagna_server.storage.selects import LASTS
from lavagna_server.storage.sqlite import connections
from lavagna_server.storage.sqlite.connections import DATABASE_FILE
from lavagna_server.storage.sqlite.failures import FAILURES, unwritten
from lavagna_server.storage.sqlite.lock import DirectoryLock
from lavagna_server.storage.tables import alive, edges, heads, triggers, versions

_ENTRY = ("space", "kind", "key")
_NEWEST = (
    select(*(versions.c[name] for name in _ENTRY), func.max(versions.c.version).label("version"))
    .group_by(*(versions.c[name] for name in _ENTRY))
    .subquery()
)
_HEADS = select(
    *(versions.c[name] for name in (*_ENTRY, "version", "revision", "ordinal", "expires_at")),
    not_(LASTS),
).join(
    _NEWEST,
    (versions.c.space == _NEWEST.c.space)
    & (versions.c.kind == _NEWEST.c.kind)
    & (versions.c.key == _NEWEST.c.key)
    & (versions.c.version == _NEWEST.c.version),
)
_REPAIRS = (
    delete(heads),
    # Compaction keeps the newest version of every entry, so the log knows all heads.
    insert(heads).from_select(
        [*_ENTRY, "version", "revision", "ordinal", "expires_at", "ended"], _HEADS
    ),
    delete(alive),
    insert(alive).from_select(
        _ENTRY, select(*(heads.c[name] for name in _ENTRY)).where(heads.c.ended == false())
    ),
    delete(edges).where(
        ~exists().where(
            triggers.c.board == edges.c.board,
            triggers.c.owner == edges.c.owner,
            triggers.c.name == edges.c.trigger,
        )
    ),
)


def rebuild(directory: Path) -> None:
    """Makes the heads anew from the log, and forgets the edges of triggers that there are not.

    Raises:
        StartRefused: A server uses the directory.
        StorageFailed: It cannot be written; everything is as it was.
    """
    lock = DirectoryLock(directory)
    engine = connections.writer(directory / DATABASE_FILE)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            for repair in _REPAIRS:
                connection.execute(repair)
            connection.commit()
    except FAILURES as error:
        raise unwritten(error) from error
    finally:
        engine.dispose()
        lock.release()
