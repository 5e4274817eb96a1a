"""Activations: the client that takes work, and settles it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from lavagna.activations import Activation, ActivationState, Beat, Lease
from lavagna.calls import Caller
from lavagna.changes import Change
from lavagna.checks import (
    INT32_MAX,
    checked_count,
    checked_flag,
    checked_several,
    checked_text,
    checked_texts,
)
from lavagna.clients.activation_codec import activation_of, beat_of, lease_of, state_number
from lavagna.conditions import Condition
from lavagna.entries import Committed, Space, space_number
from lavagna.names import child_name
from lavagna.paging import pages
from lavagna.times import Seconds, duration, timestamp
from lavagna.v1 import activations_pb2 as wire
from lavagna.writes import change_messages, committed_of, condition_messages


class Activations:
    """The agenda of one board."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.stubs.activations

    async def acquire(
        self, *, count: int = 1, wait: Seconds = 0, trigger_ids: Sequence[str] = ()
    ) -> tuple[Lease, ...]:
        """Leases of the most urgent work, waiting for some if there is none; empty if in vain.

        Whoever acquires must send heartbeats; `Agent` does all of that.
        """
        request = acquire_request(self._caller, count=count, wait=wait, trigger_ids=trigger_ids)
        answer = await self._caller.mutate(self._stub.Acquire, request)
        self._caller.note(Space.SHARED, answer.header)
        return tuple(lease_of(message) for message in answer.leases)

    async def heartbeat(self, tokens: Sequence[str]) -> tuple[Beat, ...]:
        """Extends leases, at most 100; one answer per token, in order."""
        request = wire.HeartbeatRequest(
            board=self._caller.board_name, tokens=checked_texts(tokens, field="tokens")
        )
        answer = await self._caller.ask(self._stub.Heartbeat, request)
        self._caller.note(Space.SHARED, answer.header)
        return tuple(beat_of(message) for message in answer.results)

    async def complete(
        self,
        token: str,
        changes: Sequence[Change] = (),
        *,
        conditions: Sequence[Condition] = (),
        otherwise: Sequence[Change] = (),
        space: Space = Space.SHARED,
    ) -> Committed:
        """Commits the changes and completes the activation together, or neither.

        `space` is the activation's own, where the changes go.

        Raises:
            Conflict: A condition or an expected version does not hold, and there are no
                otherwise-changes; the lease goes on.
            LeaseLost: The token is stale.
        """
        space_number(space)
        request = wire.CompleteRequest(
            board=self._caller.board_name,
            activation_token=checked_text(token, field="token"),
            conditions=condition_messages(conditions),
            changes=change_messages(changes),
            else_changes=change_messages(otherwise, field="otherwise"),
        )
        answer = await self._caller.mutate(self._stub.Complete, request)
        self._caller.note(space, answer.header)
        return committed_of(answer)

    async def fail(
        self, token: str, reason: str, *, retry_after: Seconds | None = None, final: bool = False
    ) -> Activation:
        """Gives up an attempt; the activation waits for its backoff, or becomes a dead letter."""
        request = wire.FailRequest(
            board=self._caller.board_name,
            activation_token=checked_text(token, field="token"),
            reason=checked_text(reason, field="reason"),
            final=checked_flag(final, field="final"),
        )
        if retry_after is not None:
            request.retry_after.CopyFrom(duration(retry_after, field="retry_after"))
        answer = await self._caller.mutate(self._stub.Fail, request)
        return activation_of(answer.activation)

    async def release(self, *, token: str = "", activation_id: str = "") -> Activation:
        """Gives a lease back without counting an attempt, or ends a hold by the activation's id."""
        request = wire.ReleaseRequest(board=self._caller.board_name)
        if token != "":
            request.activation_token = checked_text(token, field="token")
        else:
            request.name = self._name(activation_id)
        answer = await self._caller.mutate(self._stub.Release, request)
        return activation_of(answer.activation)

    async def hold(self, activation_id: str, *, until: datetime | None = None) -> Activation:
        """Holds a waiting activation back, until a time or until it is released."""
        request = wire.HoldRequest(name=self._name(activation_id))
        if until is not None:
            request.until.CopyFrom(timestamp(until, field="until"))
        answer = await self._caller.mutate(self._stub.Hold, request)
        return activation_of(answer.activation)

    async def cancel(self, activation_id: str, reason: str = "") -> Activation:
        """Ends an activation without a result; its holder's lease is lost."""
        request = wire.CancelRequest(
            name=self._name(activation_id), reason=checked_text(reason, field="reason")
        )
        answer = await self._caller.mutate(self._stub.Cancel, request)
        return activation_of(answer.activation)

    async def get(self, activation_id: str) -> Activation:
        """The activation."""
        request = wire.GetActivationRequest(name=self._name(activation_id))
        answer = await self._caller.ask(self._stub.GetActivation, request)
        return activation_of(answer.activation)

    async def list(
        self,
        *,
        states: Sequence[ActivationState] = (),
        trigger_id: str = "",
        space: Space = Space.SHARED,
    ) -> AsyncIterator[Activation]:
        """The activations, the newest first."""
        request = wire.ListActivationsRequest(
            board=self._caller.board_name,
            space=space_number(space),
            states=[state_number(each) for each in checked_several(states, field="states")],
            trigger_id=checked_text(trigger_id, field="trigger_id"),
        )

        async def fetch(request: wire.ListActivationsRequest) -> wire.ListActivationsResponse:
            return await self._caller.ask(self._stub.ListActivations, request)

        async for page in pages(fetch, request):
            for message in page.activations:
                yield activation_of(message)

    async def replay(self, activation_id: str) -> Activation:
        """Offers an ended activation again, with its attempts counted anew."""
        request = wire.ReplayRequest(name=self._name(activation_id))
        answer = await self._caller.mutate(self._stub.Replay, request)
        return activation_of(answer.activation)

    def _name(self, activation_id: str) -> str:
        checked_text(activation_id, field="activation_id")
        return child_name(self._caller.board, "activations", activation_id)


def acquire_request(
    caller: Caller, *, count: int, wait: Seconds, trigger_ids: Sequence[str]
) -> wire.AcquireRequest:
    """The request for leases.

    Raises:
        Invalid: The count or the wait is out of its range.
    """
    return wire.AcquireRequest(
        board=caller.board_name,
        count_max=checked_count(count, field="count", most=INT32_MAX),
        wait=duration(wait, field="wait"),
        trigger_ids=checked_texts(trigger_ids, field="trigger_ids"),
    )
