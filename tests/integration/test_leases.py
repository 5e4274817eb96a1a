"""Leases across sleeps, namesakes and restarts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agenda import ActivationState
from lavagna_server.domain.agents import Role
from lavagna_server.domain.errors import LeaseLost, NotFound, PermissionDenied, WrongState
from lavagna_server.domain.triggers import Mode
from lavagna_server.engine.activations import Acquired
from lavagna_server.engine.calls import Call
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
    second = None
    if taken_over:
        await clock.advance(1)
        second = await successor.acquire_one()
    else:
        await engine.upkeep.stop()
        clock.jump(1)  # the sweeper is stopped: only the token's own time can refuse
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
    if second is not None:
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

    clock.jump(600)
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


@pytest.mark.guarantee("S6")
async def test_a_retried_acquire_is_answered_at_once_with_the_same_leases(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("build", "tasks/{task}")
    await alice.put("tasks/1", 1)
    call: Call[Acquired, int] = Call(
        bob.caller,
        "again",
        b"",
        lambda got: got.leases[0].activation.fence,
        lambda n: b"%d" % n,
        int,
    )
    acquire = partial(
        bob.engine.activations.acquire, call, most=1, wait=timedelta(hours=1), triggers=frozenset()
    )

    assert [await acquire(until=asyncio.Event()) for _ in range(2)] == [1, 1]


async def test_whoever_waits_is_woken_when_a_bound_on_concurrency_makes_room(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("build", "tasks/{task}", limits={"concurrency_max": 1})
    await alice.put("tasks/1", 1)
    await alice.put("tasks/2", 1)
    first = await bob.acquire_one()
    waiting = asyncio.ensure_future(
        bob.engine.activations.acquire(
            bob.call(), most=1, wait=timedelta(hours=1), triggers=frozenset(), until=asyncio.Event()
        )
    )
    await asyncio.sleep(0)

    await bob.complete(first)

    assert len((await waiting).leases) == 1


@pytest.mark.guarantee("A5")
async def test_a_clock_that_was_set_back_does_not_keep_a_dead_holders_lease(
    start_engine: Start, clock: ManualClock
) -> None:
    clock.jump(3_600)
    async with start_engine() as engine:
        alice, bob = Desk(engine, "alice"), Desk(engine, "bob")
        await bob.trigger("build", "tasks/{task}")
        await alice.put("tasks/1", 1)
        await bob.acquire_one()

    clock.jump(-3_600)
    async with start_engine() as engine:
        bob = Desk(engine, "bob")
        await clock.advance(30)
        await bob.acquire_one()


@pytest.mark.guarantee("A6")
async def test_the_claim_looks_at_the_same_change_as_the_firing(alice: Desk, bob: Desk) -> None:
    await bob.trigger("moved", "tasks/{task}", when="old != null && old.value != entry.value")
    await alice.put("tasks/1", 1)
    await alice.put("tasks/1", 2)

    leased = await bob.acquire_one()

    assert leased.entry is not None
    assert leased.entry.version == 2


async def test_one_acquire_takes_no_more_than_a_message_can_carry(alice: Desk, bob: Desk) -> None:
    await bob.trigger("build", "tasks/{task}")
    for number in range(4):
        await alice.put(f"tasks/{number}", "x" * 600_000)

    assert [len(await bob.acquire(most=9)) for _ in range(3)] == [2, 2, 0]
