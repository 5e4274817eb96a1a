"""Boards that are deleted and made anew: nothing of one life is mistaken for another's."""

from __future__ import annotations

import grpc
import pytest

from lavagna.v1 import entries_pb2
from lavagna_server.domain.boards import Board
from lavagna_server.domain.errors import EpochChanged, NotFound
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.watches import Start
from tests.desks import Desk, revisions
from tests.wire import served


async def reborn(desk: Desk) -> None:
    """Deletes the board and makes another of its name."""
    await desk.engine.boards.delete(desk.call())
    await desk.engine.boards.create(desk.call(), Board(desk.board, ""))


async def fill(desk: Desk, count: int = 5) -> None:
    """Writes an entry some times."""
    for number in range(count):
        await desk.put("a", number)


@pytest.mark.guarantee("W1")
@pytest.mark.guarantee("W4")
async def test_a_watch_of_a_reborn_board_is_live_and_speaks_of_its_own_revisions(
    alice: Desk,
) -> None:
    await fill(alice)
    await reborn(alice)
    await alice.put("a", "anew")
    watcher = await alice.watch(start=Start(after=0))

    (told,) = await watcher.ready()

    assert (told.after, told.through, told.space.head) == (0, 1, 1)
    assert not watcher.may_have_more
    await alice.put("a", "more")
    assert revisions(await watcher.ready()) == [2]
    watcher.close()


@pytest.mark.guarantee("W7")
async def test_a_bookmark_of_a_reborn_board_claims_nothing_of_the_old_one(alice: Desk) -> None:
    await fill(alice)
    await reborn(alice)
    watcher = await alice.watch()

    assert await watcher.ready() == []
    assert not watcher.may_have_more
    (bookmark,) = watcher.bookmarks()
    assert (bookmark.after, bookmark.through, bookmark.space.head) == (0, 0, 0)
    watcher.close()


@pytest.mark.guarantee("W5")
@pytest.mark.parametrize("more", [0, 1, 9], ids=["nothing", "less", "more"])
async def test_a_watch_never_goes_on_silently_on_a_board_that_took_the_name(
    alice: Desk, more: int
) -> None:
    watcher = await alice.watch(start=Start(after=0))
    await fill(alice)
    assert revisions(await watcher.ready()) == [1, 2, 3, 4, 5]
    await reborn(alice)
    await fill(alice, more)

    assert watcher.may_have_more
    with pytest.raises(EpochChanged):
        await watcher.ready()
    with pytest.raises(EpochChanged):
        watcher.bookmarks()
    watcher.close()


@pytest.mark.guarantee("W5")
async def test_what_waits_for_a_watcher_when_its_board_goes_is_not_told_under_the_new_rules(
    alice: Desk, bob: Desk
) -> None:
    watcher = await bob.watch()
    assert await watcher.ready() == []
    await fill(alice)
    await alice.engine.boards.delete(alice.call())

    assert watcher.pending_commits == 0
    with pytest.raises(NotFound):
        await watcher.ready()
    watcher.close()


@pytest.mark.guarantee("W6")
async def test_an_initial_state_never_continues_on_a_board_that_took_the_name(alice: Desk) -> None:
    for number in range(3):
        await alice.put(f"a/{number}", "x" * 600_000)
    watcher = await alice.watch(start=Start(initial_state=True))
    (first,) = await watcher.ready()
    assert not first.synced
    await reborn(alice)
    for number in range(9):
        await alice.put(f"a/{number}", "anew")

    with pytest.raises(EpochChanged):
        await watcher.ready()
    with pytest.raises(EpochChanged):
        await alice.watch(start=Start(token=first.token))
    watcher.close()


@pytest.mark.guarantee("S4")
async def test_an_export_never_continues_on_a_board_that_took_the_name(
    alice: Desk, engine: Engine
) -> None:
    for number in range(3):
        await alice.put("a", f"{number}" * 600_000)
    parts = engine.reads.export(alice.caller, alice.shared, 0)
    first = await anext(parts)
    assert [seen.commit.revision for seen in first.commits] == [1]
    await reborn(alice)
    await fill(alice, 9)

    with pytest.raises(EpochChanged):
        async for _ in parts:
            pass


@pytest.mark.guarantee("S4")
@pytest.mark.parametrize(
    "request_",
    [entries_pb2.ListRequest(pattern="**"), entries_pb2.HistoryRequest(key="a/0")],
    ids=["List", "History"],
)
async def test_a_list_never_continues_on_a_board_that_took_the_name(
    request_: entries_pb2.ListRequest | entries_pb2.HistoryRequest,
) -> None:
    method = f"/lavagna.v1.Entries/{type(request_).__name__.removesuffix('Request')}"
    request_.board, request_.page_size = "boards/main", 1
    async with served() as wire:
        alice = Desk(wire.engine, "alice")
        for number in range(6):
            await alice.put(f"a/{number % 3}", number)
        page = (await wire.call(method, request_, agent="alice")).response
        request_.page_token = page.next_page_token
        await reborn(alice)
        for number in range(9):
            await alice.put(f"a/{number % 3}", "anew")
        outcome = await wire.call(method, request_, agent="alice")

    assert (outcome.code, outcome.reason) == (
        grpc.StatusCode.FAILED_PRECONDITION, "EPOCH_CHANGED",
    )  # fmt: skip
