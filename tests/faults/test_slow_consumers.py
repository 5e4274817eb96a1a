"""Watchers that stop reading, beside one that goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

import lavagna
from lavagna import Board, SlowConsumer
from lavagna.calls import Stream
from lavagna.v1 import entries_pb2
from lavagna.v1.watch_pb2 import WatchRequest, WatchResponse, WatchTarget
from tests.faults.lives import DEADLINE_SECONDS, Server
from tests.faults.witness import revisions_after
from tests.servers import server_process
from tests.streams import StreamRule, link_of_wire
from tests.wire import served

COMMITS = 10_000
VALUE = "x" * 1_000
WRITERS = 64
STALLED = 3
STALL_SECONDS = 1
GROWTH_BYTES_MAX = 34 << 20
"""What the server may grow by. Its page cache takes 22 MB of these commits; keeping them for a watcher takes 20 MB more."""

pytestmark = pytest.mark.faults


class Reading:
    """A watch that goes no further than its test reads, and never begins anew."""

    def __init__(self, stream: Stream[WatchResponse]) -> None:
        self._stream, self._rule = stream, StreamRule()
        self._more = asyncio.Event()
        self.revisions: list[int] = []
        self.token = ""
        """Resumes after what was read."""

    async def take(self) -> None:
        """Reads one message."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            message = await self._stream.read()
        assert message is not None
        self._rule.take(link_of_wire(message))
        self.revisions += [commit.revision for commit in message.commits]
        self.token = message.token
        self._more.set()

    async def until(self, revision: int) -> None:
        """Reads on until a revision was given."""
        while not self.revisions or self.revisions[-1] < revision:
            await self.take()

    async def progress(self, commits: int) -> None:
        """Waits until so many more were read."""
        goal = len(self.revisions) + commits
        while len(self.revisions) < goal:
            self._more.clear()
            await self._more.wait()


@asynccontextmanager
async def reading(address: str, agent: str) -> AsyncGenerator[Reading]:
    """A watch of the whole board, whose first message has been read."""
    target = WatchTarget(space=entries_pb2.SPACE_SHARED)
    async with lavagna.connect(address, agent=agent) as board:
        caller = board.view.caller
        request = WatchRequest(board=caller.board_name, targets=[target], after_revision=0)
        stream = caller.stream(caller.stubs.watch.Watch, request)
        each = Reading(stream)
        await each.take()
        yield each
        stream.close()


def resident_bytes(pid: int) -> int:
    """How much memory a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def write(board: Board, numbers: Iterator[int]) -> None:
    """Takes part in writing one entry for each number."""
    for number in numbers:
        await board.put(f"load/{number}", VALUE)


@pytest.mark.guarantee("W8")
@pytest.mark.guarantee("W5")
@pytest.mark.field_report("F15")
async def test_watchers_that_stop_reading_harm_only_themselves_and_can_catch_up(
    server: Server,
) -> None:
    life = await server.start(LAVAGNA_STALL_SECONDS=str(STALL_SECONDS))
    everything = list(range(1, COMMITS + 1))
    async with AsyncExitStack() as stack:
        stalled = [
            await stack.enter_async_context(reading(server.target, f"stalled-{number}"))
            for number in range(STALLED)
        ]
        healthy = await stack.enter_async_context(reading(server.target, "healthy"))
        board = await stack.enter_async_context(server.connect("writer"))
        held = [resident_bytes(life.pid)]
        numbers = iter(everything)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(healthy.until(COMMITS))
            for _ in range(WRITERS):
                tasks.create_task(write(board, numbers))
            while healthy.revisions[-1:] < [COMMITS - 1_000]:
                await healthy.progress(500)
                held.append(resident_bytes(life.pid))

        assert healthy.revisions == everything
        assert max(held) - held[0] < GROWTH_BYTES_MAX
        for each in stalled:
            with pytest.raises(SlowConsumer) as closed:
                await each.until(COMMITS)
            after_its_own = await revisions_after(server, each.token, COMMITS)
            assert each.revisions + after_its_own == everything
            # The server cannot know whether the message that stalled was taken after all, so its token lies before it.
            first = (await revisions_after(server, closed.value.token, 1))[0]
            assert first <= each.revisions[-1] + 1


async def test_a_watcher_that_vanishes_while_it_is_stalled_is_no_fault_of_the_servers() -> None:
    watch = "/lavagna.v1.Watch/Watch"
    async with served(stall_seconds=3_600) as wire:
        async with lavagna.connect(f"127.0.0.1:{wire.server.port}", agent="writer") as writer:
            async with reading(f"127.0.0.1:{wire.server.port}", "stalled"):
                for number in range(1_000):
                    await writer.put(f"load/{number}", VALUE)
            await wire.inside(watch, 0)

        def ended(outcome: str) -> float | None:
            labels = {"method": watch, "outcome": outcome}
            return wire.registry.get_sample_value("lavagna_calls_total", labels)

        assert (ended("CANCELLED"), ended("INTERNAL")) == (1, None)


async def test_a_watcher_that_vanishes_while_it_is_closed_for_stalling_is_no_error_in_the_log() -> (
    None
):
    stalling = {"LAVAGNA_STALL_SECONDS": str(STALL_SECONDS)}
    async with server_process("--in-memory", environment=stalling) as server:
        async with (
            lavagna.connect(server.address, agent="writer") as writer,
            reading(server.address, "stalled"),
        ):
            for number in range(1_000):
                await writer.put(f"load/{number}", VALUE)
            told = await server.logged("call")
        assert await server.stop() == 0
        events = [told, *await server.log()]

    assert (told["outcome"], told["agent"]) == ("SLOW_CONSUMER", "stalled")
    assert [event["level"] for event in events] == ["info", "info"]
    assert events[-1]["event"] == "stopped"
