"""Servers on free ports: as processes of their own, asked to stop or killed, or inside this process on a directory."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lavagna_server.assembly import Server, build
from lavagna_server.ports.clock import Clock
from lavagna_server.settings import settings_from

HANG_SECONDS = 60
LISTENING = "listening on "
LAST_WORDS = "try: "
"""How the last line begins that a server prints when it is up."""


@dataclass
class ServerProcess:
    """A server that is up."""

    process: Process
    lines: list[str] = field(default_factory=list[str])
    """What it printed on its way up."""

    @property
    def address(self) -> str:
        """Where it listens."""
        return next(line for line in self.lines if line.startswith(LISTENING))[len(LISTENING) :]

    def signal(self, *numbers: signal.Signals) -> None:
        """Sends signals, one right after the other."""
        for number in numbers:
            self.process.send_signal(number)

    async def ended(self) -> int:
        """Its exit code; minus a signal's number when that ended it."""
        return await asyncio.wait_for(self.process.wait(), HANG_SECONDS)

    async def log(self) -> list[dict[str, Any]]:
        """What it logged that was not read yet, once it has ended; each line is an object."""
        assert self.process.stderr is not None
        return [json.loads(line) for line in (await self.process.stderr.read()).splitlines()]

    async def logged(self, name: str) -> dict[str, Any]:
        """The next event of that name in its log, when it comes; those before it are passed over."""
        assert self.process.stderr is not None
        async with asyncio.timeout(HANG_SECONDS):
            while line := await self.process.stderr.readline():
                event: dict[str, Any] = json.loads(line)
                if event["event"] == name:
                    return event
        raise AssertionError(f"{name} was not logged")

    async def stop(self) -> int:
        """Asks it to stop and gives its exit code."""
        self.signal(signal.SIGTERM)
        return await self.ended()


@asynccontextmanager
async def server_process(
    *options: str | Path, environment: Mapping[str, str] | None = None
) -> AsyncGenerator[ServerProcess]:
    """A server with these options of `serve`, on a free port; killed at the end if it still runs."""
    process = await _started("--listen", "127.0.0.1:0", *options, environment=environment)
    server = ServerProcess(process)
    try:
        await asyncio.wait_for(_read_greeting(server), HANG_SECONDS)
        yield server
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def outcome(
    *options: str | Path, environment: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """The exit code of a server that cannot start, and what it printed and complained."""
    process = await _started(*options, environment=environment)
    try:
        output, errors = await asyncio.wait_for(process.communicate(), HANG_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, output.decode(), errors.decode()


async def _started(*options: str | Path, environment: Mapping[str, str] | None) -> Process:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("LAVAGNA_")
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "lavagna_server",
        "serve",
        *options,
        stdout=PIPE,
        stderr=PIPE,
        env={**inherited, **(environment or {})},
    )


async def _read_greeting(server: ServerProcess) -> None:
    assert server.process.stdout is not None
    while not (server.lines and server.lines[-1].startswith(LAST_WORDS)):
        line = await server.process.stdout.readline()
        if not line:
            _, errors = await server.process.communicate()
            raise AssertionError(f"the server did not come up: {errors.decode()}")
        server.lines.append(line.decode().rstrip("\n"))


@asynccontextmanager
async def local_server(
    data_dir: Path, *, clock: Clock | None = None, **settings: Any
) -> AsyncGenerator[Server]:
    """A server inside this process on a directory, on a free port; stopped at the end."""
    given = {"listen": "127.0.0.1:0", "data_dir": data_dir, **settings}
    server = build(settings_from(given), clock=clock)
    await server.start()
    try:
        yield server
    finally:
        await server.stop(0)
