"""Calls against a peer that misbehaves: retries keep their id, and nothing of gRPC gets out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import grpc
import pytest

import lavagna
from lavagna import Board, Retry, Space
from lavagna.v1 import activations_pb2, boards_pb2, entries_pb2
from tests.integration.scripted_peer import AWAY, Hang, Peer, Refusal, scripted_peer

QUICK = Retry(attempts_max=4, first_seconds=0.001, most_seconds=0.002)


@pytest.fixture
async def peer() -> AsyncGenerator[Peer]:
    async with scripted_peer() as each:
        yield each


@pytest.fixture
async def board(peer: Peer) -> AsyncGenerator[Board]:
    async with lavagna.connect(peer.address, agent="ada", retry=QUICK) as each:
        yield each


def committed(revision: int, *, epoch: str = "e") -> entries_pb2.CommitResponse:
    """A commit of one new entry."""
    return entries_pb2.CommitResponse(
        header=entries_pb2.ResponseHeader(epoch=epoch, revision=revision),
        succeeded=True,
        results=[entries_pb2.ChangeResult(key="k", version=1)],
    )


def got(revision: int, *, epoch: str = "e") -> entries_pb2.GetResponse:
    """An entry read at a revision."""
    return entries_pb2.GetResponse(
        header=entries_pb2.ResponseHeader(epoch=epoch, revision=revision),
        entry=entries_pb2.Entry(key="k", version=1),
    )


@pytest.mark.guarantee("S6")
@pytest.mark.field_report("F5")
async def test_a_write_is_tried_again_with_the_same_request_id(peer: Peer, board: Board) -> None:
    peer.script("Commit", AWAY)
    peer.script("Commit", AWAY)
    peer.script("Commit", committed(7))
    assert (await board.put("k", 1)).revision == 7
    assert len({request.request_id for request in peer.requests["Commit"]}) == 1
    assert len(peer.requests["Commit"]) == 3
    request_id = peer.requests["Commit"][0].request_id
    assert [each["lavagna-request"] for each in peer.metadata] == [request_id] * 3


async def test_two_writes_have_two_request_ids(peer: Peer, board: Board) -> None:
    peer.script("Commit", committed(7))
    await board.put("k", 1)
    await board.put("k", 1)
    first, second = (request.request_id for request in peer.requests["Commit"])
    assert first
    assert second
    assert first != second


async def test_retries_are_bounded(peer: Peer, board: Board) -> None:
    peer.script("Commit", AWAY)
    with pytest.raises(lavagna.Unavailable):
        await board.put("k", 1)
    assert len(peer.requests["Commit"]) == QUICK.attempts_max


@pytest.mark.parametrize(
    "code", [each for each in grpc.StatusCode if each not in {grpc.StatusCode.OK, AWAY.code}]
)
async def test_only_a_server_that_is_away_is_asked_again(
    peer: Peer, board: Board, code: grpc.StatusCode
) -> None:
    peer.script("Commit", Refusal(code, "SOME_REASON"))
    with pytest.raises(lavagna.LavagnaError) as refused:
        await board.put("k", 1)
    assert refused.value.reason == "SOME_REASON"
    assert len(peer.requests["Commit"]) == 1


async def test_an_error_shows_nothing_of_grpc(peer: Peer, board: Board) -> None:
    peer.script("Get", Refusal(grpc.StatusCode.NOT_FOUND, "NOT_FOUND"))
    with pytest.raises(lavagna.NotFound) as missing:
        await board.get("k")
    assert missing.value.__cause__ is None
    assert missing.value.__suppress_context__


@pytest.mark.guarantee("S5")
async def test_a_read_asks_for_what_the_connection_has_seen(peer: Peer, board: Board) -> None:
    peer.script("Commit", committed(7))
    peer.script("Get", got(9))
    await board.put("k", 1)
    await board.get("k")
    await board.get("k")
    await board.as_agent("bob").get("k")
    await board.private.get("k")
    assert [each.min_revision for each in peer.requests["Get"]] == [7, 9, 9, 0]


@pytest.mark.guarantee("S5")
async def test_a_read_asks_for_what_a_completion_wrote(peer: Peer, board: Board) -> None:
    header = entries_pb2.ResponseHeader(epoch="e", revision=8)
    peer.script("Complete", activations_pb2.CompleteResponse(header=header, succeeded=True))
    peer.script("Get", got(9))
    await board.activations.complete("t1", space=Space.PRIVATE)
    await board.get("k")
    await board.private.get("k")
    assert [each.min_revision for each in peer.requests["Get"]] == [0, 8]


@pytest.mark.guarantee("S4")
async def test_a_read_at_a_revision_asks_for_no_other(peer: Peer, board: Board) -> None:
    peer.script("Commit", committed(7))
    peer.script("Get", got(3))
    await board.put("k", 1)
    await board.get("k", at=3)
    (request,) = peer.requests["Get"]
    assert (request.at_revision, request.min_revision) == (3, 0)
    with pytest.raises(lavagna.Invalid, match="at: 0 is not a whole number from 1"):
        await board.get("k", at=0)


@pytest.mark.guarantee("S5")
async def test_after_a_restore_reads_ask_for_nothing_of_before(peer: Peer, board: Board) -> None:
    peer.script("Commit", committed(70))
    await board.put("k", 1)
    restored = entries_pb2.ResponseHeader(epoch="f", revision=5)
    peer.script("Get", Refusal(grpc.StatusCode.OUT_OF_RANGE, "FUTURE_REVISION"))
    peer.script("Get", got(5, epoch="f"))
    peer.script("GetBoard", boards_pb2.GetBoardResponse(header=restored))
    assert (await board.get("k")).key == "k"
    await board.get("k")
    assert [each.min_revision for each in peer.requests["Get"]] == [70, 0, 5]


async def test_a_future_revision_of_the_same_epoch_is_an_error(peer: Peer, board: Board) -> None:
    peer.script("Commit", committed(70))
    await board.put("k", 1)
    same = entries_pb2.ResponseHeader(epoch="e", revision=5)
    peer.script("Get", Refusal(grpc.StatusCode.OUT_OF_RANGE, "FUTURE_REVISION"))
    peer.script("GetBoard", boards_pb2.GetBoardResponse(header=same))
    with pytest.raises(lavagna.FutureRevision):
        await board.get("k")
    assert len(peer.requests["Get"]) == 1


async def test_pages_are_asked_for_with_the_same_request(peer: Peer, board: Board) -> None:
    header = entries_pb2.ResponseHeader(epoch="e", revision=4)
    for token, key in (("p2", "a"), ("", "b")):
        entry = entries_pb2.Entry(key=key)
        page = entries_pb2.ListResponse(header=header, entries=[entry], next_page_token=token)
        peer.script("List", page)
    assert [entry.key async for entry in board.entries("plan/**", tags=["x"])] == ["a", "b"]
    first, second = peer.requests["List"]
    assert (first.page_token, second.page_token) == ("", "p2")
    assert (first.pattern, list(first.tags)) == (second.pattern, list(second.tags))


async def test_a_call_under_way_fails_when_its_connection_is_closed(peer: Peer) -> None:
    peer.script("Get", Hang)
    async with lavagna.connect(peer.address, agent="ada", retry=QUICK) as board:
        waiting = asyncio.create_task(board.find("k"))
        await peer.until_asked("Get")
    with pytest.raises(lavagna.Closed, match="was closed"):
        await waiting
    assert len(peer.requests["Get"]) == 1


async def test_a_call_after_its_connection_was_closed_is_refused(peer: Peer) -> None:
    async with lavagna.connect(peer.address, agent="ada", retry=QUICK) as board:
        pass
    with pytest.raises(lavagna.Closed, match="is closed"):
        await board.find("k")


async def test_a_cancelled_call_is_cancelled_and_not_an_error(peer: Peer, board: Board) -> None:
    peer.script("Get", Hang)
    waiting = asyncio.create_task(board.find("k"))
    await peer.until_asked("Get")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_server_that_is_not_there_is_named(peer: Peer) -> None:
    async with lavagna.connect("localhost:1", agent="ada", retry=QUICK) as board:
        with pytest.raises(lavagna.Unavailable, match="localhost:1 cannot be reached"):
            await board.get("k")
