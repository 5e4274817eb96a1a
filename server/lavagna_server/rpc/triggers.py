"""The servicer of `lavagna.v1.Triggers`."""

from __future__ import annotations

from lavagna.v1.triggers_pb2 import (
    DeleteTriggerRequest,
    DeleteTriggerResponse,
    GetTriggerRequest,
    GetTriggerResponse,
    ListTriggersRequest,
    ListTriggersResponse,
    ResumeTriggerRequest,
    ResumeTriggerResponse,
    SetTriggerRequest,
    SetTriggerResponse,
    SuspendTriggerRequest,
    SuspendTriggerResponse,
    TryTriggerRequest,
    TryTriggerResponse,
)
from lavagna_server.domain.names import parse_trigger
from lavagna_server.domain.triggers import check_trigger_name
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.identity import Session
from lavagna_server.rpc.calls import Calls
from lavagna_server.rpc.codec import trials, triggers
from lavagna_server.rpc.codec.checks import not_negative, page_size, required


class Triggers:
    """Keeps the triggers of a board."""

    def __init__(self, engine: Engine, calls: Calls) -> None:
        self._triggers, self._limits = engine.triggers, engine.limits
        self._calls = calls

    async def SetTrigger(self, request: SetTriggerRequest, session: Session) -> SetTriggerResponse:
        name = check_trigger_name(request.trigger_id, field="trigger_id")
        required(request.HasField("trigger"), field="trigger")
        draft = triggers.trigger_from_wire(
            request.trigger, name, session.caller, limits=self._limits
        )
        version = not_negative(request.trigger.version, field="trigger.version")
        call = self._calls.mutation(
            session.caller,
            request,
            triggers.set_response,
            SetTriggerResponse,
        )
        return await self._triggers.set(call, draft, expected_version=version)

    async def GetTrigger(self, request: GetTriggerRequest, session: Session) -> GetTriggerResponse:
        wanted = parse_trigger(request.name, field="name")
        trigger = await self._triggers.get(session.caller, wanted)
        return GetTriggerResponse(trigger=triggers.trigger_to_wire(trigger))

    async def ListTriggers(
        self, request: ListTriggersRequest, session: Session
    ) -> ListTriggersResponse:
        caller, limits = session.caller, self._limits
        size = page_size(request.page_size, limits=limits)
        after = trials.triggers_place(request, caller)
        page = await self._triggers.list(caller, after=after, size=size)
        return trials.triggers_response(page, request, caller, size=size, limits=limits)

    async def SuspendTrigger(
        self, request: SuspendTriggerRequest, session: Session
    ) -> SuspendTriggerResponse:
        trigger = parse_trigger(request.name, field="name")
        call = self._calls.mutation(
            session.caller,
            request,
            triggers.suspend_response,
            SuspendTriggerResponse,
        )
        return await self._triggers.suspend(call, trigger)

    async def ResumeTrigger(
        self, request: ResumeTriggerRequest, session: Session
    ) -> ResumeTriggerResponse:
        trigger = parse_trigger(request.name, field="name")
        call = self._calls.mutation(
            session.caller,
            request,
            triggers.resume_response,
            ResumeTriggerResponse,
        )
        return await self._triggers.resume(call, trigger)

    async def DeleteTrigger(
        self, request: DeleteTriggerRequest, session: Session
    ) -> DeleteTriggerResponse:
        trigger = parse_trigger(request.name, field="name")
        call = self._calls.mutation(
            session.caller, request, triggers.delete_response, DeleteTriggerResponse
        )
        return await self._triggers.delete(call, trigger)

    async def TryTrigger(self, request: TryTriggerRequest, session: Session) -> TryTriggerResponse:
        trial = await self._triggers.try_(
            session.caller,
            trials.subject_from_wire(request, session.caller, limits=self._limits),
            revision=not_negative(request.at_revision, field="at_revision"),
            key=trials.tried_key(request, limits=self._limits),
        )
        return trials.try_response(trial)
