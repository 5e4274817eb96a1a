"""Agents against a peer that goes away and refuses: no task, lease or work is leaked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import grpc
import pytest

import lavagna
from lavagna import Agent, Board, Work
from lavagna.v1 import triggers_pb2
from tests.integration.scripted_peer import AWAY, Hang, Peer, Refusal
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


async def test_heartbeats_keep_a_lease_for_as_long_as_the_function_runs(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", granted(lease_seconds=0.03))
    peer.script("Acquire", Hang)
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> dict[str, str]:
        await peer.until_asked("Heartbeat", times=3)
        ada.stop()
        return {"code/1": "print()"}

    await ada.join(board)
    assert [each.tokens for each in peer.requests["Heartbeat"]][:3] == [["t1"]] * 3
    (complete,) = peer.requests["Complete"]
    assert (complete.activation_token, complete.changes[0].key) == ("t1", "code/1")


async def test_a_server_that_is_away_costs_no_lease(peer: Peer, board: Board) -> None:
    peer.script("Acquire", granted(lease_seconds=0.03))
    peer.script("Acquire", Hang)
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        peer.rewrite("Heartbeat", AWAY)
        await peer.until_asked("Heartbeat", times=3)
        peer.rewrite("Heartbeat", beats("t1"))
        assert not work.lost.is_set()
        ada.stop()

    await ada.join(board)
    assert len(peer.requests["Complete"]) == 1


@pytest.mark.guarantee("S6")
async def test_work_that_was_granted_but_not_received_is_asked_for_by_the_same_id(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", AWAY)
    peer.script("Acquire", granted())
    peer.script("Acquire", Hang)
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        ada.stop()

    await ada.join(board)
    cut, answered, *_ = peer.requests["Acquire"]
    assert cut == answered
    assert cut.request_id
    assert len(peer.requests["Hello"]) == 2
    assert len(peer.requests["SetTrigger"]) == 2


async def test_what_a_broken_off_poll_was_granted_is_given_back(peer: Peer, board: Board) -> None:
    peer.script("Acquire", Hang)
    peer.script("Acquire", Refusal(grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_ID_REUSED"))
    peer.script("Acquire", granted("late"))
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        raise AssertionError("there is nothing to do")

    joining = asyncio.create_task(ada.join(board))
    await peer.until_asked("Acquire")
    ada.stop()
    await joining
    assert [each.activation_token for each in peer.requests["Release"]] == ["late"]
    broken_off, hurried, again = peer.requests["Acquire"]
    assert broken_off == again
    assert hurried.request_id == again.request_id
    assert not hurried.HasField("wait")


async def test_leases_that_were_taken_together_are_kept_together(peer: Peer, board: Board) -> None:
    both = granted("t1", lease_seconds=0.3)
    both.leases.extend(granted("t2", lease_seconds=0.3).leases)
    peer.script("Acquire", both)
    peer.script("Acquire", Hang)
    ada = Agent("ada", concurrency=2)

    @ada.on("tasks/{task}")
    async def build(_: Work) -> None:
        await peer.until_asked("Heartbeat")
        ada.stop()

    await ada.join(board)
    assert peer.requests["Acquire"][0].count_max == 2
    assert sorted(peer.requests["Heartbeat"][0].tokens) == ["t1", "t2"]


async def test_an_agent_that_stopped_can_join_again(peer: Peer, board: Board) -> None:
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(_: Work) -> None:
        ada.stop()

    for token in ("t1", "t2"):
        peer.rewrite("Acquire", granted(token))
        await ada.join(board)
        peer.rewrite("Acquire", NO_WORK)
    assert {each.activation_token for each in peer.requests["Complete"]} == {"t1", "t2"}


async def test_a_block_beside_an_agent_that_is_refused_at_once_never_begins(
    peer: Peer, board: Board
) -> None:
    peer.rewrite("Hello", Refusal(grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"))
    begun = False
    with pytest.raises(lavagna.Unauthenticated):
        async with Agent("ada").joined(board):
            begun = True
    assert not begun


async def test_what_does_not_finish_in_the_grace_gives_its_lease_back(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", granted())
    peer.script("Acquire", Hang)
    ada = Agent("ada", grace_seconds=0.01)

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        ada.stop()
        await asyncio.Event().wait()

    await ada.join(board)
    assert [each.activation_token for each in peer.requests["Release"]] == ["t1"]


async def test_a_cancelled_agent_gives_its_leases_back_and_stays_cancelled(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", granted())
    peer.script("Acquire", Hang)
    ada = Agent("ada")
    working = asyncio.Event()

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        working.set()
        await asyncio.Event().wait()

    joining = asyncio.create_task(ada.join(board))
    await working.wait()
    joining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await joining
    assert [each.activation_token for each in peer.requests["Release"]] == ["t1"]


@pytest.mark.parametrize("method", ["Hello", "Acquire", "Heartbeat"])
async def test_an_agent_that_is_refused_stops_and_says_so(
    peer: Peer, board: Board, method: str
) -> None:
    peer.script("Acquire", granted(lease_seconds=0.03))
    peer.rewrite(method, Refusal(grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"))
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        await asyncio.Event().wait()

    with pytest.raises(lavagna.Unauthenticated):
        await ada.join(board)


async def test_a_block_beside_an_agent_that_is_refused_is_ended_with_the_refusal(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", Refusal(grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"))
    ada = Agent("ada")

    @ada.on("tasks/{task}")
    async def build(work: Work) -> None:
        raise AssertionError("there is nothing to do")

    with pytest.raises(lavagna.Unauthenticated):
        async with ada.joined(board):
            await asyncio.Event().wait()


async def test_an_agent_without_functions_takes_nobodys_work(peer: Peer, board: Board) -> None:
    async with Agent("ada", teams=["t"]).joined(board):
        assert [list(each.teams) for each in peer.requests["Hello"]] == [["t"]]
    assert not peer.requests["Acquire"]


async def test_an_agent_with_somebody_elses_token_is_told(peer: Peer, board: Board) -> None:
    eve = Agent("eve", token="of-ada")
    with pytest.raises(lavagna.PermissionDenied, match="the token belongs to 'ada', not to 'eve'"):
        await eve.join(board)
    assert peer.metadata[0]["authorization"] == "Bearer of-ada"


async def test_a_fault_in_the_block_beside_an_agent_comes_out_as_it_is(
    peer: Peer, board: Board
) -> None:
    peer.script("Acquire", Hang)
    with pytest.raises(ZeroDivisionError):
        async with Agent("ada").joined(board):
            raise ZeroDivisionError


async def test_a_trigger_that_breaks_while_its_agent_waits_is_warned_of_once(
    peer: Peer, board: Board, caplog: pytest.LogCaptureFixture
) -> None:
    broken = triggers_pb2.GetTriggerResponse()
    broken.trigger.name = "boards/main/triggers/ada.build"
    broken.trigger.statistics.last_error = "no such member: colour"
    peer.script("GetTrigger", broken)
    peer.script("Acquire", NO_WORK)
    peer.script("Acquire", NO_WORK)
    peer.script("Acquire", Hang)
    ada = Agent("ada")

    @ada.on("tasks/*")
    async def build(_: Work) -> None:
        return None

    async with ada.joined(board):
        await peer.until_asked("Acquire", 3)
    warned = [
        each.getMessage() for each in caplog.records if each.name == "lavagna.standing_triggers"
    ]
    assert warned == [
        "ada: the trigger ada.build could not be evaluated and did not fire: no such member: colour"
    ]
