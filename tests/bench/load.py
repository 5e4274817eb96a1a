"""Load: as many calls as one client process can make, through channels without any SDK."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from statistics import median
from typing import Any, TypeAlias

import grpc.aio
from google.protobuf.message import Message

from lavagna.v1 import entries_pb2, watch_pb2

Send: TypeAlias = Callable[[bytes], Awaitable[bytes]]

BOARD = "boards/main"
CALLERS = 64
_ids = itertools.count()


class Client:
    """One channel, which names an agent."""

    def __init__(self, channel: grpc.aio.Channel, agent: str) -> None:
        self._channel = channel
        self._metadata = (("lavagna-agent", agent),)

    def raw(self, method: str) -> Send:
        """A method of which requests and responses are bytes, so that the client costs little."""
        call: Any = self._channel.unary_unary(method, _same, _same)
        return lambda request: call(request, metadata=self._metadata)

    async def send(self, service: str, request: Message, response: type[Any]) -> Any:
        """One call of the method that the request is named after."""
        method = type(request).__name__.removesuffix("Request")
        send = self.raw(f"/lavagna.v1.{service}/{method}")
        return response.FromString(await send(request.SerializeToString()))

    def watch(self, request: watch_pb2.WatchRequest) -> Any:
        """An open watch."""
        stream: Any = self._channel.unary_stream(
            "/lavagna.v1.Watch/Watch", _serialized, watch_pb2.WatchResponse.FromString
        )
        return stream(request, metadata=self._metadata)


def _same(raw: bytes) -> bytes:
    return raw


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()


@asynccontextmanager
async def client(target: str, agent: str = "bench") -> AsyncGenerator[Client]:
    """A client of its own connection."""
    options = (("grpc.use_local_subchannel_pool", 1),)
    async with grpc.aio.insecure_channel(target, options=options) as channel:
        yield Client(channel, agent)


def commit(prefix: str, entries: int = 1) -> bytes:
    """A commit of new entries, of 100 bytes each, with a request id of its own."""
    number = next(_ids)
    request = entries_pb2.CommitRequest(board=BOARD, request_id=f"{prefix}-{number}")
    for index in range(entries):
        change = request.changes.add(key=f"{prefix}/{number}/{index}", overwrite=True)
        change.put.value.json = f'{{"number": {number}, "filler": "{"x" * 64}"}}'
    return request.SerializeToString()


def get(key: str) -> bytes:
    """A read of one entry."""
    return entries_pb2.GetRequest(board=BOARD, key=key).SerializeToString()


async def rate(send: Send, make: Callable[[], bytes], calls: int, callers: int = CALLERS) -> float:
    """Calls per second, made by concurrent callers that each wait for their answer."""

    async def caller(count: int) -> None:
        for _ in range(count):
            await send(make())

    began = time.perf_counter()
    await asyncio.gather(*(caller(calls // callers) for _ in range(callers)))
    return (calls // callers) * callers / (time.perf_counter() - began)


async def round_trips(send: Send, make: Callable[[], bytes], calls: int) -> Sequence[float]:
    """Seconds per call, one after the other."""
    seconds: list[float] = []
    for _ in range(calls):
        began = time.perf_counter()
        await send(make())
        seconds.append(time.perf_counter() - began)
    return seconds


def middle(seconds: Sequence[float]) -> float:
    """The median, in milliseconds."""
    return median(seconds) * 1_000


def high(seconds: Sequence[float]) -> float:
    """The 99th percentile, in milliseconds."""
    return sorted(seconds)[int(len(seconds) * 0.99)] * 1_000
