"""Groups: operations that share a transaction see one another as if each had been alone, and share its fate."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.errors import NotFound, StorageFailed
from lavagna_server.domain.triggers import TriggerId
from lavagna_server.engine.engine import Engine
from lavagna_server.ports.store import Snapshot, Transaction
from lavagna_server.storage.ephemeral import EphemeralStore
from tests.desks import Desk, delete, entries_of, in_one_group, put, running


class RefusingStore(EphemeralStore):
    """A store that refuses as long as it is told to, as a full disk does."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses_writes = False
        self.refuses_reads = False

    @contextmanager
    def transaction(self) -> Generator[Transaction]:
        with super().transaction() as transaction:
            yield transaction
            if self.refuses_writes:
                raise StorageFailed("the disk is full")

    @contextmanager
    def snapshot(self) -> Generator[Snapshot]:
        if self.refuses_reads:
            raise StorageFailed("the disk is gone")
        with super().snapshot() as snapshot:
            yield snapshot


@pytest.fixture
def refusing() -> RefusingStore:
    """A store that will refuse."""
    return RefusingStore()


@pytest.fixture
async def carol(refusing: RefusingStore, clock: ManualClock) -> AsyncGenerator[Desk]:
    """An agent on a store that will refuse."""
    async with running(refusing, clock) as engine:
        yield Desk(engine, "carol")


@pytest.mark.guarantee("S2")
async def test_no_answer_of_a_group_that_was_not_stored_speaks_of_what_it_would_have_written(
    carol: Desk, refusing: RefusingStore
) -> None:
    await carol.put("a", "old")
    refusing.refuses_writes = True

    outcomes = await in_one_group(
        carol.engine,
        carol.put("a", "never durable", expected=1),
        carol.put("a", "late", expected=1),
    )

    assert [type(each) for each in outcomes] == [StorageFailed, StorageFailed]
    refusing.refuses_writes = False
    assert (await carol.get("a")).version == 1


async def test_a_store_that_refuses_for_a_while_stops_nothing_for_good(
    carol: Desk, refusing: RefusingStore
) -> None:
    refusing.refuses_writes = refusing.refuses_reads = True
    for _ in range(3):
        with pytest.raises(StorageFailed):
            await carol.put("a", 1)

    refusing.refuses_writes = refusing.refuses_reads = False

    assert (await carol.put("a", 1)).revision == 1


@pytest.mark.guarantee("S2")
async def test_configuration_that_was_not_stored_is_never_seen(
    carol: Desk, refusing: RefusingStore
) -> None:
    refusing.refuses_writes = True
    with pytest.raises(StorageFailed):
        await carol.trigger("build", "a")
    refusing.refuses_writes = False

    with pytest.raises(NotFound):
        await carol.engine.triggers.get(carol.caller, TriggerId(carol.shared, "build"))
    await Desk(carol.engine, "eve").put("a", 1)
    assert await carol.acquire() == ()


async def test_a_board_made_anew_in_one_group_begins_at_one(alice: Desk) -> None:
    engine = alice.engine
    await alice.put("a", 1)
    old_epoch = engine.catalog.board("main").board.epoch

    outcomes = await in_one_group(
        engine,
        alice.put("a", 2),
        engine.boards.delete(alice.call()),
        engine.boards.create(alice.call(), Board("main", "")),
        alice.commit(put("a", 1)),
    )

    first = entries_of(outcomes[3])[0]
    assert (first.version, first.revision) == (1, 1)
    assert outcomes[3].space.epoch != old_epoch


async def test_an_agent_cannot_land_on_a_board_that_goes_in_the_same_group(alice: Desk) -> None:
    engine = alice.engine

    outcomes = await in_one_group(
        engine,
        engine.boards.delete(alice.call()),
        engine.agents.register(alice.call(), "late", Role.ADMIN, ()),
    )

    assert isinstance(outcomes[1], NotFound)
    assert "late" not in engine.catalog.server_agents


@pytest.mark.guarantee("A1")
async def test_a_trigger_made_anew_in_one_group_remembers_no_edges(alice: Desk, bob: Desk) -> None:
    engine = alice.engine
    await bob.trigger("build", "tasks/{task}")
    name = TriggerId(bob.shared, "build")

    await in_one_group(engine, alice.put("tasks/1", 1), engine.triggers.delete(bob.call(), name))
    await bob.trigger("build", "tasks/{task}")
    await bob.complete(await bob.acquire_one())

    await in_one_group(
        engine,
        engine.triggers.delete(bob.call(), name),
        bob.trigger("build", "tasks/{task}"),
    )
    assert len(await bob.acquire(most=9)) == 1


@pytest.mark.guarantee("A1")
async def test_an_edge_whose_subject_went_while_the_trigger_slept_does_not_linger(
    alice: Desk, bob: Desk
) -> None:
    engine = alice.engine
    await bob.trigger("build", "tasks/{task}")
    await alice.put("tasks/1", 1)
    await bob.complete(await bob.acquire_one())
    name = TriggerId(bob.shared, "build")

    await engine.triggers.suspend(bob.call(), name)
    await alice.commit(delete("tasks/1"))
    await engine.triggers.resume(bob.call(), name)
    await alice.put("tasks/1", 2)

    await bob.complete(await bob.acquire_one())


@pytest.mark.guarantee("A1")
async def test_a_trigger_that_looks_elsewhere_forgets_what_it_looked_at(
    alice: Desk, bob: Desk
) -> None:
    await bob.trigger("build", "tasks/{task}")
    await alice.put("tasks/1", 1)
    await bob.complete(await bob.acquire_one())

    await bob.trigger("build", "jobs/{task}")
    await alice.put("jobs/1", 1)

    assert (await bob.acquire_one()).activation.key == "jobs/1"


async def test_many_firings_in_one_group_are_each_counted(
    alice: Desk, bob: Desk, engine: Engine
) -> None:
    await bob.trigger("build", "tasks/{task}", limits={"firings_per_minute_max": 3})

    flips: list[Coroutine[Any, Any, Any]] = []
    for number in range(5):
        flips += [alice.put("tasks/1", number), alice.commit(delete("tasks/1"))]
    await in_one_group(engine, *flips)

    statistics = await bob.statistics("build")
    assert (statistics.fired, statistics.overrun, statistics.obviated) == (5, 2, 3)
