"""Attempts that go wrong, against a scripted peer: each is settled once, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import grpc
import pytest

import lavagna
from lavagna import Agent, Board, Work
from lavagna.v1 import entries_pb2
from tests.integration.scripted_peer import Hang, Peer, Refusal
from tests.integration.scripted_work import NO_WORK, QUICK, beats, granted, welcoming_peer


@pytest.fixture
async def peer() -> AsyncGenerator[Peer]:
    async with welcoming_peer() as each:
        yield each


@pytest.fixture
async def board(peer: Peer) -> AsyncGenerator[Board]:
    async with lavagna.connect(peer.address, agent="ada", retry=QUICK) as each:
        yield each


@pytest.fixture(autouse=True)
async def no_leaks() -> AsyncGenerator[None]:
    """Every task of an agent ends with it."""
    yield
    left = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("ada:")]
    assert left == []


@pytest.mark.guarantee("A2")
async def test_a_lost_lease_cancels_the_function_and_settles_nothing(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", granted(lease_seconds=0.03))
    peer.script("Acquire", NO_WORK)
    peer.rewrite("Heartbeat", beats("t1", "another holder has it"))
    ada = Agent("ada")
    cancelled: list[bool] = []

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(work.lost.is_set())
            ada.stop()

    await ada.join(board)
    assert cancelled == [True]
    assert not peer.requests["Complete"] + peer.requests["Fail"] + peer.requests["Release"]


@pytest.mark.guarantee("S5")
async def test_the_board_of_a_piece_of_work_is_not_behind_what_fired_it(
    peer: Peer, board: Board
) -> None:
    private = granted()
    private.leases[0].activation.space = entries_pb2.SPACE_PRIVATE
    private.leases[0].activation.fired_revision = 9
    peer.script("Acquire", private)
    peer.script("Acquire", NO_WORK)
    peer.script("Get", Refusal(grpc.StatusCode.NOT_FOUND, "NOT_FOUND"))
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        ada.stop()
        assert await work.board.find("k") is None

    await ada.join(board)
    (get,) = peer.requests["Get"]
    assert (get.space, get.min_revision) == (entries_pb2.SPACE_PRIVATE, 9)


async def test_a_fault_in_the_function_fails_the_attempt_with_its_type_and_text(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", granted())
    peer.script("Acquire", Hang)
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        ada.stop()
        raise ValueError("no plan")

    await ada.join(board)
    (fail,) = peer.requests["Fail"]
    assert (fail.activation_token, fail.reason, fail.final) == ("t1", "ValueError: no plan", False)
    assert not peer.requests["Complete"]


async def test_what_is_returned_after_settling_is_not_settled_again(
    peer: Peer, board: Board, caplog: pytest.LogCaptureFixture
) -> None:
    peer.script("Acquire", granted())
    peer.script("Acquire", NO_WORK)
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> dict[str, int]:
        ada.stop()
        await work.complete({"code/1": 1})
        return {"code/2": 2}

    await ada.join(board)
    assert [each.changes[0].key for each in peer.requests["Complete"]] == ["code/1"]
    assert "what was returned is lost" in caplog.text


async def test_a_function_that_will_not_be_cancelled_settles_nothing_once_its_lease_is_lost(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", granted(lease_seconds=0.03))
    peer.script("Acquire", NO_WORK)
    peer.rewrite("Heartbeat", beats("t1", "another holder has it"))
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> dict[str, int]:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ada.stop()
        return {"code/1": 1}

    await ada.join(board)
    assert not peer.requests["Complete"] + peer.requests["Fail"] + peer.requests["Release"]


async def test_a_function_that_awaits_what_was_cancelled_has_a_fault(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", granted())
    peer.script("Acquire", NO_WORK)
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(_: Work) -> None:
        ada.stop()
        never = asyncio.get_running_loop().create_future()
        never.cancel()
        await never

    await ada.join(board)
    assert [each.reason for each in peer.requests["Fail"]] == ["CancelledError"]
    assert not peer.requests["Release"]


async def test_a_completion_that_comes_too_late_tells_the_function(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", granted())
    peer.script("Acquire", NO_WORK)
    peer.rewrite("Complete", Refusal(grpc.StatusCode.FAILED_PRECONDITION, "LEASE_LOST"))
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        ada.stop()
        with pytest.raises(lavagna.LeaseLost):
            await work.complete()
        assert work.lost.is_set()

    await ada.join(board)
    assert len(peer.requests["Complete"]) == 1
    assert not peer.requests["Fail"] + peer.requests["Release"]


async def test_a_lease_lost_in_the_function_is_no_fault(peer: Peer, board: Board) -> None:
    peer.script("Acquire", granted())
    peer.script("Acquire", Hang)
    peer.script("Commit", Refusal(grpc.StatusCode.FAILED_PRECONDITION, "LEASE_LOST"))
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        ada.stop()
        await work.board.put("code/1", "x")

    await ada.join(board)
    assert peer.requests["Commit"][0].activation_token == "t1"
    assert not peer.requests["Complete"] + peer.requests["Fail"] + peer.requests["Release"]
