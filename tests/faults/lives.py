"""Servers in processes of their own, which die and come back on the same data and port."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lavagna
from lavagna import Board, Retry
from lavagna_crew import tether
from tests.faults import hatchery

DEADLINE_SECONDS = 60
"""How long anything here may take before it counts as a hang."""
DOGGED = Retry(attempts_max=10_000, first_seconds=0.01, most_seconds=0.1)
"""For clients of a server that comes back soon: they ask often, and never give up."""
ONCE = Retry(attempts_max=1)
"""For clients that want to see what a single call comes to."""
KILLED = -signal.SIGKILL

_PORTS = range(20_000, 32_000)
"""Below the ports that the system gives to clients: whoever calls a dead server on one of those may reach itself."""


@dataclass
class Life:
    """One process of a server, from its start to its end."""

    listening: asyncio.Future[str]
    """Its address, once it answers."""
    ended: asyncio.Future[int]
    """Its exit code, or the negative number of the signal that killed it."""
    pid: int = 0

    async def end(self) -> int:
        """How it ended, once it has."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await asyncio.shield(self.ended)

    async def kill(self) -> int:
        """Ends it as `kill -9` does."""
        return await self._sent(signal.SIGKILL)

    async def stop(self) -> int:
        """Tells it to stop; gives its exit code."""
        return await self._sent(signal.SIGTERM)

    async def _sent(self, number: signal.Signals) -> int:
        if not self.ended.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
        return await self.end()


class Hatchery:
    """Starts servers from a process that has imported them already."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._orders, self._told = process.stdin, process.stdout
        self._lives: dict[int, Life] = {}
        self._starting: Life | None = None
        self._turn = asyncio.Lock()

    async def start(self, *arguments: str, **environment: str) -> Life:
        """A server that answers, or has ended before it did."""
        loop = asyncio.get_running_loop()
        life = Life(loop.create_future(), loop.create_future())
        order = {"arguments": ["serve", *arguments], "environment": environment}
        async with self._turn, asyncio.timeout(DEADLINE_SECONDS):
            self._starting = life
            self._orders.write(json.dumps(order).encode() + b"\n")
            either: Sequence[asyncio.Future[Any]] = (life.listening, life.ended)
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return life

    async def listen(self) -> None:
        """Takes in what the process tells, until it ends."""
        async for line in self._told:
            match line.decode().split():
                case ["hatched", pid] if self._starting is not None:
                    self._starting.pid = int(pid)
                    self._lives[int(pid)] = self._starting
                case ["ended", pid, status]:
                    ended = self._lives.pop(int(pid)).ended
                    ended.set_result(os.waitstatus_to_exitcode(int(status)))
                case ["listening", "on", address] if self._starting is not None:
                    self._starting.listening.set_result(address)
                case _:
                    pass


@asynccontextmanager
async def opened_hatchery() -> AsyncGenerator[Hatchery]:
    """A hatchery; its servers end with it, and all of them with this process."""
    tied = [sys.executable, "-I", "-S", tether.__file__, str(os.getpid())]
    command = [*tied, sys.executable, "-m", hatchery.__name__]
    environment = {name: value for name, value in os.environ.items() if not _chooses(name)}
    environment["LAVAGNA_LOG_LEVEL"] = "warning"
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, env=environment, cwd=Path(__file__).parents[2]
    )
    opened = Hatchery(process)
    listening = asyncio.create_task(opened.listen())
    try:
        yield opened
    finally:
        process.kill()
        await process.wait()
        await listening


class Server:
    """A server on one directory and one port, life after life."""

    def __init__(self, hatchery: Hatchery, data_dir: Path) -> None:
        self._hatchery = hatchery
        self.data_dir = data_dir
        self.target = f"127.0.0.1:{free_port()}"
        self._life: Life | None = None

    async def start(self, **environment: str) -> Life:
        """Its next life, once it answers."""
        place = ["--data-dir", str(self.data_dir), "--listen", self.target]
        self._life = life = await self._hatchery.start(*place, **environment)
        assert life.listening.done(), f"the server ended with {life.ended.result()}"
        return life

    async def kill(self) -> None:
        """Ends its newest life, if there is one that has not ended."""
        if self._life is not None:
            await self._life.kill()

    async def start_to_die(self, point: str, count: int) -> Life:
        """A life that ends by SIGKILL when it passes a point of the write path for the n-th time."""
        return await self.start(LAVAGNA_FAULT=f"{point}:{count}")

    def connect(self, agent: str, retry: Retry = DOGGED) -> AbstractAsyncContextManager[Board]:
        """The board `main`, as an agent sees it."""
        return lavagna.connect(self.target, agent=agent, board="main", retry=retry)


def free_port() -> int:
    """A port on which nobody listens."""
    for port in random.sample(_PORTS, len(_PORTS)):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("there is no free port")


def _chooses(variable: str) -> bool:
    """Whether a variable would choose how a server runs, in place of the test."""
    return variable.startswith("LAVAGNA_")
