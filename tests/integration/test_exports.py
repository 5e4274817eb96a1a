"""Exports: the whole log or a clear error, never a log with holes."""

from __future__ import annotations

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.entries import Occasion
from lavagna_server.domain.errors import Compacted, FutureRevision
from lavagna_server.domain.regions import Retention
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.reads import ExportPart
from lavagna_server.engine.watches import Start
from tests.desks import Desk, revisions


async def exported(desk: Desk, after: int = 0) -> list[ExportPart]:
    """All parts of an export of the shared space."""
    return [part async for part in desk.engine.reads.export(desk.caller, desk.shared, after)]


def exported_revisions(parts: list[ExportPart]) -> list[int]:
    """The revisions of the commits that an export gives."""
    return [seen.commit.revision for part in parts for seen in part.commits]


async def fill(desk: Desk, count: int = 4) -> None:
    """Writes an entry some times, a page of the log each."""
    for number in range(count):
        await desk.put("a", f"{number}" * 1_000_000)


@pytest.mark.guarantee("S4")
async def test_an_export_ends_with_an_error_when_what_comes_next_is_compacted_meanwhile(
    alice: Desk, engine: Engine
) -> None:
    await fill(alice)
    parts = engine.reads.export(alice.caller, alice.shared, 0)
    assert exported_revisions([await anext(parts)]) == [1]
    await engine.boards.compact(alice.call(), alice.shared, 4)

    with pytest.raises(Compacted) as compacted:
        async for _ in parts:
            pass
    assert compacted.value.oldest == 4


@pytest.mark.guarantee("S4")
async def test_an_export_ends_with_an_error_when_a_region_gives_up_what_comes_next(
    alice: Desk, engine: Engine, clock: ManualClock
) -> None:
    await alice.region("a", retention=Retention(versions_max=1))
    await fill(alice)
    parts = engine.reads.export(alice.caller, alice.shared, 0)
    assert exported_revisions([await anext(parts)]) == [1]
    await clock.advance(60)

    with pytest.raises(Compacted):
        async for _ in parts:
            pass


async def test_an_export_ends_where_the_log_stood_when_it_began(
    alice: Desk, engine: Engine
) -> None:
    await fill(alice)
    parts = engine.reads.export(alice.caller, alice.shared, 1)
    given = [await anext(parts)]
    await fill(alice)
    given += [part async for part in parts]

    assert exported_revisions(given) == [2, 3, 4]
    assert {part.space.head for part in given} == {4}


async def test_an_export_of_nothing_new_says_where_the_log_stands(alice: Desk) -> None:
    assert [part.space.head for part in await exported(alice)] == [0]
    await alice.put("a", 1)
    (part,) = await exported(alice, after=1)
    assert (part.space.head, part.commits) == (1, ())


@pytest.mark.guarantee("W9")
async def test_an_export_that_starts_in_the_future_is_refused(alice: Desk) -> None:
    await alice.put("a", 1)
    with pytest.raises(FutureRevision):
        await exported(alice, after=2)


@pytest.mark.guarantee("S8")
async def test_retention_never_uncovers_that_something_hidden_was_written(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await alice.region("secret", readers=("alice",), retention=Retention(versions_max=1))
    for number in range(3):
        await alice.put("secret/plan", number)
    await bob.put("open", 1)
    await clock.advance(60)
    assert [commit.occasion for commit in await alice.commits() if not commit.entries] == [
        Occasion.WRITE, Occasion.WRITE, Occasion.COMPACTION,
    ]  # fmt: skip

    watcher = await bob.watch(start=Start(after=0))
    messages = await watcher.ready()

    assert revisions(messages) == [4, 5]
    assert [message.through for message in messages] == [5]
    assert exported_revisions(await exported(bob)) == [4, 5]
    watcher.close()
