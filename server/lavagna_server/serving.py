"""Serving: a server in the foreground, from its first line to its exit code."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any

import structlog

from lavagna_server import logs
from lavagna_server.assembly import ADMIN_TOKEN_FILE, Server, build
from lavagna_server.domain.errors import StartRefused, StorageFailed
from lavagna_server.settings import (
    Settings,
    SettingsRefused,
    default_data_dir,
    settings_from,
    unknown_variables,
)
from lavagna_server.storage.damage import Damaged, NotReadable

SWITCH_SECONDS = 0.000_1
"""How soon a thread gives way to another. Each write passes from the event loop to the writer and back: at Python's own
5 ms, a lone write on a busy machine takes more than twice as long."""


_log = structlog.get_logger("lavagna.server")


class Exit(IntEnum):
    """What the exit code of a server says."""

    OK = 0
    """It was told to stop, and did."""
    USAGE = 2
    """A setting is wrong."""
    UNAVAILABLE = 8
    """What it was given cannot be used: a port or directory in use, a newer schema, a bad certificate."""
    UNHEALTHY = 10
    """Its data is damaged; the doctor says more, with the same code."""
    KILLED = 130
    """It was told to stop twice."""


_EXITS: Mapping[type[Exception], Exit] = {
    SettingsRefused: Exit.USAGE,
    Damaged: Exit.UNHEALTHY,
    Exception: Exit.UNAVAILABLE,
}
"""What keeps a server from starting, the particular first."""


def serve(
    given: Mapping[str, Any], *, in_memory: bool = False, ready_file: Path | None = None
) -> int:
    """Serves until SIGTERM or SIGINT; returns the exit code.

    `given` are settings by name, and beat the environment. Without a directory the board is kept in the user's, unless
    `in_memory`. What an operator has to know stands on standard output: the first line says whether names are trusted.
    What went wrong stands in one line on standard error. `ready_file` gets a JSON object with the address once the
    server answers.
    """
    settings: Settings | None = None
    try:
        os.umask(0o077)  # what the board holds is nobody else's to read
        sys.setswitchinterval(SWITCH_SECONDS)
        settings = _settings(given, in_memory=in_memory)
        logs.configure(settings.log_level, settings.log_format)
        return asyncio.run(_serve(settings, ready_file))
    except (StartRefused, StorageFailed) as error:
        where = f"{settings.data_dir}: " if settings and isinstance(error, NotReadable) else ""
        print(f"lavagna: {where}{error}", file=sys.stderr)  # noqa: T201
        return next(code for kind, code in _EXITS.items() if isinstance(error, kind))


def _settings(given: Mapping[str, Any], *, in_memory: bool) -> Settings:
    if in_memory:
        return settings_from({**given, "data_dir": None})
    settings = settings_from(given)
    return (
        settings if settings.data_dir else settings_from({**given, "data_dir": default_data_dir()})
    )


async def _serve(settings: Settings, ready_file: Path | None) -> int:
    stopping = _signals()
    for name, nearest in unknown_variables().items():
        _log.warning("unknown variable", name=name, nearest=nearest)
    server = build(settings)
    await server.start()
    try:
        print(*_greeting(server), sep="\n", flush=True)  # noqa: T201
        if ready_file is not None:
            _write_ready(ready_file, server)
        await stopping.wait()
    finally:
        await server.stop(settings.stop_seconds)
    return Exit.OK


def _signals() -> asyncio.Event:
    """Set by the first signal to stop; the second ends the process at once, which loses nothing that was acknowledged."""
    stopping = asyncio.Event()

    def told() -> None:
        if stopping.is_set():
            os._exit(Exit.KILLED)
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told)
    return stopping


def _greeting(server: Server) -> list[str]:
    settings = server.settings
    kept = (
        "in memory, and gone with this process"
        if settings.data_dir is None
        else f"in {settings.data_dir}"
    )
    if settings.trusts_names:
        lines = [
            "Names are trusted: on this machine, everyone may act as anyone. Use --tokens to ask for proof."
        ]
    elif settings.tls_client_ca is not None:
        lines = ["Callers prove who they are, with a client certificate or a token."]
    else:
        lines = ["Callers prove who they are, with a token."]
    if server.admin_token_path is not None:
        lines.append(f"the administrator's token, made just now, is in {server.admin_token_path}")
    return [
        *lines,
        f"listening on {server.address}",
        f"the board is kept {kept}",
        f"try: {_first_command(server)}",
    ]


def _first_command(server: Server) -> str:
    settings = server.settings
    words = ["lavagna", "put", "hello", "world", "--target", server.address]
    if settings.tls_cert is not None:
        words += ["--tls-ca", str(settings.tls_cert)]
    command = shlex.join(words)
    if settings.trusts_names or settings.data_dir is None:
        return command
    return (
        f'LAVAGNA_TOKEN="$(cat {shlex.quote(str(settings.data_dir / ADMIN_TOKEN_FILE))})" {command}'
    )


def _write_ready(path: Path, server: Server) -> None:
    # Renamed into place, so that whoever waits for it never reads half of it.
    draft = path.with_name(f"{path.name}.new")
    try:
        draft.write_text(json.dumps({"address": server.address, "pid": os.getpid()}) + "\n")
        draft.replace(path)
    except OSError as error:
        raise StartRefused(f"{path} cannot be written: {error.strerror}") from None
