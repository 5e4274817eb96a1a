"""The blocking façade on a real server, used from threads as programs without a loop use it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import lavagna
from lavagna import (
    Choice,
    Commit,
    Electorate,
    Outcome,
    Policy,
    Put,
    Region,
    Standing,
    Trigger,
    blocking,
    testing,
)
from lavagna.blocking import Board
from lavagna.loop_thread import LoopThread
from lavagna.testing import LocalServer


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


async def on_a_thread(server: LocalServer, program: Callable[[Board], None]) -> None:
    """Runs a program that knows nothing of event loops against the server of this one.

    The thread is a daemon, so that a program that hangs does not keep the tests from ending.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        try:
            with blocking.connect(server.address, agent="ada") as board:
                program(board)
        except BaseException as fault:  # noqa: BLE001 - raised again where the test waits
            loop.call_soon_threadsafe(outcome.set_exception, fault)
        else:
            loop.call_soon_threadsafe(outcome.set_result, None)

    threading.Thread(target=run, daemon=True).start()
    await outcome


async def test_entries_are_written_read_and_listed(server: LocalServer) -> None:
    def program(board: Board) -> None:
        assert board.put("plan/1", {"a": 1}).revision == 1
        board.commit(Put("plan/2", 2), Put("plan/3", 3))
        assert board.get("plan/1").value == {"a": 1}
        assert board.find("nothing") is None
        assert [entry.key for entry in board.entries("plan/*")] == ["plan/1", "plan/2", "plan/3"]
        assert [entry.version for entry in board.history("plan/1")] == [1]
        board.private.put("secret", 1)
        assert board.as_agent("bob").private.find("secret") is None
        assert (board.name, board.agent_name, board.space) == ("main", "ada", "shared")

    await on_a_thread(server, program)


async def test_errors_are_those_of_the_asynchronous_sdk(server: LocalServer) -> None:
    def program(board: Board) -> None:
        board.put("k", 1)
        with pytest.raises(lavagna.VersionRequired):
            board.put("k", 2)
        with pytest.raises(lavagna.NotFound):
            board.get("nothing")

    await on_a_thread(server, program)


@pytest.mark.guarantee("S1")
async def test_no_update_of_many_threads_is_lost(server: LocalServer) -> None:
    def program(board: Board) -> None:
        def count(_: int) -> None:
            board.update("counter", lambda value: (value or 0) + 1)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(count, range(40)))
        assert board.get("counter").value == 40

    await on_a_thread(server, program)


async def test_a_change_may_use_the_board_itself(server: LocalServer) -> None:
    def program(board: Board) -> None:
        board.put("step", 10)
        board.update("counter", lambda value: (value or 0) + board.get("step").value)
        assert board.get("counter").value == 10

    await on_a_thread(server, program)


async def test_a_watch_is_iterated_and_closed(server: LocalServer) -> None:
    def program(board: Board) -> None:
        with board.watch("k") as watch:
            board.put("k", 1)
            board.put("k", 2, overwrite=True)
            revisions: list[int] = []
            for commit in watch:
                revisions.append(commit.revision)
                if commit.revision == 2:
                    break
            assert revisions == [1, 2]
            token = watch.token
        board.put("k", 3, overwrite=True)
        with board.watch("k", token=token) as watch:
            assert next(iter(watch)).revision == 3

    await on_a_thread(server, program)


async def test_closing_a_watch_ends_the_thread_that_waits_for_it(server: LocalServer) -> None:
    def program(board: Board) -> None:
        watch = board.watch("k", after=0)
        board.put("k", 1)
        first = threading.Event()

        def follow() -> list[Commit]:
            commits: list[Commit] = []
            for commit in watch:
                commits.append(commit)
                first.set()
            return commits

        with ThreadPoolExecutor(1) as threads:
            following = threads.submit(follow)
            assert first.wait(timeout=20)
            watch.close()
            assert [commit.revision for commit in following.result(timeout=20)] == [1]

    await on_a_thread(server, program)


async def test_the_initial_state_comes_first(server: LocalServer) -> None:
    def program(board: Board) -> None:
        board.put("k", 1)
        with board.watch("k", initial_state=True) as watch:
            state = next(iter(watch))
            assert isinstance(state, lavagna.State)
            assert (state.entries[0].value, watch.synced, watch.revision) == (1, True, 1)

    await on_a_thread(server, program)


async def test_work_is_done_by_hand(server: LocalServer) -> None:
    def program(board: Board) -> None:
        board.triggers.set(Trigger("t", on=["tasks/{task}"], own_writes=True))
        board.put("tasks/1", "go")
        (lease,) = board.activations.acquire(wait=10)
        board.activations.complete(lease.token, [Put("code/1", "x")])
        assert board.get("code/1").value == "x"
        assert [each.id for each in board.triggers.list()] == ["t"]
        assert board.regions.list() == ()
        assert board.agents.hello().member.id == "ada"
        assert [each.id for each in board.boards.list()] == ["main"]

    await on_a_thread(server, program)


async def test_proposals_and_claims_are_decided_and_explained(server: LocalServer) -> None:
    def program(board: Board) -> None:
        board.regions.set(
            Region("design", policy=Policy.QUORUM, electorate=Electorate(["ada", "bob"]))
        )
        board.regions.set(Region("effort", policy=Policy.WEIGHTED))
        board.agents.set_standing(Standing("bob", trust=0.5))
        assert board.agents.standing("bob").trust == 0.5
        bob = board.as_agent("bob")
        proposal = board.propose("design", "log")
        assert [each.key for each in bob.proposals.list(awaiting_me=True)] == [proposal.key]
        bob.vote(bob.proposals.get(proposal.key), Choice.ACCEPT)
        assert board.proposals.wait(proposal, timeout=20).outcome is Outcome.ACCEPTED
        gone = board.propose_delete("design")
        assert board.withdraw(gone, reason="no").outcome is Outcome.WITHDRAWN
        board.claim("effort", 3)
        bob.claim("effort", 5)
        assert [each.value for each in board.claims.list("effort")] == [3, 5]
        left = bob.withdraw("effort")
        assert left is not None
        assert left.value == 3
        assert board.explain("effort").contributions[0].agent == "ada"
        assert board.claims.resolve("effort", 3).right == ("ada",)

    await on_a_thread(server, program)


def test_the_loop_refuses_to_wait_for_itself() -> None:
    loop = LoopThread()

    async def one() -> int:
        return 1

    async def inside() -> int:
        waiting = one()
        try:
            return loop.wait(waiting)
        finally:
            waiting.close()

    assert loop.wait(one()) == 1
    with pytest.raises(RuntimeError, match="inside its own event loop"):
        loop.wait(inside())
    loop.close()


async def test_a_method_keeps_its_name_and_its_words(server: LocalServer) -> None:
    def program(board: Board) -> None:
        assert board.put.__name__ == "put"
        assert "Stores a value." in (board.put.__doc__ or "")
        assert repr(board) == "blocking <Board 'main' (shared) as 'ada'>"

    await on_a_thread(server, program)
