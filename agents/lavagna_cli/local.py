"""What the command line does on this machine itself, through parts that need not be installed.

The server and the crew are imported when they are needed, because an agent's machine has neither.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from lavagna_cli.failures import NotInstalled


def serve(given: Mapping[str, Any], *, in_memory: bool, ready_file: Path | None) -> int:
    """Runs a server with these settings until it is told to stop; its exit code.

    Raises:
        NotInstalled: The server is not.
    """
    server = _part("lavagna_server.__main__", extra="server")
    return int(server.serve(given, in_memory=in_memory, ready_file=ready_file))


def demonstrate(given: Mapping[str, Any]) -> int:
    """Holds the demonstration with these options of `lavagna_crew.demo.run`; its exit code.

    Raises:
        NotInstalled: The crew, or the server that it starts, is not.
    """
    _part("lavagna_server.__main__", extra="server")
    crew = _part("lavagna_crew.demo", extra="crew")
    return int(crew.run(**given))


def _part(module: str, *, extra: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise NotInstalled(
            f"This needs {missing.name}, which is not installed.",
            hint=f"Run pip install 'lavagna[{extra}]'.",
        ) from None
