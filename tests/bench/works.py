"""What is measured: each function is one row of the table in architecture.md, or two."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from lavagna.v1 import activations_pb2, entries_pb2, triggers_pb2, watch_pb2
from tests.bench.load import BOARD, client, commit, get, high, middle, rate, round_trips
from tests.bench.servers import Running

COMMIT = "/lavagna.v1.Entries/Commit"
GET = "/lavagna.v1.Entries/Get"
LIST = "/lavagna.v1.Entries/List"
ECHO = "/bench.Echo/Echo"
PROBED = "probed"


@dataclass(frozen=True)
class Row:
    """One line of the result."""

    work: str
    measured: str
    ratio: str
    goal: str


async def commits(echo: Running, server: Running, scale: float) -> Sequence[Row]:
    """Durable commits against the empty server: rounds in turn, so that noise meets both."""
    calls = int(3_000 * scale)
    echoes: list[float] = []
    durables: list[float] = []
    async with client(echo.target) as bare, client(server.target) as board:
        for _ in range(5):
            echoes.append(await rate(bare.raw(ECHO), lambda: commit("echo"), calls))
            durables.append(await rate(board.raw(COMMIT), lambda: commit("one"), calls))
        ratios = sorted(durable / bare for durable, bare in zip(durables, echoes, strict=True))
        entries = (
            await rate(board.raw(COMMIT), lambda: commit("many", 64), max(64, calls // 16)) * 64
        )
    middle_rate = sorted(durables)[2]
    return [
        Row(
            "durable single-entry commit, against an empty grpc.aio echo server",
            f"{middle_rate:,.0f}/s, echo {sorted(echoes)[2]:,.0f}/s",
            f"{ratios[2]:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
            ">= 0.80",
        ),
        Row("64-entry commits", f"{entries:,.0f} entries/s", "", ">= 20,000/s"),
    ]


async def watching(server: Running, scale: float) -> Sequence[Row]:
    """From the moment a commit is sent until a watcher has it, with 32 writers."""
    sent: dict[str, float] = {}
    delays: list[float] = []
    total = int(1_600 * scale)
    async with client(server.target) as writer, client(server.target, "watcher") as watcher:
        target = watch_pb2.WatchTarget(pattern="seen/**")
        stream = watcher.watch(watch_pb2.WatchRequest(board=BOARD, targets=[target]))
        await stream.read()
        send = writer.raw(COMMIT)

        async def write(number: int) -> None:
            for index in range(total // 32):
                key = f"seen/{number}/{index}"
                request = entries_pb2.CommitRequest(board=BOARD)
                request.changes.add(key=key, overwrite=True).put.value.json = "1"
                sent[key] = time.perf_counter()
                await send(request.SerializeToString())

        async def read() -> None:
            while len(delays) < (total // 32) * 32:
                response = await stream.read()
                now = time.perf_counter()
                delays.extend(
                    now - sent[entry.key] for each in response.commits for entry in each.entries
                )

        await asyncio.gather(read(), *(write(number) for number in range(32)))
        stream.cancel()
    return [
        Row(
            "commit -> watcher, 32 writers",
            f"p50 {middle(delays):.1f} ms, p99 {high(delays):.1f} ms",
            "no etcd here",
            "p99 <= 0.25 of etcd's",
        )
    ]


async def waking(echo: Running, server: Running, scale: float) -> Sequence[Row]:
    """From the moment a commit is sent until the activation that it fires is in the agent's hands."""
    calls = int(200 * scale)
    delays: list[float] = []
    async with (
        client(echo.target) as bare,
        client(server.target) as writer,
        client(server.target, "worker") as worker,
    ):
        trips = await round_trips(bare.raw(ECHO), lambda: commit("echo"), calls)
        trigger = triggers_pb2.Trigger(mode=triggers_pb2.TRIGGER_MODE_EVERY)
        trigger.on.add(pattern="jobs/*")
        request = triggers_pb2.SetTriggerRequest(board=BOARD, trigger_id="bench", trigger=trigger)
        await worker.send("Triggers", request, triggers_pb2.SetTriggerResponse)
        for number in range(calls):
            acquire = activations_pb2.AcquireRequest(board=BOARD)
            acquire.wait.seconds = 10
            waiting = asyncio.ensure_future(
                worker.send("Activations", acquire, activations_pb2.AcquireResponse)
            )
            await asyncio.sleep(0.005)
            change = entries_pb2.CommitRequest(board=BOARD)
            change.changes.add(key=f"jobs/{number}", overwrite=True).put.value.json = "1"
            began = time.perf_counter()
            await writer.raw(COMMIT)(change.SerializeToString())
            acquired = await waiting
            delays.append(time.perf_counter() - began)
            done = activations_pb2.CompleteRequest(
                board=BOARD, activation_token=acquired.leases[0].token
            )
            await worker.send("Activations", done, activations_pb2.CompleteResponse)
    return [
        Row(
            "commit -> activation in the agent's hands",
            f"p50 {middle(delays):.2f} ms, echo {middle(trips):.2f} ms",
            f"{middle(delays) / middle(trips):.1f} round trips",
            "<= 3",
        )
    ]


