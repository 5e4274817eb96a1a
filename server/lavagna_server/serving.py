"""Serving: a server in the foreground, from its first line to its exit code."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
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


_ANY_HOST = ("0.0.0.0", "[::]")  # noqa: S104 (told apart, not listened on)
"""What is no name to call."""


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
    command, blanks = _first_command(server)
    return [
        _trust(settings),
        *_admin(server),
        f"listening on {server.address}",
        f"the board is kept {kept}",
        *(f"in the next line, {blank} stands for {what}" for blank, what in blanks.items()),
        f"try: {command}",
    ]


def _trust(settings: Settings) -> str:
    if settings.trusts_names:
        return "Names are trusted: on this machine, everyone may act as anyone. Use --tokens to ask for proof."
    if settings.tls_client_ca is None:
        return "Callers prove who they are, with a token."
    return (
        f"Callers prove who they are: all show a certificate that {settings.tls_client_ca} vouches for, "
        "and are the agent that it names, or the one of a token."
    )


def _admin(server: Server) -> Iterator[str]:
    if server.admin_token_path is not None:
        yield f"the administrator's token, made just now, is in {server.admin_token_path}"
    if server.admin_token:
        yield f"the administrator's token, gone with this process, is {server.admin_token}"


def _first_command(server: Server) -> tuple[str, Mapping[str, str]]:
    """A command that shows that the server works, and what stands in it for what only its reader knows."""
    settings, blanks = server.settings, dict[str, str]()
    host, _, port = server.address.rpartition(":")
    if host in _ANY_HOST:
        host = "HOST"
        blanks[host] = f"a name of this machine that {settings.tls_cert} is for"
    words = ["lavagna", "put", "hello", "world", "--target", f"{host}:{port}"]
    if settings.tls_cert is not None:
        words += ["--tls-ca", str(settings.tls_cert)]
    if settings.tls_client_ca is not None:
        blanks |= {"CLIENT.pem": "a certificate of yours", "CLIENT.key": "its key"}
        words += ["--tls-cert", "CLIENT.pem", "--tls-key", "CLIENT.key"]
    command = shlex.join(words)
    if settings.trusts_names:
        return command, blanks
    token = server.admin_token
    if settings.data_dir is not None and (path := settings.data_dir / ADMIN_TOKEN_FILE).exists():
        token = f'"$(cat {shlex.quote(str(path))})"'
    if not token:
        token = "TOKEN"  # noqa: S105 (a blank to fill in)
        blanks[token] = "yours"
    return f"LAVAGNA_TOKEN={token} {command}", blanks


def _write_ready(path: Path, server: Server) -> None:
    # Renamed into place, so that whoever waits for it never reads half of it.
    draft = path.with_name(f"{path.name}.new")
    try:
        draft.write_text(json.dumps({"address": server.address, "pid": os.getpid()}) + "\n")
        draft.replace(path)
    except OSError as error:
        raise StartRefused(f"{path} cannot be written: {error.strerror}") from None
