"""The contract as gRPC needs it: a handler for every method, found by walking the service descriptors.

A servicer that lacks a method keeps the server from starting, and so does a method without a rule of access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from lavagna.v1 import (
    activations_pb2,
    agents_pb2,
    boards_pb2,
    consensus_pb2,
    entries_pb2,
    triggers_pb2,
    watch_pb2,
)
from lavagna_server.rpc.chain import Chain, Unreadable

FILES = (
    boards_pb2,
    agents_pb2,
    entries_pb2,
    watch_pb2,
    consensus_pb2,
    triggers_pb2,
    activations_pb2,
)


def services() -> Iterator[ServiceDescriptor]:
    """Every service of the contract."""
    for file in FILES:
        yield from file.DESCRIPTOR.services_by_name.values()


def full_name(method: MethodDescriptor) -> str:
    """The method's name on the wire: `/lavagna.v1.Entries/Commit`."""
    return f"/{method.containing_service.full_name}/{method.name}"


def handlers(
    service: ServiceDescriptor, servicer: object, chain_of: Callable[[str], Chain]
) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
    """GRPC's handler for each method of a service, by name."""
    return {
        method.name: _handler(method, getattr(servicer, method.name), chain_of(full_name(method)))
        for method in service.methods
    }


def reader(kind: type[Message]) -> Callable[[bytes], Any]:
    """Reads a request. What cannot be read comes out as `Unreadable`: an exception here would become UNKNOWN in gRPC."""
    parse, unreadable = kind.FromString, Unreadable(kind.DESCRIPTOR.full_name)

    def read(raw: bytes) -> Any:
        try:
            return parse(raw)
        except (DecodeError, ValueError, RecursionError):
            return unreadable

    return read


def _handler(
    method: MethodDescriptor, behaviour: Any, chain: Chain
) -> grpc.RpcMethodHandler[Any, Any]:
    read = reader(GetMessageClass(method.input_type))
    write = GetMessageClass(method.output_type).SerializeToString
    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(chain.streaming(behaviour), read, write)
    return grpc.unary_unary_rpc_method_handler(chain.unary(behaviour), read, write)
