"""Runtime: one agent at work on one board, from joining to leaving.

It owns every task that it starts, and none outlives it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lavagna.activations import Lease
from lavagna.attempt import attempted
from lavagna.calls import new_request_id
from lavagna.clients.activation_codec import lease_of
from lavagna.clients.activations import Activations, acquire_request
from lavagna.clients.members import Members
from lavagna.entries import Space
from lavagna.errors import Exhausted, Invalid, LavagnaError, PermissionDenied, Unavailable
from lavagna.heartbeats import Heartbeats
from lavagna.registration import Registration
from lavagna.retry import PATIENT
from lavagna.standing_triggers import StandingTriggers
from lavagna.tasks import ended
from lavagna.v1.activations_pb2 import AcquireRequest
from lavagna.views import View

_POLL_SECONDS = 20.0
"""Shorter than the channel's keepalive, so that waiting for work proves that the server lives."""

_GIVE_BACK_SECONDS = 2.0
"""How long it is tried to give back what a poll that was broken off may have been granted."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms an agent works."""

    name: str
    teams: Sequence[str]
    concurrency: int
    grace_seconds: float


class Runtime:
    """One agent at work on one board."""

    def __init__(self, terms: Terms, registrations: Sequence[Registration], view: View) -> None:
        self._terms = terms
        self._registrations = {each.trigger.id: each for each in registrations}
        self._view = view
        self._caller = view.caller
        wanted = [each.trigger for each in registrations]
        self._standing = StandingTriggers(view.caller, terms.name, wanted)
        self._heartbeats = Heartbeats(view.caller)
        self._running: set[asyncio.Task[None]] = set()
        self._freed = asyncio.Event()
        self._pending: AcquireRequest | None = None
        self.ready = asyncio.Event()
        """Set once the triggers are."""

    async def run(self, stop: asyncio.Event) -> None:
        """Works until `stop` is set, and what runs then has finished or the grace is over.

        Raises:
            LavagnaError: The server cannot be reached at first, or refuses this agent.
        """
        await self._introduce()
        self.ready.set()
        heartbeats = self._task(self._heartbeats.run(), "heartbeats")
        taking = self._task(self._take_work(), "take work")
        stopping = self._task(stop.wait(), "stop")
        try:
            await asyncio.wait([heartbeats, taking, stopping], return_when=asyncio.FIRST_COMPLETED)
            if stopping.done():
                await ended([taking])
                await asyncio.gather(self._give_back_pending(), self._let_finish())
        finally:
            # Handlers give their leases back on the way, so heartbeats end after them.
            await ended([taking, stopping, *self._running])
            await ended([heartbeats])
        for task in (taking, heartbeats):
            if not task.cancelled() and (fault := task.exception()) is not None:
                raise fault

    async def _introduce(self) -> None:
        """Says hello and sets the triggers, which changes nothing when they are set already."""
        welcome = await Members(self._caller).hello(teams=self._terms.teams)
        if welcome.member.id != self._terms.name:
            raise PermissionDenied(
                f"the token belongs to {welcome.member.id!r}, not to {self._terms.name!r};"
                " give the agent a token of its own",
                reason="WRONG_AGENT",
            )
        await self._standing.set()

    async def _take_work(self) -> None:
        if not self._registrations:
            # To the server, no trigger in particular means every trigger.
            await asyncio.Event().wait()
        while True:
            while len(self._running) >= self._terms.concurrency:
                self._freed.clear()
                await self._freed.wait()
            leases = await self._acquired(self._terms.concurrency - len(self._running))
            for lease in leases:
                self._begin(lease)
            if not leases:
                # Perhaps nothing was to be done, and perhaps a condition is broken.
                await self._standing.look()

    def _begin(self, lease: Lease) -> None:
        function = self._registrations[lease.activation.trigger_id].function
        attempt = attempted(lease, function, self._view, self._heartbeats)
        task = self._task(attempt, lease.activation.id)
        self._running.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._freed.set()

    async def _acquired(self, count: int) -> list[Lease]:
        """Leases, or none when the poll was in vain; waits out a server that is away."""
        request = acquire_request(
            self._caller, count=count, wait=_POLL_SECONDS, trigger_ids=[*self._registrations]
        )
        # The id stays over restarts of the server, so leases that were granted but not received
        # are received by asking again.
        request.request_id = new_request_id()
        self._pending = request
        leases = await self._asked(request)
        self._pending = None
        return leases

    async def _asked(self, request: AcquireRequest) -> list[Lease]:
        failures = 0
        while True:
            try:
                if failures:
                    await self._introduce()
                return await self._ask_once(request)
            except (Exhausted, Unavailable) as away:
                if not failures:
                    _log.warning("%s waits for the server: %s", self._terms.name, away)
                wait = PATIENT.wait(failures)
                failures += 1
            await asyncio.sleep(wait)

    async def _ask_once(self, request: AcquireRequest) -> list[Lease]:
        answer = await self._caller.once(
            self._caller.stubs.activations.Acquire, request, request_id=request.request_id
        )
        self._caller.note(Space.SHARED, answer.header)
        return [lease_of(message) for message in answer.leases]

    async def _give_back_pending(self) -> None:
        """Gives back what the poll that was broken off may have been granted on the server."""
        if self._pending is None:
            return
        activations = Activations(self._caller)
        try:
            async with asyncio.timeout(_GIVE_BACK_SECONDS):
                for lease in await self._granted(self._pending):
                    await activations.release(token=lease.token)
        except (LavagnaError, TimeoutError) as unheard:
            # If something was granted, its lease ends by itself.
            _log.info("%s: a lease may be left behind: %s", self._terms.name, unheard)

    async def _granted(self, request: AcquireRequest) -> list[Lease]:
        """What the poll was granted, without waiting as it did.

        A request id stands for one content once it had an effect (S6), so asking without a wait is
        invalid exactly if the poll was granted something; then the poll itself is answered at once.
        """
        hurried = AcquireRequest()
        hurried.CopyFrom(request)
        hurried.ClearField("wait")
        try:
            return await self._ask_once(hurried)
        except Invalid:
            return await self._ask_once(request)

    async def _let_finish(self) -> None:
        """Waits until what runs has finished or the grace is over."""
        if self._running:
            await asyncio.wait(self._running, timeout=self._terms.grace_seconds)

    def _task(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        return asyncio.create_task(work, name=f"{self._terms.name}: {name}")
