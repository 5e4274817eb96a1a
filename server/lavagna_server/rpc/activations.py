"""The servicer of `lavagna.v1.Activations`."""

from __future__ import annotations

import asyncio

from lavagna.v1.activations_pb2 import (
    AcquireRequest,
    AcquireResponse,
    CancelRequest,
    CancelResponse,
    CompleteRequest,
    CompleteResponse,
    FailRequest,
    FailResponse,
    GetActivationRequest,
    GetActivationResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    HoldRequest,
    HoldResponse,
    ListActivationsRequest,
    ListActivationsResponse,
    ReleaseRequest,
    ReleaseResponse,
    ReplayRequest,
    ReplayResponse,
)
from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.names import parse_activation
from lavagna_server.domain.triggers import check_trigger_name
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.identity import Session
from lavagna_server.rpc.calls import Calls
from lavagna_server.rpc.codec import activations, commits
from lavagna_server.rpc.codec.checks import check_bytes, page_size, within
from lavagna_server.rpc.codec.enums import ACTIVATION_STATES
from lavagna_server.rpc.codec.spaces import space_from_wire
from lavagna_server.rpc.codec.times import moment_from_wire, span_from_wire
from lavagna_server.rpc.waits import either


class Activations:
    """Hands out activations and takes back their results."""

    def __init__(self, engine: Engine, calls: Calls, closing: asyncio.Event) -> None:
        self._activations, self._limits = engine.activations, engine.limits
        self._quotas, self._calls, self._closing = engine.quotas, calls, closing

    async def Acquire(self, request: AcquireRequest, session: Session) -> AcquireResponse:
        most = within(request.count_max, 1, activations.ACQUIRED_MAX, field="count_max", default=1)
        wait = span_from_wire(request.wait, field="wait", most=activations.WAIT_MAX)
        wanted = activations.wanted_triggers(request, limits=self._limits)
        call = self._calls.mutation(
            session.caller, request, activations.acquire_response, AcquireResponse
        )
        async with either(session.ended, self._closing) as until:
            return await self._activations.acquire(
                call, most=most, wait=wait, triggers=wanted, until=until
            )

    async def Heartbeat(self, request: HeartbeatRequest, session: Session) -> HeartbeatResponse:
        tokens = activations.heartbeat_tokens(request)
        self._quotas.charge(session.caller, mutations=1, value_bytes=0)
        return activations.heartbeat_response(
            await self._activations.heartbeat(session.caller, tokens)
        )

    async def Complete(self, request: CompleteRequest, session: Session) -> CompleteResponse:
        token = activations.required_token(request.activation_token)
        wanted = commits.request_from_wire(
            request, SpaceName(session.caller.board), limits=self._limits
        )
        call = self._calls.mutation(
            session.caller, request, commits.complete_response, CompleteResponse
        )
        return await self._activations.complete(call, token, wanted)

    async def Fail(self, request: FailRequest, session: Session) -> FailResponse:
        token = activations.required_token(request.activation_token)
        self._check_reason(request.reason)
        retry_after = (
            span_from_wire(request.retry_after, field="retry_after")
            if request.HasField("retry_after")
            else None
        )
        call = self._calls.mutation(
            session.caller,
            request,
            activations.fail_response,
            FailResponse,
        )
        return await self._activations.fail(
            call, token, reason=request.reason, retry_after=retry_after, final=request.final
        )

    async def Release(self, request: ReleaseRequest, session: Session) -> ReleaseResponse:
        token, held = activations.released_subject(request)
        call = self._calls.mutation(
            session.caller,
            request,
            activations.release_response,
            ReleaseResponse,
        )
        return await self._activations.release(call, token=token, activation=held)

    async def Hold(self, request: HoldRequest, session: Session) -> HoldResponse:
        held = parse_activation(request.name, field="name")
        until = (
            moment_from_wire(request.until, field="until") if request.HasField("until") else None
        )
        call = self._calls.mutation(
            session.caller,
            request,
            activations.hold_response,
            HoldResponse,
        )
        return await self._activations.hold(call, held, until)

    async def Cancel(self, request: CancelRequest, session: Session) -> CancelResponse:
        cancelled = parse_activation(request.name, field="name")
        self._check_reason(request.reason)
        call = self._calls.mutation(
            session.caller,
            request,
            activations.cancel_response,
            CancelResponse,
        )
        return await self._activations.cancel(call, cancelled, request.reason)

    async def Replay(self, request: ReplayRequest, session: Session) -> ReplayResponse:
        replayed = parse_activation(request.name, field="name")
        call = self._calls.mutation(
            session.caller,
            request,
            activations.replay_response,
            ReplayResponse,
        )
        return await self._activations.replay(call, replayed)

    async def GetActivation(
        self, request: GetActivationRequest, session: Session
    ) -> GetActivationResponse:
        wanted = parse_activation(request.name, field="name")
        found = await self._activations.get(session.caller, wanted)
        return GetActivationResponse(activation=activations.activation_to_wire(found))

    async def ListActivations(
        self, request: ListActivationsRequest, session: Session
    ) -> ListActivationsResponse:
        caller, limits = session.caller, self._limits
        size = page_size(request.page_size, limits=limits)
        trigger = request.trigger_id
        page = await self._activations.list(
            caller,
            space_from_wire(request.space, caller),
            states=ACTIVATION_STATES.set_from_wire(request.states, field="states"),
            trigger=check_trigger_name(trigger, field="trigger_id") if trigger else "",
            below_number=activations.activations_place(request, caller),
            size=size,
        )
        return activations.activations_response(page, request, caller, size=size, limits=limits)

    def _check_reason(self, reason: str) -> None:
        check_bytes(reason, self._limits.reason_bytes_max, field="reason", limit="reason_bytes_max")
