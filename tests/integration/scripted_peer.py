"""A peer that answers as a test wrote down, for what a real server never does.

It speaks gRPC on a free port and knows every method of the contract. Each call plays the next script
of its method, and the last one again when there are no more.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2

from lavagna.v1 import (
    activations_pb2,
    agents_pb2,
    boards_pb2,
    consensus_pb2,
    entries_pb2,
    triggers_pb2,
    watch_pb2,
)

_FILES = (
    activations_pb2,
    agents_pb2,
    boards_pb2,
    consensus_pb2,
    entries_pb2,
    triggers_pb2,
    watch_pb2,
)


@dataclass(frozen=True)
class Refusal:
    """Ends a call with an error, with the details that a server gives; none without a reason."""

    code: grpc.StatusCode
    reason: str = ""

    async def end(self, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        """Ends the call."""
        trailers: tuple[tuple[str, bytes], ...] = ()
        if self.reason:
            status = status_pb2.Status(code=self.code.value[0], message=self.reason)
            status.details.add().Pack(error_details_pb2.ErrorInfo(reason=self.reason))
            trailers = (("grpc-status-details-bin", status.SerializeToString()),)
        await context.abort(self.code, self.reason, trailers)


class Hang:
    """Keeps a call open without a word."""


Step: TypeAlias = Message | Refusal | type[Hang]
AWAY = Refusal(grpc.StatusCode.UNAVAILABLE)


@dataclass
class Peer:
    """A peer, what it will answer and what it was asked."""

    address: str = ""
    requests: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list[Any]))
    """What it was asked, by the method's short name."""
    metadata: list[dict[str, str | bytes]] = field(default_factory=list[dict[str, str | bytes]])
    """What came along with each call."""
    _asked: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    _scripts: dict[str, deque[tuple[Step, ...]]] = field(
        default_factory=lambda: defaultdict(deque[tuple[Step, ...]])
    )

    def script(self, method: str, *steps: Step) -> None:
        """Writes down what the next call of the method that has no script yet gets."""
        self._scripts[method].append(steps)

    def rewrite(self, method: str, *steps: Step) -> None:
        """Writes down what every call of the method gets from now on."""
        self._scripts[method].clear()
        self.script(method, *steps)

    async def until_asked(self, method: str, times: int = 1) -> None:
        """Waits until the method has been called so often."""
        while len(self.requests[method]) < times:
            self._asked[method].clear()
            await self._asked[method].wait()

    async def play(
        self, method: str, request: Message, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[Message]:
        """The messages of the next script; a refusal in it ends the call."""
        self.requests[method].append(request)
        self._asked[method].set()
        self.metadata.append(dict(context.invocation_metadata() or ()))
        scripts = self._scripts[method]
        for step in scripts.popleft() if len(scripts) > 1 else scripts[0]:
            if isinstance(step, Refusal):
                await step.end(context)
            elif isinstance(step, Message):
                yield step
            else:
                await asyncio.Event().wait()


class _Contract(grpc.GenericRpcHandler):
    """Answers every method of the contract from the peer's scripts."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._methods: dict[str, Any] = {
            f"/{service.full_name}/{method.name}": method
            for file in _FILES
            for service in file.DESCRIPTOR.services_by_name.values()
            for method in service.methods
        }

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any]:
        method = self._methods[handler_call_details.method]

        async def stream(request: Any, context: Any) -> AsyncIterator[Message]:
            async for message in self._peer.play(method.name, request, context):
                yield message

        async def answer(request: Any, context: Any) -> Message:
            async for message in stream(request, context):
                return message
            raise AssertionError(f"the script of {method.name} has no answer")

        read = GetMessageClass(method.input_type).FromString
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(stream, read, _written)
        return grpc.unary_unary_rpc_method_handler(answer, read, _written)


def _written(message: Message) -> bytes:
    return message.SerializeToString()


@asynccontextmanager
async def scripted_peer() -> AsyncGenerator[Peer]:
    """A peer on a free port."""
    peer, server = Peer(), grpc.aio.server()
    server.add_generic_rpc_handlers([_Contract(peer)])
    peer.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield peer
    finally:
        await server.stop(None)
