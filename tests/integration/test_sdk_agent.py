"""Agents on a real server: woken by what they wait for, in order, and going on after restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lavagna import (
    ActivationState,
    Agent,
    Board,
    ChangeType,
    Invalid,
    Limits,
    Put,
    Work,
    testing,
)
from lavagna.testing import LocalServer
from tests.integration.agenda_looks import settled


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def board(server: LocalServer) -> AsyncGenerator[Board]:
    async with server.connect("ada") as each:
        yield each


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
        await settled(board, state=ActivationState.COMPLETED)
        await server.clock.advance(1_800)
        assert await slots.get() == "reminded"
        await settled(board, state=ActivationState.COMPLETED, count=2)
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
    with pytest.raises(Invalid, match=r"name: builder has a trigger builder\.build already"):
        builder.on("c")(build)


def test_a_time_needs_exactly_one_rule() -> None:
    with pytest.raises(Invalid, match="either a cron rule or a time"):
        Agent("a").due()
    with pytest.raises(Invalid, match="concurrency: 0 is not a whole number from 1"):
        Agent("a", concurrency=0)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the agent runtime warned of."""
    return [
        each.getMessage() for each in caplog.records if each.name == "lavagna.standing_triggers"
    ]


async def test_another_definition_of_a_trigger_is_replaced_with_a_warning(
    board: Board, caplog: pytest.LogCaptureFixture
) -> None:
    async def build(_: Work) -> None:
        return None

    for when, rating in (("true", 1), ("true", 1), ("entry.value.ready", 2)):
        builder = Agent("builder")
        builder.on("tasks/*", when=when, rating=rating)(build)
        async with builder.joined(board):
            pass
    (warning,) = warnings(caplog)
    assert warning.startswith(
        "builder replaces another definition of the trigger builder.build, which builder had set;"
        " `when`, `rating` differ"
    )
    assert (await board.triggers.get("builder.build")).when == "entry.value.ready"


async def test_a_condition_that_could_not_be_evaluated_is_warned_of(
    board: Board, caplog: pytest.LogCaptureFixture
) -> None:
    builder = Agent("builder")

    @builder.on("tasks/*", when="entry.value.colour == 'red'")
    async def build(_: Work) -> None:
        return None

    async with builder.joined(board):
        await board.put("tasks/1", {"status": "ready"})
    assert warnings(caplog) == []
    async with builder.joined(board):
        pass
    (warning,) = warnings(caplog)
    assert warning.startswith(
        "builder: the trigger builder.build could not be evaluated and did not fire: "
    )
    assert "colour" in warning


async def test_what_is_returned_and_is_no_mapping_fails_the_attempt_and_says_so(
    board: Board,
) -> None:
    builder = Agent("builder")

    @builder.on("tasks/*", limits=Limits(attempts_max=1))
    async def build(_: Work) -> Any:
        return "done"

    async with builder.joined(board):
        await board.put("tasks/1", "ready")
        (dead,) = await settled(board, state=ActivationState.DEAD, count=1)
    assert dead.reason == (
        "TypeError: a function returns a mapping of keys to values, or nothing;"
        " this one returned str"
    )
