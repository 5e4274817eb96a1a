"""Triggers: the client that keeps them."""

from __future__ import annotations

from collections.abc import AsyncIterator

from lavagna.calls import Caller
from lavagna.checks import checked_revision, checked_text, checked_type
from lavagna.clients.trigger_codec import trial_of, trigger_message, trigger_of
from lavagna.names import child_name
from lavagna.paging import pages
from lavagna.triggers import Trial, Trigger
from lavagna.v1 import triggers_pb2 as wire


class Triggers:
    """The triggers of one board."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.stubs.triggers

    async def set(self, trigger: Trigger) -> Trigger:
        """Creates or replaces the trigger; setting the same again changes nothing.

        A new edge trigger fires at once for what already holds.

        Raises:
            Conflict: The trigger has a version, and it is not the current one.
            Invalid: The condition, a pattern or the schedule is malformed.
        """
        message = trigger_message(trigger)
        request = wire.SetTriggerRequest(
            board=self._caller.board_name, trigger_id=trigger.id, trigger=message
        )
        answer = await self._caller.mutate(self._stub.SetTrigger, request)
        return trigger_of(answer.trigger)

    async def get(self, trigger_id: str) -> Trigger:
        """The trigger, with its statistics."""
        request = wire.GetTriggerRequest(name=self._name(trigger_id))
        answer = await self._caller.ask(self._stub.GetTrigger, request)
        return trigger_of(answer.trigger)

    async def list(self) -> AsyncIterator[Trigger]:
        """The triggers that the caller may see, by name."""
        request = wire.ListTriggersRequest(board=self._caller.board_name)

        async def fetch(request: wire.ListTriggersRequest) -> wire.ListTriggersResponse:
            return await self._caller.ask(self._stub.ListTriggers, request)

        async for page in pages(fetch, request):
            for message in page.triggers:
                yield trigger_of(message)

    async def suspend(self, trigger_id: str) -> Trigger:
        """Stops the trigger from firing; what it fired already stays."""
        request = wire.SuspendTriggerRequest(name=self._name(trigger_id))
        answer = await self._caller.mutate(self._stub.SuspendTrigger, request)
        return trigger_of(answer.trigger)

    async def resume(self, trigger_id: str) -> Trigger:
        """Lets the trigger fire again, at once for what holds by now."""
        request = wire.ResumeTriggerRequest(name=self._name(trigger_id))
        answer = await self._caller.mutate(self._stub.ResumeTrigger, request)
        return trigger_of(answer.trigger)

    async def delete(self, trigger_id: str) -> None:
        """Deletes the trigger and cancels what waits of it."""
        request = wire.DeleteTriggerRequest(name=self._name(trigger_id))
        await self._caller.mutate(self._stub.DeleteTrigger, request)

    async def try_(self, trigger: str | Trigger, *, at: int | None = None, key: str = "") -> Trial:
        """What a trigger would do, now or at a revision; changes nothing.

        `trigger` is the id of one that is set, or one that is not. With a `key` only that entry is
        looked at, else every one that `on` matches, at most 100.
        """
        request = wire.TryTriggerRequest(
            board=self._caller.board_name,
            at_revision=0 if at is None else checked_revision(at, field="at"),
            key=checked_text(key, field="key"),
        )
        checked_type(trigger, (str, Trigger), field="trigger")
        if isinstance(trigger, str):
            request.trigger_id = checked_text(trigger, field="trigger")
        else:
            request.trigger.CopyFrom(trigger_message(trigger))
        answer = await self._caller.ask(self._stub.TryTrigger, request)
        return trial_of(answer)

    def _name(self, trigger_id: str) -> str:
        checked_text(trigger_id, field="trigger_id")
        return child_name(self._caller.board, "triggers", trigger_id)
