"""What an operator does with a server: `python -m lavagna_server serve`, and what the command `lavagna` calls."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lavagna_server.domain.errors import StartRefused, StorageFailed
from lavagna_server.operations.copies import backup, restore
from lavagna_server.operations.doctor import doctor
from lavagna_server.operations.symptoms import Area, Finding
from lavagna_server.serving import Exit, serve
from lavagna_server.settings import default_data_dir

__all__ = [
    "Area",
    "Exit",
    "Finding",
    "StartRefused",
    "StorageFailed",
    "backup",
    "default_data_dir",
    "doctor",
    "main",
    "restore",
    "serve",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the command line, and does what it says."""
    given = _parser().parse_args(arguments)
    settings: Mapping[str, Any] = {
        name: value
        for name, value in vars(given).items()
        if value is not None and name not in {"command", "in_memory", "ready_file"}
    }
    return serve(settings, in_memory=given.in_memory, ready_file=given.ready_file)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lavagna_server", description="The blackboard server.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("serve", help="run a server until it is told to stop")
    command.add_argument("--data-dir", type=Path, metavar="DIR", help="where the board is kept")
    command.add_argument("--in-memory", action="store_true", help="keep it in memory instead")
    command.add_argument("--listen", metavar="HOST:PORT", help="port 0 takes a free one")
    command.add_argument(
        "--tokens", action=argparse.BooleanOptionalAction, help="have callers prove who they are"
    )
    command.add_argument(
        "--tls-cert", type=Path, metavar="FILE", help="the certificate chain, in PEM"
    )
    command.add_argument("--tls-key", type=Path, metavar="FILE", help="its key, in PEM")
    command.add_argument(
        "--tls-client-ca",
        type=Path,
        metavar="FILE",
        help="who vouches for the agents' certificates",
    )
    command.add_argument("--metrics-listen", metavar="HOST:PORT", help="metrics for Prometheus")
    command.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    command.add_argument("--log-format", choices=("auto", "json", "text"))
    command.add_argument(
        "--ready-file", type=Path, metavar="FILE", help="written with the address once it answers"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
