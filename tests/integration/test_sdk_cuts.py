"""Connections that are cut at the worst moment, between a real client and a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

import lavagna
from lavagna import Agent, Board, Work, testing
from lavagna.testing import LocalServer
from lavagna.v1 import entries_pb2
from tests.integration.cutting_proxy import CuttingProxy, cutting_proxy


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def proxy(server: LocalServer) -> AsyncGenerator[CuttingProxy]:
    async with cutting_proxy(server.address) as each:
        yield each


@pytest.fixture
async def far(proxy: CuttingProxy) -> AsyncGenerator[Board]:
    """The board as ada has it, through the proxy."""
    async with lavagna.connect(proxy.address, agent="ada") as each:
        await each.put("warm", 1)
        yield each


@pytest.fixture
async def near(server: LocalServer) -> AsyncGenerator[Board]:
    """The board as bob has it, straight from the server."""
    async with server.connect("bob") as each:
        yield each


@pytest.mark.guarantee("S6")
@pytest.mark.field_report("F5")
async def test_a_write_whose_answer_is_lost_has_one_effect(
    proxy: CuttingProxy, far: Board, near: Board
) -> None:
    async with near.watch("k") as watch:
        proxy.lose_answers()
        writing = asyncio.create_task(far.put("k", 1))
        commit = await anext(watch)
        proxy.cut()
        written = await writing
        assert (written.version, written.revision) == (1, commit.revision)
        await near.put("k", 2, expected_version=1)
        assert (await anext(watch)).revision == commit.revision + 1
    assert [entry.version async for entry in near.history("k")] == [2, 1]


@pytest.mark.guarantee("S6")
@pytest.mark.field_report("F5")
async def test_the_same_request_id_with_other_content_is_invalid(near: Board) -> None:
    caller = near.view.caller

    def request(text: str) -> entries_pb2.CommitRequest:
        put = entries_pb2.Put(value=entries_pb2.Value(text=text))
        change = entries_pb2.Change(key="k", put=put, overwrite=True)
        return entries_pb2.CommitRequest(
            board=caller.board_name, request_id="the-same", changes=[change]
        )

    first = await caller.mutate(caller.stubs.entries.Commit, request("a"))
    again = await caller.mutate(caller.stubs.entries.Commit, request("a"))
    assert first == again
    with pytest.raises(lavagna.Invalid) as refused:
        await caller.mutate(caller.stubs.entries.Commit, request("b"))
    assert refused.value.reason == "REQUEST_ID_REUSED"
    assert (await near.get("k")).value == "a"


@pytest.mark.guarantee("W4")
@pytest.mark.guarantee("W5")
async def test_a_watch_that_is_cut_again_and_again_misses_nothing(
    proxy: CuttingProxy, far: Board, near: Board
) -> None:
    async def write() -> None:
        for number in range(300):
            await near.put(f"n/{number}", number)

    values: list[int] = []
    async with asyncio.TaskGroup() as tasks, far.watch("n/*") as watch:
        tasks.create_task(write())
        async for commit in watch:
            values += [entry.value for entry in commit.entries]
            if len(values) == 300:
                break
            if len(values) % 50 == 0:
                proxy.cut()
    assert values == list(range(300))
    assert proxy.accepted >= 6


@pytest.mark.guarantee("A3")
async def test_work_whose_completion_is_cut_is_done_once(
    proxy: CuttingProxy, far: Board, near: Board
) -> None:
    builder = Agent("builder")
    calls: list[int] = []

    @builder.on("tasks/*")
    async def build(work: Work) -> dict[str, int]:
        calls.append(work.attempt)
        proxy.lose_answers()
        return {"code": 1}

    async with builder.joined(far), near.watch("code") as watch:
        await near.put("tasks/1", "go")
        await anext(watch)
        proxy.cut()
    assert calls == [1]
    assert (await near.get("code")).version == 1
    (activation,) = [each async for each in near.activations.list()]
    assert activation.state == "completed"
