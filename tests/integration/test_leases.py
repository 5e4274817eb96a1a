"""Leases and schedules across sleeps, namesakes and restarts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agenda import ActivationState
from lavagna_server.domain.agents import Role
from lavagna_server.domain.errors import LeaseLost, NotFound, PermissionDenied, WrongState
from lavagna_server.domain.schedules import Schedule
from lavagna_server.domain.triggers import Mode, TriggerId
from lavagna_server.engine.engine import Engine
from tests.desks import Desk, put

Start = Callable[[], AbstractAsyncContextManager[Engine]]
SECOND = timedelta(seconds=1)


def member(engine: Engine, name: str) -> Desk:
    """A programmer."""
    return Desk(engine, name, teams=frozenset({"programmers"}))


@pytest.mark.guarantee("A2")
@pytest.mark.field_report("F7")
async def test_of_thirty_two_workers_one_holds_the_activation_and_a_namesake_is_refused(
    engine: Engine, alice: Desk
) -> None:
    workers = [member(engine, f"worker-{n % 31}") for n in range(32)]
    await workers[0].trigger("build", "tasks/{task}", team="programmers")
    await alice.put("tasks/1", 1)

    outcomes = await asyncio.gather(*(worker.acquire() for worker in workers))

    (won,) = [leases[0] for leases in outcomes if leases]
    holder = won.activation.holder
    namesake = member(engine, holder)
    assert await namesake.acquire() == ()
    forged = str(won.activation.token).replace("=", "") + "A"
    (beat,) = (
        await engine.activations.heartbeat(namesake.caller, [str(won.activation.token)])
    ).results
    assert beat.expires_at is not None
    with pytest.raises(Exception, match="token"):
        await engine.activations.heartbeat(namesake.caller, [forged])
    other = member(engine, "somebody-else")
    with pytest.raises(LeaseLost):
        await other.complete(won)
    assert Counter(each.state for each in await alice.activations()) == {ActivationState.LEASED: 1}


@pytest.mark.guarantee("A2")
@pytest.mark.guarantee("A3")
@pytest.mark.field_report("F8")
@pytest.mark.parametrize("taken_over", [True, False])
async def test_a_holder_that_slept_changes_nothing(
    engine: Engine, alice: Desk, clock: ManualClock, taken_over: bool
) -> None:
    sleeper, successor = member(engine, "sleeper"), member(engine, "successor")
    await sleeper.trigger("build", "tasks/{task}", team="programmers", limits={"lease": SECOND})
    await alice.put("tasks/1", 1)
    first = await sleeper.acquire_one()
    if taken_over:
        await clock.advance(1)
        second = await successor.acquire_one()
    else:
        await engine.upkeep.stop()
        clock._now += SECOND  # the sweeper is stopped: only the token's own time can refuse
    token = str(first.activation.token)

    (beat,) = (await engine.activations.heartbeat(sleeper.caller, [token])).results
    assert beat.expires_at is None
    for attempt in (
        sleeper.complete(first, put("code/1", "stale")),
        sleeper.put("code/1", "stale", token=token),
        sleeper.fail(first),
        engine.activations.release(sleeper.call(), token=token, activation=None),
    ):
        with pytest.raises(LeaseLost):
            await attempt

    with pytest.raises(NotFound):
        await alice.get("code/1")
    (activation,) = await alice.activations()
    assert activation.state is ActivationState.LEASED
    if taken_over:
        assert activation.lease == second.activation.lease
        await successor.complete(second, put("code/1", "fresh"))


@pytest.mark.guarantee("A1")
@pytest.mark.field_report("F10")
async def test_unrelated_writes_in_what_a_trigger_reads_do_not_offer_it_again(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("build", "tasks/{task}", reads=["design/**"], when="size(board) > 0")
    await alice.put("design/a", 1)
    await alice.put("tasks/1", 1)
    held = await bob.acquire_one()

    for number in range(5):
        await alice.put(f"design/{number}", number)

    assert await bob.acquire() == ()
    assert len(await alice.activations()) == 1
    await bob.complete(held)
    assert await bob.acquire() == ()


@pytest.mark.guarantee("A5")
async def test_a_restart_extends_running_leases_by_their_full_length(
    start_engine: Start, clock: ManualClock
) -> None:
    async with start_engine() as engine:
        alice, bob = Desk(engine, "alice"), Desk(engine, "bob")
        await bob.trigger("build", "tasks/{task}")
        await alice.put("tasks/1", 1)
        leased = await bob.acquire_one()
        await clock.advance(29)

    clock._now += timedelta(minutes=10)
    async with start_engine() as engine:
        bob = Desk(engine, "bob")
        await clock.advance(29)
        assert await bob.acquire() == ()
        await bob.complete(leased, put("code/1", 1))


@pytest.mark.guarantee("A1")
async def test_activations_and_half_open_gates_survive_a_restart(start_engine: Start) -> None:
    async with start_engine() as engine:
        alice, bob = Desk(engine, "alice"), Desk(engine, "bob")
        await bob.trigger("one", "tasks/{task}")
        await bob.trigger("gate", "left", reads=["right"], when="'right' in board")
        await alice.put("tasks/1", 1)
        await alice.put("left", 1)

    async with start_engine() as engine:
        alice, bob = Desk(engine, "alice"), Desk(engine, "bob")
        assert [each.activation.trigger for each in await bob.acquire(most=9)] == ["one"]
        await alice.put("tasks/1", 2)
        await alice.put("right", 1)
        assert [each.activation.trigger for each in await bob.acquire(most=9)] == ["gate"]


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

    clock._now = at(10)
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


async def test_a_cron_rule_keeps_its_wall_time_across_a_change_of_clocks(
    engine: Engine, bob: Desk, clock: ManualClock
) -> None:
    clock._now = datetime(2026, 3, 28, 12, tzinfo=UTC)
    await bob.trigger(
        "morning", mode=Mode.DUE, schedule=Schedule(cron="0 9 * * *", time_zone="Europe/Rome")
    )
    await clock.advance(2 * 86_400)

    slots = [each.slot_at for each in await bob.activations()]
    assert slots == [datetime(2026, 3, 30, 7, tzinfo=UTC), datetime(2026, 3, 29, 7, tzinfo=UTC)]


async def test_an_activation_can_be_held_back_released_cancelled_and_only_by_those_concerned(
    engine: Engine, alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await bob.trigger("build", "tasks/{task}")
    await alice.put("tasks/1", 1)
    (waiting,) = await alice.activations()
    stranger = Desk(engine, "stranger", role=Role.AGENT)
    with pytest.raises(PermissionDenied):
        await engine.activations.hold(stranger.call(), waiting.id, None)

    await engine.activations.hold(bob.call(), waiting.id, None)
    assert await bob.acquire() == ()
    await engine.activations.release(bob.call(), token="", activation=waiting.id)
    leased = await bob.acquire_one()
    with pytest.raises(WrongState):
        await engine.activations.hold(bob.call(), waiting.id, None)
    await engine.activations.release(
        bob.call(), token=str(leased.activation.token), activation=None
    )
    again = await bob.acquire_one()
    assert again.activation.attempt == 1
    await engine.activations.cancel(alice.call(), waiting.id, "not needed")
    with pytest.raises(LeaseLost):
        await bob.complete(again)

    await alice.put("tasks/2", 1)
    (second, _) = await alice.activations()
    await engine.activations.hold(bob.call(), second.id, clock.now() + timedelta(seconds=5))
    await clock.advance(4)
    assert await bob.acquire() == ()
    await clock.advance(1)
    await bob.acquire_one()


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
    for _ in range(2):
        await clock.advance(19)
        (beat,) = (await bob.engine.activations.heartbeat(bob.caller, [token])).results
    assert beat.expires_at == leased.activation.fired_at + timedelta(seconds=40)
    await clock.advance(2)
    with pytest.raises(LeaseLost):
        await bob.complete(leased)


async def test_concurrency_is_bounded_per_trigger_and_per_binding(alice: Desk, bob: Desk) -> None:
    await bob.trigger(
        "build", "tasks/{task}/{step}", mode=Mode.EVERY, limits={"concurrency_max": 2}
    )
    for step in range(2):
        await alice.put(f"tasks/a/{step}", 1)
        await alice.put(f"tasks/a/{step}", 2)
    await alice.put("tasks/b/0", 1)

    leases = await bob.acquire(most=9)
    assert [each.activation.bind for each in leases] == [
        {"task": "a", "step": "0"},
        {"task": "a", "step": "1"},
    ]
    await bob.complete(leases[0])
    (third,) = await bob.acquire(most=9)
    assert third.activation.bind == {"task": "a", "step": "0"}
