"""Time: the system's never goes backwards, the manual one moves only when told."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from lavagna_server.clocks import ManualClock, SystemClock

SECOND = 1_000_000_000


class Hands:
    """A system clock that the test sets."""

    def __init__(self) -> None:
        self.wall = 1_800_000_000 * SECOND
        self.steady = 5 * SECOND

    def clock(self) -> SystemClock:
        return SystemClock(wall_ns=lambda: self.wall, steady_ns=lambda: self.steady)

    def pass_seconds(self, seconds: int) -> None:
        self.wall += seconds * SECOND
        self.steady += seconds * SECOND


def test_the_system_clock_tells_utc() -> None:
    clock = SystemClock()
    before = datetime.now(UTC)
    told = clock.now()
    assert told.tzinfo is UTC
    assert before <= told <= datetime.now(UTC)


@pytest.mark.guarantee("A5")
def test_time_goes_on_at_its_pace_when_the_system_clock_is_set_back() -> None:
    hands = Hands()
    clock = hands.clock()
    start = clock.now()
    hands.wall -= 3_600 * SECOND
    assert clock.now() == start
    hands.pass_seconds(30)
    assert clock.now() == start + timedelta(seconds=30)


def test_time_follows_the_system_clock_when_it_is_set_forward() -> None:
    hands = Hands()
    clock = hands.clock()
    start = clock.now()
    hands.wall += 3_600 * SECOND
    assert clock.now() == start + timedelta(hours=1)


async def test_sleeping_until_a_past_moment_returns_at_once() -> None:
    for clock in (SystemClock(), ManualClock()):
        await asyncio.wait_for(clock.sleep_until(clock.now()), timeout=5)


async def test_the_system_clock_sleeps_until_the_moment_has_come() -> None:
    clock = SystemClock()
    moment = clock.now() + timedelta(milliseconds=20)
    await clock.sleep_until(moment)
    assert clock.now() >= moment


async def test_manual_time_stands_still_until_it_is_moved() -> None:
    clock = ManualClock()
    start = clock.now()
    assert clock.now() == start
    await clock.advance(1.5)
    assert clock.now() == start + timedelta(seconds=1.5)


async def test_sleepers_wake_in_order_at_their_own_moment() -> None:
    clock = ManualClock()
    start = clock.now()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, *seconds: float) -> None:
        for each in seconds:
            await clock.sleep_until(start + timedelta(seconds=each))
            woken.append((name, (clock.now() - start).total_seconds()))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(sleeper("late", 4, 5))
        tasks.create_task(sleeper("often", 1, 2, 3))
        await clock.advance(10)
    assert woken == [("often", 1), ("often", 2), ("often", 3), ("late", 4), ("late", 5)]


async def test_a_sleeper_beyond_the_target_sleeps_on() -> None:
    clock = ManualClock()
    sleeper = asyncio.create_task(clock.sleep_until(clock.now() + timedelta(seconds=10)))
    await clock.advance(9.999)
    assert not sleeper.done()
    await clock.advance(0.001)
    assert sleeper.done()


async def test_a_cancelled_sleeper_does_not_hold_up_the_others() -> None:
    clock = ManualClock()
    cancelled = asyncio.create_task(clock.sleep_until(clock.now() + timedelta(seconds=1)))
    sleeper = asyncio.create_task(clock.sleep_until(clock.now() + timedelta(seconds=2)))
    await clock.advance(0)
    cancelled.cancel()
    await clock.advance(2)
    assert cancelled.cancelled()
    assert sleeper.done()


async def test_advancing_waits_for_what_goes_on_elsewhere() -> None:
    clock = ManualClock()
    seen: list[datetime] = []

    async def settle() -> None:
        seen.append(clock.now())

    clock.settle_with(settle)
    start = clock.now()
    sleeper = asyncio.create_task(clock.sleep_until(start + timedelta(seconds=1)))
    await clock.advance(2)
    assert sleeper.done()
    assert seen == [start, start + timedelta(seconds=1), start + timedelta(seconds=2)]
