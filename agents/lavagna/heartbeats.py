"""Heartbeats: keep the leases of one agent alive, and notice those that are lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from lavagna.activations import Beat
from lavagna.calls import Caller
from lavagna.clients.activation_codec import beat_of
from lavagna.errors import Exhausted, Unavailable
from lavagna.v1.activations_pb2 import HeartbeatRequest

_TOKENS_MAX = 100
"""How many tokens one heartbeat may carry."""

_log = logging.getLogger(__name__)


@dataclass
class _Kept:
    token: str
    interval: float
    """A third of the lease, so that two heartbeats may fail before it ends."""
    due_at: float
    lose: Callable[[str], None]


class Heartbeats:
    """The leases that one agent holds, each renewed at a third of its length."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._kept: dict[str, _Kept] = {}
        self._changed = asyncio.Event()

    @contextmanager
    def keeping(
        self, token: str, lease_seconds: float, lose: Callable[[str], None]
    ) -> Generator[None]:
        """Keeps a lease alive within the block; calls `lose` with the reason when it is lost."""
        interval = lease_seconds / 3
        due_at = asyncio.get_running_loop().time() + interval
        self._kept[token] = _Kept(token, interval, due_at, lose)
        self._changed.set()
        try:
            yield
        finally:
            self._kept.pop(token, None)

    async def run(self) -> None:
        """Sends heartbeats for ever.

        While the server cannot be reached no lease counts as lost: a server that comes back
        extends the running ones, and if another holder was found meanwhile the next heartbeat
        says so.

        Raises:
            LavagnaError: The server refuses to hear from this agent.
        """
        while True:
            await self._until_due()
            await self._beat()

    async def _until_due(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            due_at = min((kept.due_at for kept in self._kept.values()), default=None)
            if due_at is not None and due_at <= loop.time():
                return
            try:
                async with asyncio.timeout_at(due_at):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def _beat(self) -> None:
        now = asyncio.get_running_loop().time()
        # What is nearly due goes along, so that leases taken together stay in one call.
        due = [kept for kept in self._kept.values() if kept.due_at <= now + kept.interval / 4]
        due = due[:_TOKENS_MAX]
        if not due:
            return
        request = HeartbeatRequest(
            board=self._caller.board_name, tokens=[kept.token for kept in due]
        )
        patience = max(kept.interval for kept in due)
        try:
            answer = await self._caller.once(
                self._caller.stubs.activations.Heartbeat, request, timeout_seconds=patience
            )
        except (Exhausted, Unavailable) as away:
            _log.info("a heartbeat was missed: %s", away)
            for kept in due:
                kept.due_at = now + min(kept.interval / 4, 1.0)
            return
        self._take_in([beat_of(result) for result in answer.results], now)

    def _take_in(self, beats: list[Beat], now: float) -> None:
        for beat in beats:
            kept = self._kept.get(beat.token)
            if kept is None:
                continue  # settled while the heartbeat was under way
            if beat.lost_reason:
                del self._kept[beat.token]
                kept.lose(beat.lost_reason)
            else:
                kept.due_at = now + kept.interval
