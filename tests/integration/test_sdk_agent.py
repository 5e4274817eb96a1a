"""Agents at work on a real server: woken, kept alive, settled once, and going on after restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest

import lavagna
from lavagna import (
    Activation,
    ActivationState,
    Agent,
    Board,
    ChangeType,
    Limits,
    Put,
    Work,
    testing,
)
from lavagna.testing import LocalServer

SHORT = Limits(lease_seconds=1)


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def board(server: LocalServer) -> AsyncGenerator[Board]:
    async with server.connect("ada") as each:
        yield each


async def settled(board: Board, *, state: ActivationState, count: int = 1) -> list[Activation]:
    """The activations in this state, asked for until there are so many."""
    while True:
        found = [each async for each in board.activations.list(states=[state])]
        if len(found) >= count:
            return found


async def test_an_agent_is_woken_and_its_result_says_what_caused_it(board: Board) -> None:
    greeter = Agent("greeter")

    @greeter.on("guests/{name}", when="entry.value.waiting")
    async def greet(work: Work) -> dict[str, str]:
        assert work.entry is not None
        assert work.entry.author == "ada"
        return {f"greetings/{work.bind['name']}": f"Hello, {work.bind['name']}!"}

    async with greeter.joined(board):
        await board.put("guests/bob", {"waiting": False})
        await board.put("guests/eve", {"waiting": True})
        await board.wait("true", on="greetings/*", timeout=20)
    entry = await board.get("greetings/eve")
    assert (entry.value, entry.author) == ("Hello, eve!", "greeter")
    assert entry.cause is not None
    assert (entry.cause.trigger_id, entry.cause.fired_revision) == ("greeter.greet", 2)
    assert await board.find("greetings/bob") is None


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


async def test_an_agent_works_on_as_many_at_once_as_it_says(board: Board) -> None:
    builder = Agent("builder", concurrency=3)
    together = asyncio.Barrier(3)

    @builder.on("tasks/*")
    async def build(work: Work) -> None:
        await together.wait()

    await board.commit(*(Put(f"tasks/{number}", "go") for number in range(6)))
    async with builder.joined(board):
        done = await settled(board, state=ActivationState.COMPLETED, count=6)
    assert {each.key for each in done} == {f"tasks/{number}" for number in range(6)}


@pytest.mark.guarantee("A2")
@pytest.mark.field_report("F7")
async def test_a_team_does_each_piece_of_work_once(server: LocalServer, board: Board) -> None:
    workers = [Agent(f"worker-{number % 3}", teams=["t"], concurrency=2) for number in range(4)]
    done: list[str] = []
    finished = asyncio.Event()

    async def build(work: Work) -> dict[str, str]:
        done.append(work.activation.key)
        if len(done) == 20:
            finished.set()
        return {f"code/{work.bind['task']}": work.activation.holder}

    async with asyncio.TaskGroup() as group:
        for worker in workers:
            worker.on("tasks/{task}", team="t", name="t.build")(build)
            group.create_task(worker.join(board))
        await board.commit(*(Put(f"tasks/{number:02}", "go") for number in range(20)))
        await finished.wait()
        for worker in workers:
            worker.stop()
    assert sorted(done) == [f"tasks/{number:02}" for number in range(20)]
    assert [entry.version async for entry in board.entries("code/*")] == [1] * 20


@pytest.mark.guarantee("A7")
async def test_the_most_urgent_work_comes_first(board: Board) -> None:
    builder = Agent("builder")
    order: list[str] = []
    posted = asyncio.Event()

    @builder.on("tasks/*", rating="entry.value.priority")
    async def build(work: Work) -> None:
        await posted.wait()
        order.append(work.activation.key)

    async with builder.joined(board):
        for name, priority in (("first", 0), ("low", 1), ("high", 9), ("also-low", 1)):
            await board.put(f"tasks/{name}", {"priority": priority})
            await settled(board, state=ActivationState.LEASED)
        posted.set()
        await settled(board, state=ActivationState.COMPLETED, count=4)
    assert order == ["tasks/first", "tasks/high", "tasks/low", "tasks/also-low"]


async def test_a_function_can_follow_every_change_with_what_was_there_before(
    board: Board,
) -> None:
    logger = Agent("logger")
    seen: list[tuple[object, object]] = []

    @logger.on("k", mode="every", changes=[ChangeType.UPDATED, ChangeType.DELETED])
    async def follow(work: Work) -> None:
        assert work.entry is not None
        assert work.old is not None
        seen.append((work.old.value, work.entry.value))

    async with logger.joined(board):
        for number in range(3):
            await board.put("k", number, overwrite=True)
        await board.delete("k", overwrite=True)
        await settled(board, state=ActivationState.COMPLETED, count=3)
    assert seen == [(0, 1), (1, 2), (2, None)]


@pytest.mark.guarantee("A8")
async def test_an_agents_own_writes_wake_it_only_if_it_asks(board: Board) -> None:
    echo, chatty = Agent("echo"), Agent("chatty")
    woken: list[str] = []

    async def write(work: Work) -> dict[str, int]:
        woken.append(work.activation.trigger_id)
        if work.activation.depth == 3:
            chatty.stop()
        return {f"{work.activation.holder}/{work.activation.depth}": 0}

    echo.on("start", "echo/*")(write)
    chatty.on("start", "chatty/*", own_writes=True)(write)
    await board.put("start", 1)
    async with echo.joined(board):
        await chatty.join(board)
        await board.wait("true", on="echo/1", timeout=20)
    assert sorted(woken) == ["chatty.write"] * 3 + ["echo.write"]


@pytest.mark.guarantee("S8")
async def test_an_agent_works_in_its_private_space(board: Board) -> None:
    diarist = Agent("diarist")

    @diarist.on("thought", space="private")
    async def ponder(work: Work) -> dict[str, str]:
        diarist.stop()
        return {"insight": "x"}

    own = board.as_agent("diarist").private
    await own.put("thought", 1)
    await diarist.join(board)
    assert (await own.get("insight")).revision == 2
    assert await board.find("insight") is None


@pytest.mark.guarantee("A1")
async def test_a_function_is_woken_at_its_time(server: LocalServer, board: Board) -> None:
    reporter = Agent("reporter")
    slots: asyncio.Queue[object] = asyncio.Queue()

    @reporter.due(cron="0 * * * *")
    async def report(work: Work) -> None:
        await slots.put(work.activation.slot_at)

    @reporter.due(at=server.clock.now() + timedelta(minutes=90))
    async def remind(work: Work) -> None:
        await slots.put("reminded")

    start = server.clock.now()
    async with reporter.joined(board):
        await server.clock.advance(3_600)
        assert await slots.get() == start + timedelta(hours=1)
        await server.clock.advance(1_800)
        assert await slots.get() == "reminded"
        await server.clock.advance(1_800)
        assert await slots.get() == start + timedelta(hours=2)


@pytest.mark.guarantee("A5")
async def test_an_agent_goes_on_over_a_restart_of_the_server(tmp_path: Path) -> None:
    builder = Agent("builder")
    working, restarted = asyncio.Event(), asyncio.Event()

    @builder.on("tasks/{task}")
    async def build(work: Work) -> dict[str, str]:
        working.set()
        await restarted.wait()
        return {f"code/{work.bind['task']}": "x"}

    async with testing.start(data_dir=tmp_path) as server, server.connect("ada") as board:
        async with builder.joined(board):
            await board.put("tasks/1", "go")
            await working.wait()
            await server.stop()
            await server.start()
            restarted.set()
            await board.wait("true", on="code/1", timeout=30)
            await board.put("tasks/2", "go")
            await board.wait("true", on="code/2", timeout=30)
        first = await board.get("code/1")
        assert (first.version, first.author) == (1, "builder")


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


async def test_an_agent_that_stops_leaves_no_lease_behind(board: Board) -> None:
    builder = Agent("builder", grace_seconds=0)
    working = asyncio.Event()

    @builder.on("tasks/*")
    async def build(_: Work) -> None:
        working.set()
        await asyncio.Event().wait()

    await board.put("tasks/1", "go")
    async with builder.joined(board):
        await working.wait()
    (activation,) = [each async for each in board.activations.list()]
    assert (activation.state, activation.attempt) == (ActivationState.WAITING, 0)


async def test_an_agent_joins_one_board_at_a_time(board: Board) -> None:
    builder = Agent("builder")
    async with builder.joined(board):
        with pytest.raises(RuntimeError, match="builder has joined a board already"):
            await builder.join(board)


def test_two_functions_of_one_name_need_names_of_their_own() -> None:
    builder = Agent("builder")

    async def build(_: Work) -> None:
        return None

    builder.on("a")(build)
    builder.on("b", name="other")(build)
    with pytest.raises(ValueError, match=r"a trigger builder\.build already"):
        builder.on("c")(build)


def test_a_time_needs_exactly_one_rule() -> None:
    with pytest.raises(ValueError, match="either a cron rule or a time"):
        Agent("a").due()
    with pytest.raises(ValueError, match="at least 1"):
        Agent("a", concurrency=0)
