"""What every call passes through, put together once per method: telemetry, errors, identity, access, room.

A servicer's method is called with a request that could be parsed and with the session of a caller that may call it. It raises what is
wrong; only here does an error become a status.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

import grpc.aio
from google.protobuf.message import Message

from lavagna_server.domain.errors import BoardError, Invalid, SlowConsumer, Unauthenticated
from lavagna_server.engine.identity import Identity, Session
from lavagna_server.rpc.access import Home, Rule, check_role
from lavagna_server.rpc.errors import Refusal, fault, refusal
from lavagna_server.rpc.gates import Gate
from lavagna_server.rpc.identity import Card, Context, card_of
from lavagna_server.rpc.telemetry import OK, Meter, Visit

ABORT_SECONDS = 1.0
"""How long to wait until a client that takes nothing has taken the end of its stream; it gets it later if it comes back."""

Unary: TypeAlias = "Callable[[Any, Session], Awaitable[Message]]"
Stream: TypeAlias = "Callable[[Any, Session], AsyncGenerator[Message, None]]"


class Unreadable:
    """Stands in place of a request that is not the message it should be."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Doorstep:
    """What all methods share."""

    identity: Identity
    certificates: bool
    """Whether clients may prove who they are by a certificate."""
    stall_seconds: float
    """How long a client may take to accept a message of a stream."""


class Chain:
    """The way of a call to one method and back."""

    def __init__(self, rule: Rule, meter: Meter, gate: Gate, doorstep: Doorstep) -> None:
        self._rule, self._meter, self._gate = rule, meter, gate
        self._identity, self._certificates = doorstep.identity, doorstep.certificates
        self._stall_seconds = doorstep.stall_seconds
        self._board = rule.board_reader()

    def unary(self, behaviour: Unary) -> Callable[[Any, Context], Awaitable[Message]]:
        """What gRPC calls for a method with one response."""

        async def answer(request: Any, context: Context) -> Message:
            card = card_of(context, certificates=self._certificates)
            visit = self._meter.arrive(card.request)
            try:
                session = self._admit(request, card, visit)
                self._gate.enter()
                try:
                    response = await behaviour(request, session)
                finally:
                    self._gate.leave()
            except Exception as error:  # noqa: BLE001 (the boundary: everything is reported)
                ending = self._ending(error, visit)
            else:
                self._meter.succeed(visit, response)
                return response
            finally:
                self._meter.leave(visit)
            return await context.abort(*ending)

        return answer

    def streaming(self, behaviour: Stream) -> Callable[[Any, Context], Awaitable[None]]:
        """What gRPC calls for a method with a stream of responses."""

        async def answer(request: Any, context: Context) -> None:
            card = card_of(context, certificates=self._certificates)
            visit = self._meter.arrive(card.request)
            try:
                session = self._admit(request, card, visit)
                self._gate.enter()
                try:
                    await self._pump(behaviour(request, session), session, context)
                finally:
                    self._gate.leave()
            except grpc.aio.BaseError:  # the client is gone: gRPC must hear of it (grpc#43360)
                raise
            except Exception as error:  # noqa: BLE001 (the boundary: everything is reported)
                ending = self._ending(error, visit)
            else:
                visit.outcome = OK
                return
            finally:
                self._meter.leave(visit)
            await _end(context, ending)

        return answer

    def _admit(self, request: Any, card: Card, visit: Visit) -> Session:
        """The session of a caller that may make this call.

        Raises:
            Unauthenticated: The call does not say who makes it, or cannot prove it.
            Invalid: It could not be parsed, or names no board.
            NotFound: The caller belongs to another board, or there is none of that name.
            RoleRequired: The caller's role does not suffice.
        """
        credentials = card.credentials(trust_names=self._identity.trust_names)
        if isinstance(request, Unreadable):
            raise Invalid(
                "request",
                f"these bytes are not a {request.kind} (malformed, or text that is not UTF-8)",
            )
        if self._rule.board is Home.CALLER:
            board = self._identity.home(credentials)
        else:
            board = self._board(request)
        session = self._identity.authenticate(credentials, board)
        visit.board, visit.agent = board, session.caller.agent
        check_role(self._rule, session.caller)
        return session

    async def _pump(
        self, messages: AsyncGenerator[Message, None], session: Session, context: Context
    ) -> None:
        """Sends the messages of a stream, as long as the caller takes them and its session lasts."""
        token = ""
        async with aclosing(messages):
            async for message in messages:
                await self._send(message, context, token)
                token = getattr(message, "token", "")
                if session.ended.is_set():
                    raise Unauthenticated(
                        "the token was revoked or replaced while the stream was open"
                    )

    async def _send(self, message: Message, context: Context, token: str) -> None:
        try:
            async with asyncio.timeout(self._stall_seconds):
                await context.write(message)
        except TimeoutError:
            raise SlowConsumer(stall_seconds=ceil(self._stall_seconds), token=token) from None

    def _ending(self, error: Exception, visit: Visit) -> Refusal:
        self._meter.fail(visit, error)
        return refusal(error) if isinstance(error, BoardError) else fault(visit.request)


async def _end(context: Context, ending: Refusal) -> None:
    # The status waits behind messages that the client has not taken. It is on its way when this gives up.
    with suppress(TimeoutError):
        async with asyncio.timeout(ABORT_SECONDS):
            await context.abort(*ending)
