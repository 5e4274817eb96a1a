"""What the command line does on this machine itself, through parts that need not be installed.

The server and the crew are imported when they are needed, because an agent's machine has neither.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from lavagna_cli.failures import NotAllowed, NotInstalled, NotUsable
from lavagna_cli.progress import Report


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a server's data that is not as it should be."""

    area: str
    what: str
    remedy: str
    is_repaired: bool


def serve(given: Mapping[str, Any], *, in_memory: bool, ready_file: Path | None) -> int:
    """Runs a server with these settings until it is told to stop; its exit code.

    Raises:
        NotInstalled: The server is not.
    """
    return int(_server().serve(given, in_memory=in_memory, ready_file=ready_file))


def data_dir() -> Path:
    """Where a server keeps its boards when nobody says otherwise."""
    said = os.environ.get("LAVAGNA_DATA_DIR")
    return Path(said) if said else Path(_server().default_data_dir())


def backup(data_dir: Path, out: Path, report: Report) -> None:
    """Copies the boards of a directory to a new file; a server may run on them meanwhile.

    Raises:
        NotAllowed: The directory holds no board.
        NotUsable: The boards cannot be read, or the file cannot be written.
    """
    with _own_failures() as server:
        server.backup(data_dir, out, progress=report)


def restore(source: Path, data_dir: Path, report: Report) -> None:
    """Makes a backup the boards of an empty directory, under a new epoch.

    Raises:
        NotAllowed: The directory is not empty, or the backup is damaged or none.
        NotUsable: The files cannot be read or written.
    """
    with _own_failures() as server:
        server.restore(source, data_dir, progress=report)


def examined(data_dir: Path, *, repair: bool, report: Report) -> list[Finding]:
    """What is wrong with the boards of a directory, and what of it this repaired.

    Raises:
        NotAllowed: The directory holds no board, or a server runs and `repair` is asked for.
        NotUsable: The boards cannot be read.
    """
    with _own_failures() as server:
        found = server.doctor(data_dir, repair=repair, progress=report)
    return [
        Finding(each.area.value, each.what, each.remedy, is_repaired=each.is_repaired)
        for each in found
    ]


def demonstrate(given: Mapping[str, Any]) -> int:
    """Holds the demonstration with these options of `lavagna_crew.demo.run`; its exit code.

    Raises:
        NotInstalled: The crew is not.
    """
    crew = _part("lavagna_crew.demo", extra="crew,server")
    return int(crew.run(**given))


def _server() -> Any:
    return _part("lavagna_server.__main__", extra="server")


@contextmanager
def _own_failures() -> Generator[Any]:
    """The server's part, whose errors become failures of the command line."""
    server = _server()
    try:
        yield server
    except server.StartRefused as refused:
        raise NotAllowed(str(refused)) from None
    except server.StorageFailed as failed:
        raise NotUsable(str(failed)) from None


def _part(module: str, *, extra: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise NotInstalled(
            f"This needs {missing.name}, which is not installed.",
            hint=f"Run pip install 'lavagna[{extra}]'.",
        ) from None