async def bystanders(server: Running, scale: float) -> Sequence[Row]:
    """What idle watchers and triggers of other keys cost a commit, and what a watch costs in memory."""
    watchers, triggers, calls = int(1_000 * scale), int(10_000 * scale), int(3_000 * scale)
    alone: list[float] = []
    crowded: list[float] = []
    async with client(server.target) as board:
        send = board.raw(COMMIT)
        await rate(send, lambda: commit("warm"), calls)
        alone += [await rate(send, lambda: commit("alone"), calls) for _ in range(3)]
        await _set_triggers(server.target, triggers)
        before = server.resident_bytes
        async with _idle_watchers(server.target, watchers):
            each = (server.resident_bytes - before) / watchers
            crowded += [await rate(send, lambda: commit("crowded"), calls) for _ in range(3)]
    return [
        Row(
            f"{watchers:,} idle watchers, {triggers:,} triggers elsewhere",
            f"{sorted(crowded)[1]:,.0f}/s, without {sorted(alone)[1]:,.0f}/s",
            f"{sorted(crowded)[1] / sorted(alone)[1]:.2f}",
            ">= 0.95",
        ),
        Row("memory of an idle watch", f"{each / 1_000:,.0f} kB", "", "<= 20 kB"),
    ]


async def _set_triggers(target: str, count: int) -> None:
    """Sets triggers, a thousand for each agent, because no agent may have more."""

    async def set_some(agent: int) -> None:
        async with client(target, f"agent-{agent}") as board:
            for number in range(agent, count, 16):
                trigger = triggers_pb2.Trigger(when="entry.value > 0")
                trigger.on.add(pattern=f"elsewhere/{number}/*")
                request = triggers_pb2.SetTriggerRequest(
                    board=BOARD, trigger_id=f"idle-{number}", trigger=trigger
                )
                await board.send("Triggers", request, triggers_pb2.SetTriggerResponse)

    await asyncio.gather(*(set_some(agent) for agent in range(16)))


@asynccontextmanager
async def _idle_watchers(target: str, count: int) -> AsyncGenerator[None]:
    async with AsyncExitStack() as stack:
        streams: list[Any] = []
        for first in range(0, count, 100):
            watcher = await stack.enter_async_context(client(target, f"idle-{first}"))
            for number in range(first, min(count, first + 100)):
                wanted = watch_pb2.WatchTarget(pattern=f"elsewhere/{number}/**")
                streams.append(watcher.watch(watch_pb2.WatchRequest(board=BOARD, targets=[wanted])))
        await asyncio.gather(*(stream.read() for stream in streams))
        yield
        for stream in streams:
            stream.cancel()


async def growth(server: Running, scale: float) -> Sequence[Row]:
    """The same calls on a small and on a large board, in one run."""
    small, large = int(10_000 * scale), int(100_000 * scale)
    calls = int(1_000 * scale)
    timings: list[dict[str, float]] = []
    async with client(server.target) as board:
        filled = 0
        for size in (small, large):
            while filled < size:
                await rate(board.raw(COMMIT), lambda: commit("grown", 100), 64, callers=8)
                filled += 6_400
            listing = entries_pb2.ListRequest(board=BOARD, pattern="one/**", page_size=100)
            timings.append(
                {
                    "commit": middle(
                        await round_trips(board.raw(COMMIT), lambda: commit("probe"), calls)
                    ),
                    "get": middle(await round_trips(board.raw(GET), lambda: get(PROBED), calls)),
                    "list": middle(
                        await round_trips(board.raw(LIST), listing.SerializeToString, calls // 4)
                    ),
                }
            )
    return [
        Row(
            f"{name} at {large:,} entries, against {small:,}",
            f"{timings[1][name]:.2f} ms, {timings[0][name]:.2f} ms",
            f"{timings[1][name] / timings[0][name]:.2f}",
            "<= 1.2",
        )
        for name in ("get", "commit", "list")
    ]


async def probe_key(server: Running) -> None:
    """Makes the entry that reads look at."""
    async with client(server.target) as board:
        request = entries_pb2.CommitRequest(board=BOARD)
        request.changes.add(key=PROBED, overwrite=True).put.value.json = "1"
        await board.raw(COMMIT)(request.SerializeToString())
