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

from lavagna import ActivationState, Board, Entry, Kind, Outcome
from lavagna_crew.demo.launch import Launch, held
from lavagna_crew.demo.processes import Processes
from lavagna_crew.demo.server import Server
from lavagna_crew.place import Place

SCRIPTED = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
"""An environment that names no model."""


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
        self.running = asyncio.create_task(held(launch, self.transcript.console))

    async def end(self) -> int:
        """The exit code."""
        return await self.running


@asynccontextmanager
async def demonstration(launch: Launch) -> AsyncGenerator[Demonstration, None]:
    """A demonstration that is over when the block is; pytest shows what it said if a test fails."""
    one = Demonstration(launch)
    try:
        yield one
    finally:
        one.running.cancel()
        await asyncio.wait([one.running])
        print(one.transcript.getvalue())  # noqa: T201 - for the one who looks at a failure


@asynccontextmanager
async def server_on(data_dir: Path, *, tokens: bool = False) -> AsyncGenerator[Server, None]:
    """A server of the test's own, which trusts names unless it wants tokens."""
    logs = data_dir.parent / "logs"
    logs.mkdir(exist_ok=True)
    async with Processes(logs) as processes:
        server = Server(processes, data_dir, options=["--tokens"] if tokens else [])
        await server.start()
        await server.ready()
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


def launch(tmp_path: Path, task: str = "lru-cache", **more: object) -> Launch:
    """A demonstration that plays at once and builds into the test's folder."""
    options: dict[str, object] = {"pace": 0.0, "environment": SCRIPTED, **more}
    return Launch(out=tmp_path / "out", task=task, **options)  # type: ignore[arg-type]


async def assert_nothing_was_done_twice(board: Board) -> None:
    """Each attempt, edition, result and verdict was written by an activation of its own, once."""
    numbers = {"submissions/*": "attempt", "suites/*": "edition"}
    for pattern, number in numbers.items():
        for key, written in (await versions(board, pattern)).items():
            assert [one.value[number] for one in written] == list(range(1, len(written) + 1)), key
    await assert_decided_once(board)
    causes = [
        (entry.key, entry.cause.activation_id)
        for written in (await versions(board, "**")).values()
        for entry in written
        if entry.cause is not None
    ]
    assert len(causes) == len(set(causes))
    states = {one.state async for one in board.activations.list()}
    assert states <= {ActivationState.COMPLETED, ActivationState.OBVIATED}


async def assert_decided_once(board: Board) -> None:
    """Each design was proposed once, voted on once by everybody who did, and handed out once."""
    proposals = [one async for one in board.proposals.list("design")]
    assert [one.value["edition"] for one in proposals] == list(range(1, len(proposals) + 1))
    ends = [one.outcome for one in proposals]
    assert ends[-1:] == [Outcome.ACCEPTED]
    assert ends.count(Outcome.ACCEPTED) == 1
    assert {ballot.version for one in proposals for ballot in one.ballots} == {1}
    for pattern in ("design", "tasks/*", "opinions/**"):
        assert {len(written) for written in (await versions(board, pattern)).values()} == {1}
    async for claim in board.claims.list("estimate"):
        history = [one async for one in board.history(claim.key, kind=Kind.CLAIM)]
        causes = [one.cause.activation_id for one in history if one.cause is not None]
        assert len(history) == len(set(causes)) <= len(proposals)


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
