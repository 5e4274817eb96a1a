"""Watches against a peer that breaks off, lags and lies: nothing is missed, or it is said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import grpc
import pytest

import lavagna
from lavagna import Board, Commit, Retry, State, Watch
from lavagna.v1 import entries_pb2
from lavagna.v1 import watch_pb2 as wire
from tests.integration.scripted_peer import AWAY, Hang, Peer, Refusal, scripted_peer

QUICK = Retry(attempts_max=4, first_seconds=0.001, most_seconds=0.002)
GOING_DOWN = Refusal(grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
SLOW = Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "SLOW_CONSUMER")


@pytest.fixture
async def peer() -> AsyncGenerator[Peer]:
    async with scripted_peer() as each:
        yield each


@pytest.fixture
async def board(peer: Peer) -> AsyncGenerator[Board]:
    async with lavagna.connect(peer.address, agent="ada", retry=QUICK) as each:
        yield each


def message(after: int, through: int, *revisions: int) -> wire.WatchResponse:
    """A message about a range, whose token names the end of the range."""
    return wire.WatchResponse(
        header=entries_pb2.ResponseHeader(epoch="e", revision=through),
        space=entries_pb2.SPACE_SHARED,
        covers=wire.Covers(after=after, through=through),
        commits=[wire.Commit(revision=revision) for revision in revisions],
        token=f"t{through}",
    )


def state(through: int, *keys: str, synced: bool = False) -> wire.WatchResponse:
    """A part of the initial state."""
    part = message(through, through)
    part.state.extend(entries_pb2.Entry(key=key) for key in keys)
    part.synced = synced
    part.token = f"s{through}{''.join(keys)}"
    return part


async def taken(watch: Watch[Commit], count: int) -> list[int]:
    """The revisions of the next commits."""
    return [(await anext(watch)).revision for _ in range(count)]


@pytest.mark.guarantee("W5")
@pytest.mark.parametrize("break_off", [AWAY, GOING_DOWN, SLOW], ids=["cut", "down", "slow"])
async def test_a_watch_goes_on_with_its_last_token(
    peer: Peer, board: Board, break_off: Refusal
) -> None:
    peer.script("Watch", message(0, 2, 1, 2), message(2, 5), break_off)
    peer.script("Watch", message(5, 6, 6), Hang)
    async with board.watch("plan/**", after=0) as watch:
        assert await taken(watch, 3) == [1, 2, 6]
    first, second = peer.requests["Watch"]
    assert (first.token, first.after_revision) == ("", 0)
    assert (second.token, second.HasField("after_revision")) == ("t5", False)
    assert first.targets == second.targets


async def test_a_stream_that_ends_without_a_word_is_resumed(peer: Peer, board: Board) -> None:
    peer.script("Watch", message(0, 1, 1))
    peer.script("Watch", message(1, 2, 2), Hang)
    async with board.watch(after=0) as watch:
        assert await taken(watch, 2) == [1, 2]


@pytest.mark.guarantee("W4")
async def test_a_resumed_stream_that_skips_a_revision_is_found_out(
    peer: Peer, board: Board
) -> None:
    peer.script("Watch", message(0, 2, 2), AWAY)
    peer.script("Watch", message(3, 4, 4), Hang)
    watch = board.watch(after=0)
    assert await taken(watch, 1) == [2]
    with pytest.raises(lavagna.BrokenChain, match="through revision 2"):
        await anext(watch)
    with pytest.raises(StopAsyncIteration):
        await anext(watch)


@pytest.mark.guarantee("W5")
@pytest.mark.parametrize(
    ("code", "reason", "family"),
    [
        (grpc.StatusCode.OUT_OF_RANGE, "COMPACTED", lavagna.Compacted),
        (grpc.StatusCode.OUT_OF_RANGE, "FUTURE_REVISION", lavagna.FutureRevision),
        (grpc.StatusCode.FAILED_PRECONDITION, "EPOCH_CHANGED", lavagna.EpochChanged),
        (grpc.StatusCode.FAILED_PRECONDITION, "FILTER_MISMATCH", lavagna.Refused),
        (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED", lavagna.Unauthenticated),
    ],
)
async def test_what_cannot_be_resumed_is_said(
    peer: Peer,
    board: Board,
    code: grpc.StatusCode,
    reason: str,
    family: type[lavagna.LavagnaError],
) -> None:
    peer.script("Watch", message(0, 1, 1), AWAY)
    peer.script("Watch", Refusal(code, reason))
    async with board.watch(after=0) as watch:
        assert await taken(watch, 1) == [1]
        with pytest.raises(family):
            await anext(watch)
    assert len(peer.requests["Watch"]) == 2


async def test_a_server_that_never_was_there_is_given_up(peer: Peer, board: Board) -> None:
    peer.script("Watch", AWAY)
    with pytest.raises(lavagna.Unavailable):
        await anext(board.watch())
    assert len(peer.requests["Watch"]) == QUICK.attempts_max


async def test_entering_waits_until_it_is_known_where_the_watch_begins(
    peer: Peer, board: Board
) -> None:
    peer.script("Watch", message(41, 41), message(41, 42, 42), Hang)
    async with board.watch("plan/*", "design") as watch:
        assert watch.revision >= 41
        assert await taken(watch, 1) == [42]
    (request,) = peer.requests["Watch"]
    assert [target.pattern for target in request.targets] == ["plan/*", "design"]
    assert not request.HasField("after_revision")


async def test_the_token_never_lies_past_what_was_given(peer: Peer, board: Board) -> None:
    peer.script("Watch", message(0, 3, 1, 2), message(3, 9), message(9, 10, 10), Hang)
    async with board.watch(after=0, token="t0") as watch:
        places = [(watch.token, watch.revision)]
        for _ in range(3):
            await anext(watch)
            places.append((watch.token, watch.revision))
    assert places == [("t0", 0), ("t0", 1), ("t3", 3), ("t10", 10)]


@pytest.mark.guarantee("W3")
async def test_the_token_does_not_move_into_a_commit_in_fragments(peer: Peer, board: Board) -> None:
    first, last = message(0, 0), message(0, 1)
    first.token = "inside"
    first.commits.add(revision=1, fragment=wire.Fragment(index=0)).entries.add(key="a")
    last.commits.add(revision=1, fragment=wire.Fragment(index=1, last=True)).entries.add(key="b")
    peer.script("Watch", first, AWAY)
    peer.script("Watch", last, Hang)
    async with board.watch(after=0) as watch:
        assert watch.token == ""
        commit = await anext(watch)
        assert watch.token == "t1"
    assert [entry.key for entry in commit.entries] == ["a", "b"]
    assert peer.requests["Watch"][1].token == "inside"


@pytest.mark.guarantee("W6")
async def test_an_initial_state_that_breaks_off_goes_on_where_it_was(
    peer: Peer, board: Board
) -> None:
    peer.script("Watch", state(7, "a"), AWAY)
    peer.script("Watch", state(7, "b", synced=True), message(7, 8, 8), Hang)
    given: list[str] = []
    async with board.watch(initial_state=True) as watch:
        while not watch.synced:
            item = await anext(watch)
            assert isinstance(item, State)
            given += [entry.key for entry in item.entries]
        following = await anext(watch)
    assert given == ["a", "b"]
    assert isinstance(following, Commit)
    assert following.revision == 8
    assert peer.requests["Watch"][1].token == "s7a"


async def test_a_cancelled_read_loses_nothing(peer: Peer, board: Board) -> None:
    peer.script("Watch", message(0, 1, 1), Hang)
    peer.script("Watch", message(1, 2, 2), Hang)
    async with board.watch(after=0) as watch:
        assert await taken(watch, 1) == [1]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await anext(watch)
        assert await taken(watch, 1) == [2]
    assert peer.requests["Watch"][1].token == "t1"


async def test_a_closed_watch_ends_the_iteration_that_waits(peer: Peer, board: Board) -> None:
    peer.script("Watch", message(0, 1, 1), Hang)
    watch = board.watch(after=0)
    assert await taken(watch, 1) == [1]

    async def revisions() -> list[int]:
        return [commit.revision async for commit in watch]

    iterating = asyncio.create_task(revisions())
    await asyncio.wait([iterating], timeout=0.01)
    await watch.aclose()
    assert await iterating == []
    assert len(peer.requests["Watch"]) == 1


async def test_a_watch_whose_connection_is_closed_says_so(peer: Peer) -> None:
    peer.script("Watch", message(0, 1, 1), Hang)
    async with lavagna.connect(peer.address, agent="ada") as board:
        watch = board.watch(after=0)
        assert await taken(watch, 1) == [1]
        waiting = asyncio.create_task(anext(watch))
        await asyncio.wait([waiting], timeout=0.01)
    with pytest.raises(lavagna.Closed):
        await waiting
    assert len(peer.requests["Watch"]) == 1


@pytest.mark.guarantee("S5")
async def test_reads_see_at_least_what_a_watch_has_shown(peer: Peer, board: Board) -> None:
    peer.script("Watch", message(0, 5, 5), Hang)
    header = entries_pb2.ResponseHeader(epoch="e", revision=5)
    peer.script("Get", entries_pb2.GetResponse(header=header))
    async with board.watch(after=0) as watch:
        await anext(watch)
    await board.get("k")
    assert peer.requests["Get"][0].min_revision == 5
