"""A server that is killed between the moment at which a precondition becomes true and the delivery of the work."""

from __future__ import annotations

import asyncio

import pytest

from lavagna import ActivationState, Board, Put, Trigger, Unavailable
from lavagna_server.faults import POINTS
from tests.faults.lives import KILLED, ONCE, Server

GROUPS = 4
"""How many groups the server lives for."""
DURABLE = {"after_sync", "before_feed", "acknowledged"}
"""Past these points a commit stands, whether or not anybody was told."""

pytestmark = pytest.mark.faults


async def waiting(board: Board) -> list[str]:
    """The keys that fired the activations that nobody has taken yet."""
    states = [ActivationState.WAITING]
    return sorted([one.key async for one in board.activations.list(states=states)])


async def written_until_killed(server: Server) -> int:
    """Makes tasks one by one; gives the number of the one that got no answer."""
    number = 0
    async with server.connect("planner", ONCE) as planner:
        while True:
            number += 1
            try:
                await planner.commit(Put(f"tasks/{number}", "ready"), request_id=f"task-{number}")
            except Unavailable:
                return number


@pytest.mark.guarantee("A1")
@pytest.mark.guarantee("S6")
@pytest.mark.field_report("F9")
@pytest.mark.parametrize("point", POINTS)
async def test_what_became_true_before_a_kill_is_offered_once_after_it(
    server: Server, point: str
) -> None:
    first = await server.start()
    async with server.connect("worker") as worker, server.connect("planner") as planner:
        await worker.triggers.set(Trigger("work", on=["tasks/{task}"]))
        await first.stop()
        second = await server.start_to_die(point, GROUPS)
        last = await written_until_killed(server)
        assert await second.end() == KILLED
        await server.start()

        kept = sorted([entry.key async for entry in planner.entries("tasks/*")])
        assert len(kept) == (last if point in DURABLE else last - 1)
        assert await waiting(planner) == kept
        retried = await planner.commit(Put(f"tasks/{last}", "ready"), request_id=f"task-{last}")
        assert retried.results[0].version == 1
        leases = await worker.activations.acquire(count=100)
        assert sorted(lease.entry.key for lease in leases if lease.entry) == [
            f"tasks/{number}" for number in range(1, last + 1)
        ]
        assert await worker.activations.acquire(count=100) == ()


@pytest.mark.guarantee("A1")
@pytest.mark.guarantee("A2")
@pytest.mark.guarantee("S6")
@pytest.mark.field_report("F9")
@pytest.mark.parametrize("point", POINTS)
async def test_a_delivery_that_a_kill_interrupts_gives_the_work_to_one(
    server: Server, point: str
) -> None:
    first = await server.start()
    async with server.connect("worker") as worker:
        await worker.triggers.set(Trigger("work", on=["tasks/{task}"], own_writes=True))
        await worker.commit(*(Put(f"tasks/{number}", "ready") for number in range(GROUPS + 3)))
        await first.stop()
        second = await server.start_to_die(point, GROUPS)

        async def reborn() -> None:
            assert await second.end() == KILLED
            await server.start()

        rebirth = asyncio.create_task(reborn())
        leases = [lease for _ in range(GROUPS + 3) for lease in await worker.activations.acquire()]
        await rebirth
        assert {lease.activation.key for lease in leases} == {
            f"tasks/{number}" for number in range(GROUPS + 3)
        }
        assert [(lease.activation.fence, lease.activation.attempt) for lease in leases] == [
            (1, 1)
        ] * (GROUPS + 3)
        for lease in leases:
            await worker.activations.complete(lease.token)
        assert await worker.activations.acquire() == ()


@pytest.mark.guarantee("A1")
@pytest.mark.field_report("F9")
async def test_a_half_filled_gate_needs_only_its_other_half_after_a_kill(server: Server) -> None:
    life = await server.start()
    async with server.connect("worker") as worker, server.connect("planner") as planner:
        gate = Trigger(
            "merge",
            on=["parts/{job}/left"],
            reads=["parts/{job}/right"],
            when="size(board) == 1",
        )
        await worker.triggers.set(gate)
        await planner.put("parts/a/left", 1)
        await planner.put("parts/b/right", 1)
        await life.kill()
        life = await server.start()
        assert await waiting(planner) == []

        await planner.put("parts/a/right", 2)
        await planner.put("parts/b/left", 2)
        await life.kill()
        await server.start()
        leases = await worker.activations.acquire(count=100)
        assert sorted(lease.activation.bind["job"] for lease in leases) == ["a", "b"]
        assert await worker.activations.acquire(count=100) == ()
