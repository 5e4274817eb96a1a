"""Calls: every request to the server goes through here.

A call carries the caller's identity and a request id, is made again while the server cannot be
reached (then with the same id, so that it has one effect), and fails with the SDK's own errors
alone.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Generic, Protocol, TypeVar, cast

import grpc.aio

from lavagna.channel import Identity, Stubs
from lavagna.entries import Space
from lavagna.errors import Closed, TimedOut, Unavailable
from lavagna.names import board_name
from lavagna.retry import Retry
from lavagna.statuses import error_of
from lavagna.unreachable import telling
from lavagna.v1.entries_pb2 import ResponseHeader

_log = logging.getLogger(__name__)


class _Mutation(Protocol):
    request_id: str


Request = TypeVar("Request")
Mutation = TypeVar("Mutation", bound=_Mutation)
Response = TypeVar("Response")


class Revisions:
    """The newest revision that a connection has seen of each space (S5).

    A read that asks for at least this revision sees what its caller wrote and read before, on any
    server. Revisions of two epochs cannot be compared, so a new epoch begins anew.
    """

    def __init__(self) -> None:
        self.epoch = ""
        self._newest: dict[str, int] = {}

    def note(self, log: str, header: ResponseHeader) -> None:
        """Takes in what a response about this log says."""
        if header.epoch != self.epoch:
            self.epoch = header.epoch
            self._newest.clear()
        self.saw(log, header.revision)

    def saw(self, log: str, revision: int) -> None:
        """Takes in that this log has come to a revision."""
        self._newest[log] = max(revision, self.newest(log))

    def newest(self, log: str) -> int:
        """The newest revision seen; 0 before the first."""
        return self._newest.get(log, 0)


@dataclass(frozen=True)
class Caller:
    """One agent's way to one board."""

    stubs: Stubs
    identity: Identity
    board: str
    """The last part of the board's name."""
    session: str
    """What this process calls itself, for people."""
    retry: Retry
    revisions: Revisions = field(default_factory=Revisions)

    @property
    def board_name(self) -> str:
        """The board's resource name."""
        return board_name(self.board)

    def acting_as(self, identity: Identity) -> Caller:
        """The same connection, used by somebody else."""
        return replace(self, identity=identity)

    def retrying(self, retry: Retry) -> Caller:
        """The same caller, trying harder or less hard."""
        return replace(self, retry=retry)

    def log(self, space: Space) -> str:
        """A name for the log that this caller's space is, among those of the board."""
        return "shared" if space is Space.SHARED else f"private/{self.identity.agent}"

    def note(self, space: Space, header: ResponseHeader) -> None:
        """Takes in a response's header, for the session reads to come."""
        self.revisions.note(self.log(space), header)

    async def mutate(
        self, method: grpc.aio.UnaryUnaryMultiCallable[Mutation, Response], request: Mutation
    ) -> Response:
        """Makes a change, with one effect however often it must be tried.

        Raises:
            LavagnaError: The family says what to do next.
        """
        request.request_id = request.request_id or new_request_id()
        return await self._tried(method, request, request.request_id)

    async def ask(
        self, method: grpc.aio.UnaryUnaryMultiCallable[Request, Response], request: Request
    ) -> Response:
        """Makes a call that changes nothing, or comes to the same however often it is made.

        Raises:
            LavagnaError: The family says what to do next.
        """
        return await self._tried(method, request, new_request_id())

    async def once(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        *,
        request_id: str = "",
        timeout_seconds: float | None = None,
    ) -> Response:
        """Makes a call a single time, for callers that decide themselves when to try again.

        Raises:
            LavagnaError: The family says what to do next.
        """
        metadata = self.identity.metadata(request_id or new_request_id())
        with own_errors(self.stubs.target):
            return await method(request, timeout=timeout_seconds, metadata=metadata)

    def stream(
        self, method: grpc.aio.UnaryStreamMultiCallable[Request, Response], request: Request
    ) -> Stream[Response]:
        """A stream of responses, which the caller closes."""
        metadata = self.identity.metadata(new_request_id())
        with own_errors(self.stubs.target):
            return Stream(method(request, metadata=metadata), self.stubs.target)

    async def _tried(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        request_id: str,
    ) -> Response:
        failure: Unavailable | None = None
        for wait in chain(self.retry.waits(), (None,)):  # lazily: there may be very many
            try:
                return await self.once(method, request, request_id=request_id)
            except (Closed, TimedOut):
                raise
            except Unavailable as away:
                failure = telling(failure, away)
                if wait is None:
                    raise failure from None
                _log.info("%s is asked again in %.2f s: %s", self.stubs.target, wait, away)
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt is returned or raised")


class Stream(Generic[Response]):
    """The responses of one streaming call."""

    def __init__(self, call: grpc.aio.UnaryStreamCall[Any, Response], target: str) -> None:
        self._call, self._target = call, target

    async def read(self) -> Response | None:
        """The next response; None when the server has ended the stream.

        Raises:
            LavagnaError: The stream broke; the family says what to do next.
        """
        with own_errors(self._target):
            response = await self._call.read()
        return None if response is grpc.aio.EOF else cast("Response", response)

    def close(self) -> None:
        """Ends the stream, if it has not ended."""
        self._call.cancel()


def new_request_id() -> str:
    """A name for a request that no other request has."""
    return secrets.token_hex(16)


@contextmanager
def own_errors(target: str) -> Generator[None]:
    """Lets no error of gRPC through, only the SDK's own."""
    try:
        yield
    except grpc.aio.AioRpcError as report:
        raise error_of(report, target=target) from None
    except grpc.aio.BaseError:
        # What gRPC raises besides a status: the channel is closed, or closes at this moment.
        raise Closed(f"the connection to {target} is closed") from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # Nobody cancelled the caller: gRPC says in this way that the channel was closed under it.
        raise Closed(f"the connection to {target} was closed") from None
