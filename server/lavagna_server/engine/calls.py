"""How a transport takes part in a mutation: who calls, under which request id, and how a result becomes a response."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from lavagna_server.domain.agents import Caller

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a recorded response lacks and history holds."""

    key: str
    revision: int
    """As of which it was told."""


def _kept(response: R, _more: object) -> R:
    return response


def _is_whole(_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Call(Generic[T, R]):
    """One mutation of one caller.

    The response is made on the writer thread and recorded with the effect, in the same transaction, so that a retry gets the
    original response even after a crash (S6).
    """

    caller: Caller
    request_id: str
    """Empty when the caller does not care about retries."""
    fingerprint: bytes
    """The hash of the method and of the request without its id."""
    respond: Callable[[T], R]
    encode: Callable[[R], bytes]
    """Must leave out secrets, which are never stored; may leave out what can be read again."""
    decode: Callable[[bytes], R]
    reveal: Callable[[R, str], R] = _kept
    """Puts the secret, which the engine derives again, into a response."""
    left_out: Callable[[R], LeftOut | None] = _is_whole
    """What `encode` left out of a response that was recorded; None for a whole one."""
    restored: Callable[[R, T], R] = _kept
    """Puts that back, from what the engine read again."""


def own_call(caller: Caller) -> Call[T, T]:
    """A call of the server's own: not retried, not recorded, and its response is the result itself."""

    def nothing_recorded(_: bytes) -> T:
        raise AssertionError("a call without a request id has no recorded response")

    return Call(caller, "", b"", lambda result: result, lambda _: b"", nothing_recorded)
