"""The schema of a database file: made in a new one, recognized in an old one."""

from __future__ import annotations

from sqlalchemy import Connection

from lavagna_server.domain.errors import StartRefused
from lavagna_server.storage.tables import METADATA, SCHEMA_VERSION

APPLICATION_ID = 0x4C617667
"""Tells the files of this server from those of others."""


def prepare(connection: Connection) -> None:
    """Makes the tables in an empty database, and checks those of another.

    Raises:
        StartRefused: The database belongs to another program, or to a newer or an earlier server.
    """
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    if _is_empty(connection):
        METADATA.create_all(connection)
        connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")
    check(connection)
    # Written at every start: nothing else tells early that a file may only be read.
    connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")
    connection.commit()


def check(connection: Connection) -> None:
    """Checks that this server can read the database.

    Raises:
        StartRefused: It belongs to another program or to a newer server.
    """
    if _number(connection, "application_id") != APPLICATION_ID:
        raise StartRefused("the database belongs to another program, or its header is damaged")
    version = _number(connection, "user_version")
    if version > SCHEMA_VERSION:
        raise StartRefused(
            f"the database was written by a newer server (schema {version}, this one knows {SCHEMA_VERSION}): upgrade"
        )
    if version < SCHEMA_VERSION:
        raise StartRefused(
            f"the database was written by an earlier server (schema {version}, this one writes {SCHEMA_VERSION}): "
            "export its boards with the server that wrote it, and import them here"
        )


def _is_empty(connection: Connection) -> bool:
    return not connection.exec_driver_sql("SELECT name FROM sqlite_master LIMIT 1").all()


def _number(connection: Connection, pragma: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {pragma}").scalar_one())
