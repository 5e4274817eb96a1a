"""Runs a server: `python -m lavagna_server serve`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from lavagna_server.assembly import Server, build
from lavagna_server.domain.errors import BoardError
from lavagna_server.settings import Settings


def serve(settings: Settings) -> int:
    """Serves until it is told to stop; returns the process's exit code."""
    try:
        return asyncio.run(_serve(settings))
    except BoardError as error:
        print(f"lavagna: {error}", file=sys.stderr)  # noqa: T201
        return 1


async def _serve(settings: Settings) -> int:
    server = build(settings)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    await server.start()
    _announce(server)
    await stopping.wait()
    await server.stop()
    return 0


def _announce(server: Server) -> None:
    print(f"listening on {server.address}", flush=True)  # noqa: T201


def main() -> int:
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(prog="lavagna_server")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("serve")
    command.add_argument("--data-dir", type=Path)
    command.add_argument("--listen", default="127.0.0.1:7443")
    command.add_argument("--in-memory", action="store_true")
    given = parser.parse_args()
    data_dir = None if given.in_memory else given.data_dir
    return serve(Settings(data_dir=data_dir, listen=given.listen))


if __name__ == "__main__":
    sys.exit(main())
