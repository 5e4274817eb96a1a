"""Cascades: agents that wake each other, and the bounds that stop them (A8)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agenda import ActivationState
from lavagna_server.domain.boards import Board
from tests.desks import Desk, put


@pytest.mark.guarantee("A8")
async def test_an_agents_own_writes_do_not_wake_it_unless_it_asks(alice: Desk, bob: Desk) -> None:
    await alice.trigger("mine", "notes/*")
    await alice.trigger("asked", "notes/*", own_writes=True)

    await alice.put("notes/1", 1)
    assert [leased.activation.trigger for leased in await alice.acquire(most=9)] == ["asked"]
    await bob.put("notes/2", 1)
    assert {leased.activation.trigger for leased in await alice.acquire(most=9)} == {
        "mine",
        "asked",
    }


@pytest.mark.guarantee("A8")
@pytest.mark.field_report("F11")
async def test_agents_that_wake_each_other_are_stopped_at_the_causal_depth_with_the_chain_shown(
    alice: Desk, bob: Desk
) -> None:
    await alice.trigger("ping", "pong/*", limits={"causal_depth_max": 4})
    await bob.trigger("pong", "ping/*", limits={"causal_depth_max": 4})
    await Desk(alice.engine, "eve").put("ping/0", 0)

    turns = 0
    for turn in range(1, 20):
        desk, key = (bob, "pong") if turn % 2 else (alice, "ping")
        leases = await desk.acquire()
        if not leases:
            break
        turns = turn
        await desk.complete(leases[0], put(f"{key}/{turn}", turn))

    assert turns == 4
    (overrun,) = await alice.activations(ActivationState.OVERRUN)
    assert overrun.reason == (
        "causal depth is limited to 4 (causal_depth_max): pong#5 <- ping#4 <- pong#3 <- ping#2 <- pong#1"
    )
    assert (await alice.statistics("pong")).overrun == 1
    assert (await alice.statistics("ping")).overrun == 0


@pytest.mark.guarantee("A8")
async def test_one_cause_fires_no_more_activations_than_the_board_allows(
    alice: Desk, bob: Desk
) -> None:
    def smaller(board: Board) -> Board:
        return Board(board.name, board.epoch, cascade_max=3, version=board.version)

    await alice.engine.boards.update(alice.call(), smaller, expected_version=0)
    await bob.trigger("start", "goal")
    await alice.trigger("work", "tasks/*")
    await alice.put("goal", 1)

    await bob.complete(await bob.acquire_one(), *(put(f"tasks/{n}", n) for n in range(5)))

    assert len(await alice.activations(ActivationState.WAITING)) == 2
    assert len(await alice.activations(ActivationState.OVERRUN)) == 3


@pytest.mark.guarantee("A8")
async def test_a_binding_fires_no_faster_than_its_trigger_allows(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await bob.trigger(
        "build", "tasks/{task}", when="entry.value", limits={"firings_per_minute_max": 2}
    )

    async def flip(task: str) -> None:
        await alice.put(f"tasks/{task}", True)
        await alice.put(f"tasks/{task}", False)

    for _ in range(3):
        await flip("a")
    await flip("b")

    assert [each.bind["task"] for each in await alice.activations(ActivationState.OVERRUN)] == ["a"]
    await clock.advance(61)
    await flip("a")
    assert len(await alice.activations(ActivationState.OVERRUN)) == 1


async def test_a_cooldown_delays_and_loses_nothing(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await bob.trigger(
        "build", "tasks/{task}", when="entry.value > 0", limits={"cooldown": timedelta(seconds=10)}
    )
    await alice.put("tasks/1", 1)
    await bob.complete(await bob.acquire_one())
    await alice.put("tasks/1", 0)
    await alice.put("tasks/1", 2)

    assert await bob.acquire() == ()
    await clock.advance(9)
    assert await bob.acquire() == ()
    await clock.advance(1)
    await bob.acquire_one()


async def test_a_condition_that_would_look_at_too_much_is_an_error_that_its_owner_sees(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("build", "tasks/{task}", reads=["big/**"], when="size(board) > 0")
    for number in range(3):
        await alice.put(f"big/{number}", "x" * 900_000)
    await alice.put("tasks/1", 1)

    assert await bob.acquire() == ()
    statistics = await bob.statistics("build")
    assert statistics.last_error == "reads more than 2097152 bytes of values (reads_bytes_max)"
