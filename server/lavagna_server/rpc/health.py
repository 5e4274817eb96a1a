"""The servicer of `grpc.health.v1`: serving until the server begins to go down.

gRPC's own keeps its watches open then, and a server waits out its whole grace for an open stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from lavagna_server.rpc.chain import Unreadable
from lavagna_server.rpc.contract import reader
from lavagna_server.rpc.identity import Context

SERVICE = "grpc.health.v1.Health"


class Health:
    """Says whether the server answers, to anyone who asks."""

    def __init__(self, services: Iterable[str], closing: asyncio.Event) -> None:
        self._services = frozenset({"", *services})
        self._closing = closing

    def handlers(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """GRPC's handler for each method, by name."""
        read, write = reader(HealthCheckRequest), HealthCheckResponse.SerializeToString
        return {
            "Check": grpc.unary_unary_rpc_method_handler(self.Check, read, write),
            "Watch": grpc.unary_stream_rpc_method_handler(self.Watch, read, write),
        }

    async def Check(self, request: Any, context: Context) -> HealthCheckResponse:
        service = await _service(request, context)
        if service not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such service here")
        return self._answer(service)

    async def Watch(self, request: Any, context: Context) -> None:
        service = await _service(request, context)
        await context.write(self._answer(service))
        if not self._closing.is_set():
            await self._closing.wait()
            await context.write(self._answer(service))

    def _answer(self, service: str) -> HealthCheckResponse:
        if service not in self._services:
            return HealthCheckResponse(status=HealthCheckResponse.SERVICE_UNKNOWN)
        if self._closing.is_set():
            return HealthCheckResponse(status=HealthCheckResponse.NOT_SERVING)
        return HealthCheckResponse(status=HealthCheckResponse.SERVING)


async def _service(request: Any, context: Context) -> str:
    if isinstance(request, Unreadable):
        await context.abort(
            grpc.StatusCode.INVALID_ARGUMENT, f"these bytes are not a {request.kind}"
        )
    return str(request.service)
