"""How a request becomes a `Call`: its id, its fingerprint, its price, and how its response is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Protocol, TypeVar

from google.protobuf.message import Message

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.limits import Limits
from lavagna_server.engine.calls import Call
from lavagna_server.engine.quotas import Quotas
from lavagna_server.rpc.codec.checks import check_label

FINGERPRINT_BYTES = 16

T = TypeVar("T")
M = TypeVar("M", bound=Message)


class Mutation(Protocol):
    """A request that changes something."""

    request_id: str

    @property
    def DESCRIPTOR(self) -> object: ...

    def SerializeToString(self, *, deterministic: bool = ...) -> bytes: ...


class Calls:
    """Makes calls of mutations, and charges for them."""

    def __init__(self, quotas: Quotas, limits: Limits) -> None:
        self._quotas, self._limits = quotas, limits

    def mutation(
        self, caller: Caller, request: Mutation, respond: Callable[[T], M], response: type[M]
    ) -> Call[T, M]:
        """The call of a mutation whose result `respond` turns into a `response`.

        Raises:
            Invalid: The request id is too long.
            Exhausted: The caller has used up a quota.
        """
        request_id = check_label(
            request.request_id,
            field="request_id",
            characters_max=self._limits.request_id_characters_max,
        )
        content = _content(request)
        self._quotas.charge(caller, mutations=1, value_bytes=len(content))
        return Call(
            caller,
            request_id,
            _fingerprint(request, content) if request_id else b"",
            respond,
            response.SerializeToString,
            response.FromString,
        )


def _content(request: Mutation) -> bytes:
    """The request without its id, in a form that does not depend on how its client wrote it down."""
    request_id = request.request_id
    request.request_id = ""
    content = request.SerializeToString(deterministic=True)
    request.request_id = request_id
    return content


def _fingerprint(request: Mutation, content: bytes) -> bytes:
    """Tells requests apart; each method has a request type of its own, so its name stands for the method."""
    hasher = hashlib.blake2b(type(request).__name__.encode(), digest_size=FINGERPRINT_BYTES)
    hasher.update(b"\n")
    hasher.update(content)
    return hasher.digest()
