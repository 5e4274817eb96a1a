"""Clocks: the system's, and one that a test moves. Both satisfy `ports.clock.Clock`."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

_NAP_SECONDS_MAX = 60.0
_SETTLING_TURNS = 20


class SystemClock:
    """The system's time in UTC, which never goes backwards; any thread may ask.

    When the system's clock is set back, time goes on from where it was at its true pace, so that no lease, expiry or
    schedule is held up until the system's clock has caught up.
    """

    def __init__(
        self,
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall_ns, self._steady_ns = wall_ns, steady_ns
        self._lock = threading.Lock()
        self._told_ns, self._told_at_ns = 0, steady_ns()

    def now(self) -> datetime:
        with self._lock:
            wall, steady = self._wall_ns(), self._steady_ns()
            if wall < self._told_ns:
                wall = self._told_ns + steady - self._told_at_ns
            self._told_ns, self._told_at_ns = wall, steady
        seconds, rest = divmod(wall, 1_000_000_000)
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1_000)

    async def sleep_until(self, moment: datetime) -> None:
        # In naps, because the system's clock may be set forward, or the machine suspended, meanwhile.
        while (left := (moment - self.now()).total_seconds()) > 0:  # noqa: ASYNC110 - no event says that time has passed
            await asyncio.sleep(min(left, _NAP_SECONDS_MAX))


class ManualClock:
    """Time that stands still until it is moved; `now` may be asked from any thread."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._settle: list[Callable[[], Awaitable[None]]] = []

    def now(self) -> datetime:
        return self._now

    async def sleep_until(self, moment: datetime) -> None:
        if moment <= self._now:
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (moment, next(self._order), woken))
        await woken

    def settle_with(self, settle: Callable[[], Awaitable[None]]) -> None:
        """Has `advance` await `settle()` after each step, for work that goes on outside the event loop."""
        self._settle.append(settle)

    def jump(self, seconds: float) -> None:
        """Sets time forward or back without waking anybody on the way, as when a machine slept or its clock was set."""
        self._now += timedelta(seconds=seconds)

    async def advance(self, seconds: float) -> None:
        """Moves time forward, stopping at each moment that somebody waits for, the earliest first.

        What a sleeper does when it wakes, going to sleep again included, is done before the next one wakes.
        """
        target = self._now + timedelta(seconds=seconds)
        assert target >= self._now, "time does not go backwards"
        await self._settled()
        while self._sleepers and self._sleepers[0][0] <= target:
            moment, _, woken = heapq.heappop(self._sleepers)
            if woken.done():
                continue  # its waiter was cancelled
            self._now = max(self._now, moment)
            woken.set_result(None)
            await self._settled()
        self._now = target
        await self._settled()

    async def _settled(self) -> None:
        for _ in range(_SETTLING_TURNS):
            await asyncio.sleep(0)
        for settle in self._settle:
            await settle()
