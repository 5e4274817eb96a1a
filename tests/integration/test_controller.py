"""The controller: what fires, what does not, and in whose hands it ends."""

from __future__ import annotations

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agenda import ActivationState
from lavagna_server.domain.entries import Occasion
from lavagna_server.domain.errors import LeaseLost
from lavagna_server.domain.triggers import Mode
from tests.desks import Desk, bind_of, delete, put

READY = "entry.value.status == 'ready'"


@pytest.mark.guarantee("A1")
async def test_an_edge_fires_once_until_the_condition_has_been_false(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("build", "tasks/{task}", when=READY)

    await alice.put("tasks/1", {"status": "draft"})
    assert await bob.acquire() == ()
    await alice.put("tasks/1", {"status": "ready"})
    await alice.put("tasks/1", {"status": "ready", "note": "still"})
    first = await bob.acquire_one()
    assert bind_of(first) == {"task": "1"}
    await bob.complete(first)
    await alice.put("tasks/1", {"status": "ready", "note": "again"})
    assert await bob.acquire() == ()

    await alice.put("tasks/1", {"status": "draft"})
    await alice.put("tasks/1", {"status": "ready"})
    second = await bob.acquire_one()
    assert second.activation.id.number == first.activation.id.number + 1


async def test_each_binding_has_an_edge_of_its_own(alice: Desk, bob: Desk) -> None:
    await bob.trigger("build", "tasks/{task}", when=READY)

    await alice.commit(*(put(f"tasks/{n}", {"status": "ready"}) for n in range(3)))

    assert [bind_of(leased)["task"] for leased in await bob.acquire(most=9)] == ["0", "1", "2"]


async def test_a_new_edge_trigger_fires_for_what_holds_already(alice: Desk, bob: Desk) -> None:
    await alice.put("tasks/1", {"status": "ready"})
    await bob.trigger("build", "tasks/{task}", when=READY)
    await bob.trigger("build", "tasks/{task}", when=READY)

    assert len(await bob.acquire(most=9)) == 1


async def test_every_fires_at_each_change_with_the_entry_as_that_change_left_it(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("audit", "tasks/**", mode=Mode.EVERY)

    for number in range(3):
        await alice.put("tasks/1", number)
    await alice.commit(delete("tasks/1"))

    seen: list[object] = []
    for _ in range(4):
        leased = await bob.acquire_one()
        assert leased.entry is not None
        seen.append(leased.entry.value and leased.entry.value.decoded())
        await bob.complete(leased)
    assert seen == [0, 1, 2, None]


async def test_a_gate_opens_when_its_last_part_arrives_whichever_that_is(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger(
        "merge", "parts/{job}/left", reads=["parts/{job}/right"], when="size(board) == 1"
    )

    await alice.put("parts/a/left", 1)
    assert await bob.acquire() == ()
    await alice.put("parts/a/right", 2)
    assert bind_of(await bob.acquire_one()) == {"job": "a"}

    await alice.put("parts/b/right", 2)
    await alice.put("parts/b/left", 1)
    assert bind_of(await bob.acquire_one()) == {"job": "b"}


@pytest.mark.guarantee("A7")
async def test_the_higher_rating_comes_first_and_among_equals_the_oldest(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("build", "tasks/{task}", rating="entry.value")
    for task, rating in (("a", 1), ("b", 5), ("c", 5), ("d", 3)):
        await alice.put(f"tasks/{task}", rating)

    assert [bind_of(leased)["task"] for leased in await bob.acquire(most=9)] == ["b", "c", "d", "a"]


async def test_a_waiting_activation_is_rated_anew_when_what_it_reads_changes(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger(
        "build",
        "tasks/{task}",
        reads=["focus"],
        rating="'focus' in board && board.focus == bind.task ? 9 : 1",
    )
    await alice.put("tasks/a", 1)
    await alice.put("tasks/b", 1)
    await alice.put("focus", "b")

    assert [bind_of(leased)["task"] for leased in await bob.acquire(most=9)] == ["b", "a"]


@pytest.mark.guarantee("A6")
async def test_a_condition_that_no_longer_holds_obviates_its_activation(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("build", "tasks/{task}", when=READY)
    await alice.put("tasks/1", {"status": "ready"})
    await alice.put("tasks/1", {"status": "draft"})

    assert await bob.acquire() == ()
    (activation,) = await alice.activations()
    assert activation.state is ActivationState.OBVIATED
    assert (await bob.statistics("build")).obviated == 1


@pytest.mark.guarantee("A6")
async def test_a_condition_on_the_time_is_checked_again_in_the_claim(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await bob.trigger("build", "tasks/{task}", when="now < timestamp('2026-01-01T00:01:00Z')")
    await alice.put("tasks/1", 1)
    await clock.advance(61)

    assert await bob.acquire() == ()
    (activation,) = await alice.activations()
    assert activation.state is ActivationState.OBVIATED


@pytest.mark.guarantee("A3")
async def test_completing_writes_the_result_and_ends_the_activation_together(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("build", "tasks/{task}")
    await alice.put("tasks/1", 1)
    leased = await bob.acquire_one()

    written = await bob.complete(leased, put("code/1", "done"))

    (activation,) = await alice.activations()
    assert activation.state is ActivationState.COMPLETED
    assert activation.completed_revision == written.space.head
    entry = await alice.get("code/1")
    assert entry.cause is not None
    assert (entry.author, entry.cause.trigger, entry.cause.depth) == ("bob", "build", 1)
    with pytest.raises(LeaseLost):
        await bob.complete(leased, put("code/2", "again"))


@pytest.mark.guarantee("A9")
async def test_quiescence_is_an_event_of_its_own_when_the_last_activation_ends(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("build", "tasks/{task}")
    await alice.put("tasks/1", 1)
    await alice.put("tasks/2", 1)
    one, two = await bob.acquire(most=2)

    await bob.complete(one)
    assert [commit.occasion for commit in await alice.commits()] == [Occasion.WRITE] * 2
    await bob.complete(two, put("code/2", 1))

    last_write, rest = (await alice.commits())[-2:]
    assert (last_write.occasion, rest.occasion) == (Occasion.WRITE, Occasion.QUIESCENCE)
    assert rest.revision == last_write.revision + 1


@pytest.mark.guarantee("A9")
async def test_a_result_that_wakes_somebody_is_not_quiescence(alice: Desk, bob: Desk) -> None:
    await bob.trigger("build", "tasks/{task}")
    await alice.trigger("check", "code/{task}")
    await alice.put("tasks/1", 1)

    await bob.complete(await bob.acquire_one(), put("code/1", 1))

    assert Occasion.QUIESCENCE not in {commit.occasion for commit in await alice.commits()}


async def test_a_failed_attempt_waits_for_its_backoff_and_the_last_is_a_dead_letter(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await bob.trigger("build", "tasks/{task}", limits={"attempts_max": 2})
    await alice.put("tasks/1", 1)

    await bob.fail(await bob.acquire_one(), "first")
    assert await bob.acquire() == ()
    await clock.advance(1)
    dead = await bob.fail(await bob.acquire_one(), "second")

    assert (dead.state, dead.reason, dead.attempt) == (ActivationState.DEAD, "second", 2)
    await clock.advance(3_600)
    assert await bob.acquire() == ()
    await bob.engine.activations.replay(bob.call(), dead.id)
    assert (await bob.acquire_one()).activation.attempt == 1


@pytest.mark.guarantee("A4")
async def test_a_silent_holder_loses_its_lease_and_another_takes_over(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await bob.trigger("build", "tasks/{task}", limits={"attempts_max": 2})
    await alice.put("tasks/1", 1)
    first = await bob.acquire_one()
    await clock.advance(29.9)
    assert await bob.acquire() == ()
    await clock.advance(0.1)

    second = await bob.acquire_one()

    assert second.activation.fence == first.activation.fence + 1
    with pytest.raises(LeaseLost):
        await bob.complete(first)
    await clock.advance(30)
    assert await bob.acquire() == ()
    (dead,) = await alice.activations()
    assert dead.state is ActivationState.DEAD
