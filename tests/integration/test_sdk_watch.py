"""Watches and waits on a real server: what is written is seen, once, in order, over restarts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

import lavagna
from lavagna import (
    Board,
    ChangeType,
    Commit,
    LavagnaError,
    NotInTime,
    Put,
    Space,
    State,
    Target,
    Verdict,
    Watch,
    testing,
)
from lavagna.testing import LocalServer


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def board(server: LocalServer) -> AsyncGenerator[Board]:
    async with server.connect("ada") as each:
        yield each


class Begun(logging.Handler):
    """Notices that a wait has looked once and begins to watch."""

    def __init__(self) -> None:
        super().__init__()
        self.noticed = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "waits from revision" in record.getMessage():
            self.noticed.set()


@pytest.fixture
def begun() -> Iterator[asyncio.Event]:
    """Set once a wait has found that its condition does not hold yet."""
    logger, notice = logging.getLogger("lavagna.waiting"), Begun()
    logger.addHandler(notice)
    logger.setLevel(logging.DEBUG)
    yield notice.noticed
    logger.removeHandler(notice)
    logger.setLevel(logging.NOTSET)


async def taken(watch: Watch[Commit], count: int) -> list[int]:
    """The revisions of the next commits."""
    return [(await anext(watch)).revision for _ in range(count)]


@pytest.mark.guarantee("W3")
async def test_a_watch_gives_the_commits_that_match_whole(board: Board) -> None:
    async with board.watch("plan/**") as watch:
        await board.commit(Put("plan/1", "a"), Put("other", "b"), Put("plan/2/x", "c"))
        await board.put("other/2", 1)
        await board.put("plan/3", 2, tags=["x"])
        first, second = await anext(watch), await anext(watch)
    assert [(entry.key, entry.value) for entry in first.entries] == [
        ("plan/1", "a"),
        ("plan/2/x", "c"),
    ]
    assert (first.author, first.space, first.revision, second.revision) == ("ada", "shared", 1, 3)
    assert second.entries == (await board.get("plan/3"),)


@pytest.mark.guarantee("W4")
async def test_revisions_that_do_not_match_move_the_watch_on(
    server: LocalServer, board: Board
) -> None:
    async with board.watch("plan/**") as watch:
        await board.put("other", 1)
        await board.put("plan/1", 1)
        await anext(watch)
        assert watch.revision == 2


@pytest.mark.guarantee("W5")
@pytest.mark.field_report("F13")
async def test_a_token_resumes_exactly_where_the_watch_was(board: Board) -> None:
    for number in range(10):
        await board.put(f"n/{number}", number)
    async with board.watch("n/*", after=0) as watch:
        assert await taken(watch, 10) == list(range(1, 11))
        token = watch.token
    for number in range(10, 60):
        await board.put(f"n/{number}", number)
    async with board.watch("n/*", token=token) as watch:
        assert await taken(watch, 50) == list(range(11, 61))
    await board.compact()
    with pytest.raises(lavagna.Compacted) as gone:
        await anext(board.watch("n/*", token=token))
    assert gone.value.oldest_revision == 60


@pytest.mark.guarantee("W5")
@pytest.mark.field_report("F13")
async def test_a_watch_misses_nothing_over_a_restart(tmp_path: Path) -> None:
    async with (
        testing.start(data_dir=tmp_path) as server,
        server.connect("ada") as board,
        board.watch("n/*") as watch,
    ):
        await board.put("n/1", 1)
        assert await taken(watch, 1) == [1]
        await board.put("n/2", 2)
        await server.stop()
        await server.start()
        await board.put("n/3", 3)
        assert await taken(watch, 2) == [2, 3]


@pytest.mark.guarantee("W9")
async def test_a_watch_of_the_future_is_refused(board: Board) -> None:
    with pytest.raises(lavagna.FutureRevision):
        await anext(board.watch(after=5))


async def test_a_token_of_other_targets_is_refused(board: Board) -> None:
    async with board.watch("a") as watch:
        token = watch.token
    with pytest.raises(lavagna.Refused) as refused:
        await anext(board.watch("b", token=token))
    assert refused.value.reason == "FILTER_MISMATCH"


@pytest.mark.guarantee("W6")
async def test_the_state_comes_first_then_what_follows(board: Board) -> None:
    for first in range(0, 2_000, 100):
        await board.commit(*(Put(f"n/{number:04}", number) for number in range(first, first + 100)))
    await board.put("other", 1)
    state: list[int] = []
    async with board.watch("n/*", initial_state=True) as watch:
        while not watch.synced:
            item = await anext(watch)
            assert isinstance(item, State)
            assert item.revision == 21
            state += [entry.value for entry in item.entries]
        await board.put("n/0001", "new", overwrite=True)
        following = await anext(watch)
    assert state == list(range(2_000))
    assert isinstance(following, Commit)
    assert following.revision == 22


async def test_an_empty_state_says_that_it_is_complete(board: Board) -> None:
    async with board.watch("n/*", initial_state=True) as watch:
        state = await anext(watch)
        assert state == State(Space.SHARED, 0, (), synced=True)
        assert watch.synced


@pytest.mark.guarantee("W3")
async def test_a_commit_too_large_for_one_message_is_given_whole(board: Board) -> None:
    large = [Put(f"n/{number}", "x" * 900_000) for number in range(4)]
    async with board.watch("n/*") as watch:
        await board.commit(*large)
        await board.put("n/after", 1)
        first, second = await anext(watch), await anext(watch)
    assert [len(entry.value) for entry in first.entries] == [900_000] * 4
    assert (first.revision, second.revision) == (1, 2)


@pytest.mark.guarantee("W2")
async def test_a_watch_sees_the_shared_and_the_private_space_side_by_side(board: Board) -> None:
    async with board.watch(Target("x"), Target("x", space=Space.PRIVATE)) as watch:
        await board.put("x", "shared")
        shared = await anext(watch)
        await board.private.put("x", "private")
        private = await anext(watch)
        await board.private.put("x", "again", overwrite=True)
        await anext(watch)
        assert watch.revision == 1
    assert (shared.space, shared.entries[0].value) == ("shared", "shared")
    assert (private.space, private.entries[0].value) == ("private", "private")


async def test_a_target_chooses_types_of_change(board: Board) -> None:
    async with board.watch(Target("k", changes=[ChangeType.DELETED])) as watch:
        await board.put("k", 1)
        await board.delete("k", overwrite=True)
        commit = await anext(watch)
    assert [entry.change for entry in commit.entries] == [ChangeType.DELETED]


async def test_a_wait_for_what_already_holds_is_over_at_once(board: Board) -> None:
    await board.put("build/1", {"status": "green"})
    found = await board.wait("entry.value.status == 'green'", on="build/{id}")
    assert (found.key, found.bind, found.verdict) == ("build/1", {"id": "1"}, Verdict.TRUE)


async def test_a_wait_ends_when_a_later_revision_makes_it_hold(
    board: Board, begun: asyncio.Event
) -> None:
    await board.put("build/1", {"status": "red"})
    waiting = asyncio.create_task(board.wait("entry.value.status == 'green'", on="build/*"))
    await begun.wait()
    await board.put("build/2", {"status": "red"})
    await board.patch("build/1", {"status": "green"}, overwrite=True)
    assert (await waiting).key == "build/1"


async def test_a_wait_sees_what_held_for_one_revision_only(
    board: Board, begun: asyncio.Event
) -> None:
    await board.put("k", 0)
    waiting = asyncio.create_task(board.wait("entry.value == 1", on="k"))
    await begun.wait()
    await board.put("k", 1, overwrite=True)
    await board.put("k", 2, overwrite=True)
    assert (await waiting).key == "k"


async def test_a_wait_looks_again_when_what_it_reads_changes(
    board: Board, begun: asyncio.Event
) -> None:
    await board.put("tasks/1", "build")
    waiting = asyncio.create_task(
        board.wait("board['approved/1'] == true", on="tasks/{task}", reads=["approved/{task}"])
    )
    await begun.wait()
    await board.put("approved/1", True)
    assert (await waiting).bind == {"task": "1"}


async def test_a_wait_finds_one_entry_among_very_many(board: Board, begun: asyncio.Event) -> None:
    await board.commit(*(Put(f"n/{number:03}", 0) for number in range(120)))
    waiting = asyncio.create_task(board.wait("entry.value == 1", on="n/*"))
    await begun.wait()
    await board.put("n/119", 1, overwrite=True)
    assert (await waiting).key == "n/119"


async def test_a_wait_finds_what_holds_already_among_very_many(board: Board) -> None:
    await board.commit(*(Put(f"n/{number:03}", number // 119) for number in range(120)))
    assert (await board.wait("entry.value == 1", on="n/{number}")).bind == {"number": "119"}


async def test_a_wait_is_bounded_by_its_timeout(board: Board) -> None:
    await board.put("k", 0)
    with pytest.raises(NotInTime, match=r"did not hold within 0\.05 s$") as late:
        await board.wait("entry.value == 1", on="k", timeout=0.05)
    assert isinstance(late.value, TimeoutError)
    assert isinstance(late.value, LavagnaError)


async def test_a_wait_in_vain_says_what_could_not_be_evaluated(board: Board) -> None:
    await board.put("k", {"status": "x"})
    with pytest.raises(NotInTime, match=r"could not be evaluated: .*colour"):
        await board.wait("entry.value.colour == 'red'", on="k", timeout=0.05)


async def test_a_wait_for_nonsense_is_invalid(board: Board) -> None:
    with pytest.raises(lavagna.Invalid):
        await board.wait("entry.value ==", on="k")


async def test_a_wait_in_the_private_space_sees_the_private_space(
    board: Board, begun: asyncio.Event
) -> None:
    await board.put("k", 1)
    waiting = asyncio.create_task(board.private.wait("entry.value == 1", on="k"))
    await begun.wait()
    assert not waiting.done()
    await board.private.put("k", 1)
    assert (await waiting).key == "k"
