"""The gRPC server: options, services, and an orderly start and stop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
from grpc_reflection.v1alpha import reflection
from prometheus_client import CollectorRegistry

from lavagna_server.engine.engine import Engine
from lavagna_server.rpc import health
from lavagna_server.rpc.access import rule_of
from lavagna_server.rpc.activations import Activations
from lavagna_server.rpc.agents import Agents
from lavagna_server.rpc.boards import Boards
from lavagna_server.rpc.calls import Calls
from lavagna_server.rpc.chain import Chain, Doorstep
from lavagna_server.rpc.consensus import Consensus
from lavagna_server.rpc.contract import handlers, services
from lavagna_server.rpc.entries import Entries
from lavagna_server.rpc.gates import Room, gates
from lavagna_server.rpc.telemetry import Telemetry
from lavagna_server.rpc.triggers import Triggers
from lavagna_server.rpc.watch import Watch

REQUEST_BYTES_MAX = 8 << 20
"""Twice the largest commit, so that what is too large for a commit is told so by our own error and not by gRPC's."""

CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", REQUEST_BYTES_MAX),
    # A second server on the same port must fail, and not take half of the calls.
    ("grpc.so_reuseport", 0),
    # Finds peers that vanished, so that their streams and leases do not linger.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # Idle clients may ask just as often whether the server is there.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)


@dataclass(frozen=True, slots=True)
class Tls:
    """How connections are kept secret, in PEM."""

    certificate_chain: bytes
    private_key: bytes
    client_authority: bytes | None = None
    """When given, every client must show a certificate of this authority; its common name is the agent's."""


@dataclass(frozen=True, slots=True)
class RpcOptions:
    """How the server meets the network."""

    listen: str = "127.0.0.1:0"
    """Host and port; port 0 takes a free one."""
    tls: Tls | None = None
    room: Room = field(default_factory=Room)
    log_calls: bool = False
    """Whether every call is logged, and not only those that an operator should know of."""
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    """Where the metrics are kept."""


class RpcServer:
    """Serves an engine over gRPC. One per event loop, and one event loop per process (grpc#25364)."""

    def __init__(self, engine: Engine, options: RpcOptions) -> None:
        self._engine, self._options = engine, options
        self._closing = asyncio.Event()
        self._server: grpc.aio.Server | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """Where it listens; 0 before it has started."""
        return self._port

    async def start(self) -> None:
        """Begins to answer.

        Raises:
            RuntimeError: The address cannot be listened on.
            Unruled: A method has no rule of access.
        """
        server = grpc.aio.server(options=CHANNEL_OPTIONS)
        names = self._add_services(server)
        _add(server, health.SERVICE, health.Health(names, self._closing).handlers())
        reflection.enable_server_reflection(
            (*names, health.SERVICE, reflection.SERVICE_NAME), server
        )
        self._port = _listen(server, self._options)
        self._server = server
        await server.start()

    async def stop(self, grace_seconds: float) -> None:
        """Ends in order: health says so, streams get a last bookmark and end, calls under way may finish within the grace."""
        self._closing.set()
        self._engine.watches.stop()
        if self._server is not None:
            await self._server.stop(grace_seconds)

    def _add_services(self, server: grpc.aio.Server) -> tuple[str, ...]:
        servicers = self._servicers()
        telemetry = Telemetry(self._options.registry, log_calls=self._options.log_calls)
        gate_of = gates(self._options.room)
        tls = self._options.tls
        doorstep = Doorstep(
            self._engine.identity,
            certificates=tls is not None and tls.client_authority is not None,
            stall_seconds=self._engine.options.stall_seconds,
        )

        def chain_of(method: str) -> Chain:
            rule = rule_of(method)
            return Chain(rule, telemetry.meter(method), gate_of[rule.work], doorstep)

        names: list[str] = []
        for service in services():
            made = handlers(service, servicers[service.name], chain_of)
            _add(server, service.full_name, made)
            names.append(service.full_name)
        return tuple(names)

    def _servicers(self) -> Mapping[str, object]:
        engine = self._engine
        calls = Calls(engine.quotas, engine.limits)
        return {
            "Boards": Boards(engine, calls, self._closing),
            "Agents": Agents(engine, calls),
            "Entries": Entries(engine, calls),
            "Watch": Watch(engine),
            "Triggers": Triggers(engine, calls),
            "Consensus": Consensus(engine, calls, self._closing),
            "Activations": Activations(engine, calls, self._closing),
        }


def build(engine: Engine, options: RpcOptions) -> RpcServer:
    """A server of `engine`; it listens once it is started."""
    return RpcServer(engine, options)


def _add(
    server: grpc.aio.Server, service: str, made: dict[str, grpc.RpcMethodHandler[Any, Any]]
) -> None:
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, made),))
    server.add_registered_method_handlers(service, made)


def _listen(server: grpc.aio.Server, options: RpcOptions) -> int:
    if options.tls is None:
        return server.add_insecure_port(options.listen)
    tls = options.tls
    credentials = grpc.ssl_server_credentials(
        [(tls.private_key, tls.certificate_chain)],
        root_certificates=tls.client_authority,
        require_client_auth=tls.client_authority is not None,
    )
    return server.add_secure_port(options.listen, credentials)
