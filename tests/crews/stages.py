"""Stages: demonstrations under observation, and servers that stay to be looked at."""

import asyncio
import os
import re
import select
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

from rich.console import Console

from lavagna import Board, Entry
from lavagna_crew.demo.launch import Launch, held
from lavagna_crew.demo.processes import Processes
from lavagna_crew.demo.server import Server
from lavagna_crew.place import Place


class Transcript(StringIO):
    """What a demonstration prints, as it does."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(file=self, width=200)
        self._more = asyncio.Event()

    @property
    def lines(self) -> list[str]:
        """The lines so far."""
        return self.getvalue().splitlines()

    def write(self, text: str) -> int:
        self._more.set()
        return super().write(text)

    async def match(self, pattern: str) -> re.Match[str]:
        """The first match of a pattern in one of the lines, as soon as there is one."""
        while True:
            self._more.clear()
            for line in self.lines:
                if found := re.search(pattern, line):
                    return found
            await self._more.wait()

    async def process_of(self, agent: str) -> int:
        """The process id of an agent, as soon as it is up."""
        return int((await self.match(rf" {agent} +is up, process (\d+)"))[1])

    async def server_process(self) -> int:
        """The process id of the demonstration's own server."""
        return int((await self.match(r"a server, process (\d+)"))[1])


class Demonstration:
    """A demonstration that runs beside the test."""

    def __init__(self, launch: Launch) -> None:
        self.transcript = Transcript()
        self.exit_code = asyncio.create_task(held(launch, self.transcript.console))

    async def end(self) -> int:
        """The exit code; what was printed explains a failed assertion about it."""
        code = await self.exit_code
        print(self.transcript.getvalue())  # noqa: T201 - pytest shows it when the test fails
        return code


@asynccontextmanager
async def server_on(data_dir: Path) -> AsyncGenerator[Server, None]:
    """A server of the test's own."""
    logs = data_dir.parent / "logs"
    logs.mkdir(exist_ok=True)
    async with Processes(logs) as processes:
        server = Server(processes, data_dir)
        await server.start()
        await server.ready(Place(server.target, "main"))
        yield server


@asynccontextmanager
async def board_on(server: Server, board: str) -> AsyncGenerator[Board, None]:
    """A board on a server, as somebody who only looks."""
    async with Place(server.target, board).open("onlooker") as view:
        yield view


async def versions(board: Board, pattern: str) -> dict[str, list[Entry]]:
    """The versions of every entry that matches, oldest first."""
    found = defaultdict[str, list[Entry]](list)
    async for entry in board.entries(pattern, keys_only=True):
        found[entry.key] = [one async for one in board.history(entry.key)][::-1]
    return found


def children() -> set[int]:
    """The processes that this one started and that are still there."""
    listed = Path("/proc/self/task").glob("*/children")
    return {int(pid) for path in listed for pid in path.read_text().split()}


async def ended(handle: int) -> bool:
    """Whether the process of a pidfd, which need not be ours, ends within a minute."""
    ready, _, _ = await asyncio.to_thread(select.select, [handle], [], [], 60)
    os.close(handle)
    return bool(ready)


def is_alive(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
