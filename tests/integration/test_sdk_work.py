"""Work on a real server: settled once, over nothing that was not seen, and lost for good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest

import lavagna
from lavagna import ActivationState, Agent, Board, Limits, Put, Work, testing
from lavagna.testing import LocalServer
from tests.integration.agenda_looks import settled

SHORT = Limits(lease_seconds=1)


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def board(server: LocalServer) -> AsyncGenerator[Board]:
    async with server.connect("ada") as each:
        yield each


@pytest.mark.guarantee("A3")
async def test_the_result_and_the_completion_are_one_commit(board: Board) -> None:
    builder = Agent("builder")

    @builder.on("tasks/*")
    async def build(work: Work) -> None:
        committed = await work.complete([Put("a", 1), Put("b", 2)])
        assert committed.succeeded
        assert work.settled
        builder.stop()

    await board.put("tasks/1", "go")
    await builder.join(board)
    (done,) = await settled(board, state=ActivationState.COMPLETED)
    a, b = await board.get("a"), await board.get("b")
    assert a.revision == b.revision == done.completed_revision


async def test_returning_nothing_completes_without_a_write(board: Board) -> None:
    builder = Agent("builder")

    @builder.on("tasks/*")
    async def build(_: Work) -> None:
        builder.stop()

    await board.put("tasks/1", "go")
    await builder.join(board)
    assert len(await settled(board, state=ActivationState.COMPLETED)) == 1
    assert [entry.key async for entry in board.entries()] == ["tasks/1"]


@pytest.mark.guarantee("S1")
async def test_what_changed_since_it_was_read_is_not_written_over(board: Board) -> None:
    builder = Agent("builder")
    seen: list[tuple[int, int]] = []

    @builder.on("tasks/*", limits=Limits(backoff_seconds=0))
    async def build(work: Work) -> dict[str, int]:
        total = await work.board.get("total")
        seen.append((work.attempt, total.value))
        if work.attempt == 1:
            await board.put("total", 100, overwrite=True)
        else:
            builder.stop()
        return {"total": total.value + 1}

    await board.put("total", 1)
    await board.put("tasks/1", "go")
    await builder.join(board)
    assert seen == [(1, 1), (2, 100)]
    assert (await board.get("total")).value == 101


async def test_what_was_never_read_is_written_only_where_there_is_nothing(board: Board) -> None:
    builder = Agent("builder")

    @builder.on("tasks/*")
    async def build(work: Work) -> dict[str, str]:
        with pytest.raises(lavagna.Conflict) as conflict:
            await work.complete({"made": "x", "there": "y"})
        assert [each.key for each in conflict.value.failed] == ["there"]
        builder.stop()
        return {"made": "x"}

    await board.put("there", "first")
    await board.put("tasks/1", "go")
    await builder.join(board)
    assert (await board.get("made")).value == "x"
    assert (await board.get("there")).value == "first"


async def test_the_entry_that_fired_and_own_writes_count_as_read(board: Board) -> None:
    builder = Agent("builder")

    @builder.on("tasks/*", when="entry.value == 'ready'")
    async def build(work: Work) -> dict[str, str]:
        assert work.entry is not None
        await work.board.put("notes", "draft")
        builder.stop()
        return {work.entry.key: "done", "notes": "final"}

    await board.put("tasks/1", "ready")
    await builder.join(board)
    task, notes = await board.get("tasks/1"), await board.get("notes")
    assert (task.value, task.version, notes.value, notes.version) == ("done", 2, "final", 2)


async def test_the_last_look_at_a_key_counts(board: Board) -> None:
    builder = Agent("builder")

    @builder.on("tasks/*")
    async def build(work: Work) -> dict[str, int]:
        listed = [entry.key async for entry in work.board.entries("parts/*")]
        assert listed == ["parts/a", "parts/b"]
        await board.delete("parts/b", overwrite=True)
        assert await work.board.find("parts/b") is None
        builder.stop()
        return {"parts/a": 2, "parts/b": 2}

    await board.commit(Put("parts/a", 1), Put("parts/b", 1), Put("tasks/1", "go"))
    await builder.join(board)
    parts = [(entry.key, entry.version, entry.value) async for entry in board.entries("parts/*")]
    assert parts == [("parts/a", 2, 2), ("parts/b", 3, 2)]


@pytest.mark.guarantee("A4")
async def test_a_failed_attempt_waits_for_its_backoff_and_the_last_is_a_dead_letter(
    server: LocalServer, board: Board
) -> None:
    builder = Agent("builder")
    attempts: asyncio.Queue[int] = asyncio.Queue()

    @builder.on("tasks/*", limits=Limits(attempts_max=2, backoff_seconds=60))
    async def build(work: Work) -> None:
        await attempts.put(work.attempt)
        raise ValueError(f"no plan {work.attempt}")

    await board.put("tasks/1", "go")
    async with builder.joined(board):
        assert await attempts.get() == 1
        (waiting,) = await settled(board, state=ActivationState.WAITING)
        assert (waiting.reason, waiting.attempt) == ("ValueError: no plan 1", 1)
        assert waiting.not_before == server.clock.now() + timedelta(seconds=60)
        await server.clock.advance(60)
        assert await attempts.get() == 2
        (dead,) = await settled(board, state=ActivationState.DEAD)
        assert dead.reason == "ValueError: no plan 2"
        await board.activations.replay(dead.id)
        assert await attempts.get() == 1


@pytest.mark.guarantee("A2")
@pytest.mark.guarantee("A3")
@pytest.mark.field_report("F8")
async def test_a_sleeper_is_cancelled_and_changes_nothing_after_its_successor(
    server: LocalServer, board: Board
) -> None:
    sleeper, successor = Agent("sleeper", teams=["t"]), Agent("successor", teams=["t"])
    asleep = asyncio.Event()
    refused: list[type[Exception]] = []

    async def slow(work: Work) -> dict[str, str]:
        asleep.set()
        try:
            await work.lost.wait()
        finally:
            for late in (work.board.put("late", 1), work.complete({"result": "late"})):
                try:
                    await late
                except lavagna.LavagnaError as error:
                    refused.append(type(error))
        return {"result": "sleeper"}

    async def quick(_: Work) -> dict[str, str]:
        return {"result": "successor"}

    sleeper.on("tasks/*", team="t", name="t.build", limits=SHORT)(slow)
    successor.on("tasks/*", team="t", name="t.build", limits=SHORT)(quick)
    await board.put("tasks/1", "go")
    async with sleeper.joined(board):
        await asleep.wait()
        await server.clock.advance(1.5)
        async with successor.joined(board):
            await board.wait("entry.value == 'successor'", on="result", timeout=20)
    assert refused == [lavagna.LeaseLost, lavagna.LeaseLost]
    assert (await board.get("result")).version == 1
    assert await board.find("late") is None


async def test_work_can_be_given_back_and_given_up_for_good(board: Board) -> None:
    builder = Agent("builder")
    attempts: list[int] = []

    @builder.on("tasks/*")
    async def build(work: Work) -> None:
        attempts.append(work.attempt)
        if len(attempts) == 1:
            assert (await work.release()).state is ActivationState.WAITING
        else:
            assert (await work.fail("hopeless", final=True)).state is ActivationState.DEAD
            builder.stop()

    await board.put("tasks/1", "go")
    await builder.join(board)
    assert attempts == [1, 1]
