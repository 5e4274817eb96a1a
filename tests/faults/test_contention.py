"""Many at once on one thing: writers on one key, and writers, a long read and compactions on one database."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

import lavagna
from lavagna import Board
from lavagna.retry import CONTENDED
from lavagna_server.clocks import ManualClock
from lavagna_server.domain.entries import Entry, SpaceName
from lavagna_server.ports.store import Scan, Snapshot
from lavagna_server.storage.sqlite import DATABASE_FILE, SqliteStore
from tests.desks import running
from tests.faults.crowd import WRITERS, Crowd
from tests.faults.lives import DEADLINE_SECONDS, ONCE, Server
from tests.wire import connected

CONTEST_SECONDS, REST_SECONDS = 10, 3
SLOWER = 3
"""How many times slower a read may be beside writers of one key than beside as many writers of a key each."""
RIVALS, ROUNDS = 32, 40

pytestmark = pytest.mark.faults


@pytest.mark.guarantee("S1")
@pytest.mark.field_report("F6")
async def test_fifty_writers_of_one_key_all_get_on_and_readers_of_others_do_not_feel_it(
    server: Server,
) -> None:
    await server.start()
    apart, together = Crowd(), Crowd()
    await apart.work(server, lambda number: f"own/{number}", REST_SECONDS)
    await together.work(server, lambda _: "contested", CONTEST_SECONDS)
    async with server.connect("onlooker") as board:
        contested = await board.get("contested")

    assert len(together.updates) == WRITERS
    assert contested.value == contested.version == together.updates.total()
    assert max(together.attempts) <= CONTENDED.attempts_max
    assert sum(together.attempts) < 20 * len(together.attempts)
    assert together.reads / CONTEST_SECONDS > apart.reads / REST_SECONDS / SLOWER


@pytest.mark.field_report("F6")
def test_writers_who_lose_together_do_not_come_back_together() -> None:
    third_waits = [list(CONTENDED.waits())[2] for _ in range(WRITERS)]

    assert len(set(third_waits)) == WRITERS
    assert max(third_waits) <= CONTENDED.most_seconds


class LongRead:
    """A read that lasts until it is told to end."""

    def __init__(self) -> None:
        self._begun, self._may_end = threading.Event(), threading.Event()

    def read(self, snapshot: Snapshot) -> tuple[Sequence[Entry], Sequence[Entry]]:
        """What the board holds, looked at twice on one snapshot."""
        before = snapshot.scan(SpaceName("main"), Scan())
        self._begun.set()
        assert self._may_end.wait(DEADLINE_SECONDS)
        return before, snapshot.scan(SpaceName("main"), Scan())

    async def begun(self) -> None:
        """Waits until it has looked for the first time."""
        assert await asyncio.to_thread(self._begun.wait, DEADLINE_SECONDS)

    def end(self) -> None:
        """Lets it look again, and end."""
        self._may_end.set()


async def rival(board: Board) -> None:
    """Writes a key of its own and reads everyone's, by turns; the first error ends it."""
    for number in range(1, ROUNDS + 1):
        written = await board.put(f"keys/{board.agent_name}", number, overwrite=True)
        assert written.version == number + 1
        assert len([entry async for entry in board.entries("keys/*")]) == RIVALS


async def compact(board: Board, compactions: list[int]) -> None:
    """Gives up history as fast as it comes about."""
    while True:
        compactions.append(await board.compact())


@pytest.mark.guarantee("S1")
@pytest.mark.field_report("F25")
async def test_nobody_sees_a_lock_when_many_write_beside_a_long_read_and_compactions(
    tmp_path: Path,
) -> None:
    store, long_read, compactions = SqliteStore.open(tmp_path), LongRead(), list[int]()
    async with (
        running(store, ManualClock()) as engine,
        connected(engine) as wire,
        AsyncExitStack() as stack,
    ):
        address = f"127.0.0.1:{wire.server.port}"

        async def joined(agent: str) -> Board:
            return await stack.enter_async_context(
                lavagna.connect(address, agent=agent, board="main", retry=ONCE)
            )

        rivals = [await joined(f"rival-{number}") for number in range(RIVALS)]
        for board in rivals:
            await board.put(f"keys/{board.agent_name}", 0)
        reading = asyncio.create_task(engine.readers.run(long_read.read))
        await long_read.begun()
        compacting = asyncio.create_task(compact(await joined("keeper"), compactions))
        await asyncio.gather(*(rival(board) for board in rivals))
        compacting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await compacting
        long_read.end()
        before, after = await reading

    assert {entry.version for entry in before} == {1}
    assert before == after
    assert len(before) == RIVALS
    assert len(compactions) > 1
    assert compactions == sorted(compactions)
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
