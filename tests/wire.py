"""The wire: a real server on a free port, and calls to any method of the contract by its name.

For tests that walk the contract, send what no client would, or look at a status with all its details.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from prometheus_client import CollectorRegistry

from lavagna.v1 import (
    activations_pb2,
    agents_pb2,
    boards_pb2,
    consensus_pb2,
    entries_pb2,
    errors_pb2,
    triggers_pb2,
    watch_pb2,
)
from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import SERVER_WIDE, Caller, Role
from lavagna_server.domain.boards import Board
from lavagna_server.engine.agents import Registered
from lavagna_server.engine.calls import Call
from lavagna_server.engine.engine import Engine, EngineOptions
from lavagna_server.rpc.server import RpcOptions, RpcServer, build
from lavagna_server.storage.ephemeral import EphemeralStore
from tests.desks import running

FILES = (
    boards_pb2,
    agents_pb2,
    entries_pb2,
    watch_pb2,
    consensus_pb2,
    triggers_pb2,
    activations_pb2,
)
DEADLINE_SECONDS = 30
"""A call that is not answered by then hangs, and fails as DEADLINE_EXCEEDED."""

_requests = itertools.count()


def contract() -> Iterator[MethodDescriptor]:
    """Every method of every service."""
    for file in FILES:
        for service in file.DESCRIPTOR.services_by_name.values():
            yield from service.methods


METHODS: Mapping[str, MethodDescriptor] = {
    f"/{method.containing_service.full_name}/{method.name}": method for method in contract()
}
"""Every method by its full name."""


@dataclass(frozen=True)
class Outcome:
    """How a call ended: with responses, or with a status and its details."""

    code: grpc.StatusCode
    message: str = ""
    status: errors_pb2.ErrorStatus = field(default_factory=errors_pb2.ErrorStatus)
    responses: Sequence[Any] = ()

    @property
    def response(self) -> Any:
        """The one response."""
        (response,) = self.responses
        return response

    @property
    def info(self) -> errors_pb2.ErrorInfo:
        """The error's name and numbers; empty when there are no details."""
        return self.detail(errors_pb2.ErrorInfo) or errors_pb2.ErrorInfo()

    @property
    def reason(self) -> str:
        """The error's name."""
        return self.info.reason

    @property
    def fields(self) -> list[str]:
        """The fields that break a rule."""
        bad: Any = self.detail(errors_pb2.BadRequest) or errors_pb2.BadRequest()
        return [violation.field for violation in bad.field_violations]

    def detail(self, kind: type[Message]) -> Any:
        """The detail of a kind, or None."""
        for packed in self.status.details:
            if packed.type_url.rpartition(".")[2] == kind.__name__:
                return kind.FromString(packed.value)
        return None


@dataclass(frozen=True)
class Wire:
    """A server, and a connection to it."""

    engine: Engine
    server: RpcServer
    channel: Any
    """A `grpc.aio.Channel`, whose calls by name have no types."""
    registry: CollectorRegistry
    """The server's metrics."""

    async def call(
        self,
        method: str,
        request: Message | bytes,
        *,
        token: str = "",
        agent: str = "",
        messages: int = 1,
    ) -> Outcome:
        """Calls a method; of a stream it takes so many messages and leaves."""
        raw = request if isinstance(request, bytes) else request.SerializeToString()
        metadata = _metadata(token, agent)
        responses: list[Any] = []
        descriptor = METHODS[method]
        read = GetMessageClass(descriptor.output_type).FromString
        try:
            if descriptor.server_streaming:
                stream = self.channel.unary_stream(method, response_deserializer=read)
                call = stream(raw, metadata=metadata, timeout=DEADLINE_SECONDS)
                async for response in call:
                    responses.append(response)
                    if len(responses) == messages:
                        call.cancel()
                        break
            else:
                unary = self.channel.unary_unary(method, response_deserializer=read)
                responses.append(await unary(raw, metadata=metadata, timeout=DEADLINE_SECONDS))
        except grpc.aio.AioRpcError as error:
            return _failed(error, responses)
        return Outcome(grpc.StatusCode.OK, responses=responses)

    async def inside(self, method: str, calls: int = 1) -> None:
        """Returns when so many calls of that method are under way: let in, and waiting."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.open_calls(method) != calls:  # noqa: ASYNC110 (no event tells of a metric)
                await asyncio.sleep(0)

    def open_calls(self, method: str) -> float | None:
        """How many calls of a method are under way, as the server counts them."""
        return self.registry.get_sample_value("lavagna_open_calls", {"method": method})

    async def register(
        self, agent: str, role: Role = Role.AGENT, *, board: str = "main", teams: Sequence[str] = ()
    ) -> str:
        """Registers an agent and gives its token."""
        call: Call[Registered, Registered] = operator_call(board)
        registered = await self.engine.agents.register(call, agent, role, teams)
        return registered.token

    async def revoke(self, agent: str, *, board: str = "main") -> None:
        """Ends an agent's access."""
        await self.engine.agents.revoke(operator_call(board), agent)

    async def create_board(self, board: str) -> None:
        """Creates another board."""
        await self.engine.boards.create(operator_call(SERVER_WIDE), Board(board, ""))


def operator_call(board: str) -> Call[Any, Any]:
    """A call by the server's operator, whose response is the domain's own result."""

    def refuse(_: bytes) -> Any:
        raise AssertionError("a recorded response was asked for")

    caller = Caller(board, "root", Role.ADMIN)
    return Call(
        caller, f"op{next(_requests)}", b"", lambda result: result, lambda _: b"", refuse, _reveal
    )


@asynccontextmanager
async def connected(
    engine: Engine, options: RpcOptions | None = None, *, grace_seconds: float = 5
) -> AsyncGenerator[Wire]:
    """A server of an engine, and a connection to it."""
    options = options or RpcOptions()
    server = build(engine, options)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(
            f"127.0.0.1:{server.port}",
            options=[("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)],
        ) as channel:
            yield Wire(engine, server, channel, options.registry)
    finally:
        await server.stop(grace_seconds)


@asynccontextmanager
async def served(
    *, trust_names: bool = True, rpc: RpcOptions | None = None, **more: Any
) -> AsyncGenerator[Wire]:
    """A server in memory with a board called `main`, and a connection to it."""
    options = EngineOptions(trust_names=trust_names, secret=b"of these tests", **more)
    async with (
        running(EphemeralStore(), ManualClock(), options=options) as engine,
        connected(engine, rpc) as wire,
    ):
        yield wire


def status_of(error: grpc.aio.AioRpcError) -> errors_pb2.ErrorStatus:
    """The status with its details; empty when it has none."""
    for key, value in error.trailing_metadata():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            return errors_pb2.ErrorStatus.FromString(value)
    return errors_pb2.ErrorStatus()


def _metadata(token: str, agent: str) -> grpc.aio.Metadata:
    metadata = grpc.aio.Metadata()
    if token:
        metadata.add("authorization", f"Bearer {token}")
    if agent:
        metadata.add("lavagna-agent", agent)
    return metadata


def _failed(error: grpc.aio.AioRpcError, responses: Sequence[Any]) -> Outcome:
    return Outcome(error.code(), error.details() or "", status_of(error), responses)


def _reveal(registered: Registered, token: str) -> Registered:
    return Registered(registered.agent, token)
