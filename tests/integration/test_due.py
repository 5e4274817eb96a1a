"""What happens because time passes: slots, deadlines, holds and cooldowns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agenda import ActivationState
from lavagna_server.domain.entries import Occasion
from lavagna_server.domain.errors import LeaseLost
from lavagna_server.domain.schedules import Schedule
from lavagna_server.domain.triggers import Mode, Trigger, TriggerId
from lavagna_server.engine.engine import Engine
from tests.desks import Desk, put

Start = Callable[[], AbstractAsyncContextManager[Engine]]
SECOND = timedelta(seconds=1)


def member(engine: Engine, name: str) -> Desk:
    """A programmer."""
    return Desk(engine, name, teams=frozenset({"programmers"}))


@pytest.mark.guarantee("A1")
@pytest.mark.field_report("F12")
async def test_reminders_that_fell_due_while_the_server_was_down_fire_once_each_and_late(
    start_engine: Start, clock: ManualClock
) -> None:
    def at(minute: int) -> datetime:
        return datetime(2026, 1, 1, 0, minute, tzinfo=UTC)

    async with start_engine() as engine:
        bob = Desk(engine, "bob")
        for minute in (1, 2, 3):
            await bob.trigger(f"once-{minute}", mode=Mode.DUE, schedule=Schedule(at=at(minute)))
        await bob.trigger("hourly", mode=Mode.DUE, schedule=Schedule(cron="30 * * * *"))
        await bob.trigger("disabled", mode=Mode.DUE, schedule=Schedule(at=at(2)))
        await engine.triggers.suspend(bob.call(), TriggerId(bob.shared, "disabled"))

    clock.jump(600)
    fired: list[tuple[str, datetime | None, bool]] = []
    for _ in range(2):
        async with start_engine() as engine:
            bob = Desk(engine, "bob")
            await engine.settled()
            fired += [
                (each.activation.trigger, each.activation.slot_at, each.activation.late)
                for each in await bob.acquire(most=9)
            ]
    assert fired == [(f"once-{minute}", at(minute), True) for minute in (1, 2, 3)]

    async with start_engine() as engine:
        bob = Desk(engine, "bob")
        await clock.advance(20 * 60)
        (hourly,) = await bob.acquire(most=9, triggers=["hourly"])
        assert (hourly.activation.slot_at, hourly.activation.late) == (at(30), False)
        found = await engine.triggers.get(bob.caller, TriggerId(bob.shared, "hourly"))
        assert found.next_due_at == at(30) + timedelta(hours=1)


async def test_a_reminder_for_a_time_that_has_passed_fires_once_and_at_once(
    engine: Engine, bob: Desk, clock: ManualClock
) -> None:
    passed = Schedule(at=clock.now() - timedelta(days=1))

    async def would_fire(subject: Trigger | TriggerId) -> tuple[bool, str]:
        trial = await engine.triggers.try_(bob.caller, subject, revision=0, key="")
        return trial.would_fire, trial.evaluations[0].reason

    reminder = TriggerId(bob.shared, "reminder")
    draft = Trigger(*reminder, "bob", mode=Mode.DUE, schedule=passed)
    assert await would_fire(draft) == (True, "")

    await bob.trigger("reminder", mode=Mode.DUE, schedule=passed)
    await engine.settled()
    await bob.trigger("reminder", mode=Mode.DUE, schedule=passed)
    await engine.settled()
    assert [(each.slot_at, each.late) for each in await bob.activations()] == [(passed.at, True)]
    assert await would_fire(reminder) == (False, "no time of its schedule is to come")

    later = Schedule(at=clock.now() + SECOND)
    await bob.trigger("reminder", mode=Mode.DUE, schedule=later)
    assert await would_fire(reminder) == (True, "")
    await clock.advance(1)
    assert [each.slot_at for each in await bob.activations()] == [later.at, passed.at]


async def test_a_cron_rule_keeps_its_wall_time_across_a_change_of_clocks(
    engine: Engine, bob: Desk, clock: ManualClock
) -> None:
    clock.jump((datetime(2026, 3, 28, 12, tzinfo=UTC) - clock.now()).total_seconds())
    schedule = Schedule(cron="0 9 * * *", time_zone="Europe/Rome")
    await bob.trigger("morning", mode=Mode.DUE, schedule=schedule)
    for hours in (19, 24):  # to 07:00 UTC, which is 09:00 in Rome from the 29th on
        clock.jump(hours * 3_600 - 30)
        await clock.advance(30)

    slots = [each.slot_at for each in await bob.activations()]
    assert slots == [datetime(2026, 3, 30, 7, tzinfo=UTC), datetime(2026, 3, 29, 7, tzinfo=UTC)]


async def test_deadlines_bound_how_long_work_may_wait_and_run(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    limits = {"start_deadline": timedelta(seconds=5), "run_deadline": timedelta(seconds=40)}
    await bob.trigger("build", "tasks/{task}", limits=limits)
    await alice.put("tasks/1", 1)
    await clock.advance(5)
    assert [each.state for each in await alice.activations()] == [ActivationState.EXPIRED]

    await alice.put("tasks/2", 1)
    leased = await bob.acquire_one()
    token = str(leased.activation.token)
    await clock.advance(19)
    await bob.engine.activations.heartbeat(bob.caller, [token])
    await clock.advance(19)
    (beat,) = (await bob.engine.activations.heartbeat(bob.caller, [token])).results
    assert beat.expires_at == leased.activation.fired_at + timedelta(seconds=40)
    await clock.advance(2)
    with pytest.raises(LeaseLost):
        await bob.complete(leased)


@pytest.mark.guarantee("A4")
async def test_a_start_deadline_no_longer_counts_once_work_has_begun(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await bob.trigger("build", "tasks/{task}", limits={"start_deadline": 10 * SECOND})
    await alice.put("tasks/1", 1)
    await bob.acquire_one()

    await clock.advance(30)

    assert (await bob.acquire_one()).activation.attempt == 2


async def test_holds_without_an_end_stand_in_nobodys_way(
    engine: Engine, alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await bob.trigger("build", "tasks/{task}")
    await alice.commit(*(put(f"tasks/{n:03d}", n) for n in range(128)))
    await alice.put("tasks/last", 1)
    last, *others = await alice.activations()
    for each in others:
        await engine.activations.hold(bob.call(), each.id, None)
    await engine.activations.hold(bob.call(), last.id, clock.now() + 10 * SECOND)

    await clock.advance(10)

    assert (await bob.acquire_one()).activation.id == last.id


@pytest.mark.guarantee("A9")
async def test_a_slot_that_fires_nothing_does_not_stand_in_the_way_of_quiescence(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await bob.trigger("build", "tasks/{task}", limits={"lease": 60 * SECOND, "attempts_max": 1})
    schedule = Schedule(cron="* * * * *")
    await bob.trigger("never", mode=Mode.DUE, schedule=schedule, when="false")
    await alice.put("tasks/1", 1)
    await bob.acquire_one()

    await clock.advance(60)
    assert [commit.occasion for commit in await alice.commits()][1:] == [Occasion.QUIESCENCE]
    await clock.advance(300)
    assert len(await alice.commits()) == 2


async def test_a_cooldown_counts_from_when_the_last_one_was_offered(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await bob.trigger("build", "tasks/{task}", mode=Mode.EVERY, limits={"cooldown": 10 * SECOND})
    await alice.put("tasks/1", 1)
    await bob.complete(await bob.acquire_one())
    await alice.put("tasks/1", 2)
    await clock.advance(10)
    await bob.complete(await bob.acquire_one())
    await alice.put("tasks/1", 3)

    await clock.advance(9)
    assert await bob.acquire() == ()
    await clock.advance(1)
    await bob.acquire_one()
