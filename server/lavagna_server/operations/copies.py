"""Backups: one file, made while a server runs, and brought back as another life of its boards."""

from __future__ import annotations

from pathlib import Path

from lavagna_server.domain.errors import StartRefused, StorageFailed
from lavagna_server.storage.sqlite import restore as restore_database
from lavagna_server.storage.sqlite.inspection import inspected
from lavagna_server.storage.sqlite.lock import LOCK_FILE
from lavagna_server.storage.verification import Progress


def backup(data_dir: Path, out: Path, *, progress: Progress | None = None) -> None:
    """Copies the boards of a directory to a new file, as they are now; a server may run on them meanwhile.

    `progress` is told the pages copied and those there are. The file appears when it is whole.

    Raises:
        StartRefused: The directory holds no board, or the file exists.
        StorageFailed: The boards cannot be read, or the file cannot be written.
    """
    if out.exists():
        raise StartRefused(f"{out} exists already: choose another name")
    if not out.parent.is_dir():
        raise StorageFailed(f"{out.parent} is not a directory")
    with inspected(data_dir) as inspection:
        inspection.back_up(out, progress)


def restore(source: Path, data_dir: Path, *, progress: Progress | None = None) -> None:
    """Makes a backup the boards of an empty directory, verified, under a new epoch, so that old watch tokens are refused.

    `progress` is told the commits verified and those there are.

    Raises:
        StartRefused: The directory is not empty, or the backup is none, is damaged, or is of a newer server.
    """
    if not source.is_file():
        raise StartRefused(f"{source} is not a file")
    if data_dir.exists() and not data_dir.is_dir():
        raise StartRefused(f"{data_dir} is not a directory")
    if data_dir.is_dir() and any(each.name != LOCK_FILE for each in data_dir.iterdir()):
        raise StartRefused(f"{data_dir} is not empty: restore into a new directory")
    restore_database(source, data_dir, progress=progress)
