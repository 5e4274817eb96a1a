"""Load: clients that write in every way there is, and a ledger of what was acknowledged to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lavagna import Board, Lease, Put, Trigger, Written
from tests.faults.lives import Server

INCREMENTING, APPENDING, PAIRING, WORKING = 3, 2, 2, 2
"""How many clients do each."""
WORKER = "worker"
"""Whose work the tasks are; several processes may bear one name."""
WAIT_SECONDS = 0.2
"""How long a worker asks for work at a time."""


@dataclass
class Ledger:
    """What was acknowledged: by revision, what each key came to there."""

    written: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])
    """The versions made at a revision."""
    increments: int = 0
    appended: dict[str, str] = field(default_factory=dict[str, str])
    """What was appended, by the key that the server made for it."""
    done: list[str] = field(default_factory=list[str])
    """The tasks that were completed."""

    def note(self, *results: Written) -> None:
        """Takes in what one call was told, which no other call may be told."""
        revision = results[0].revision
        assert revision not in self.written, f"revision {revision} was given to two requests"
        self.written[revision] = {each.key: each.version for each in results}


class Load:
    """The clients, until they are told to stop."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.stopping = asyncio.Event()
        self._more = asyncio.Event()

    async def progress(self, acknowledged: int) -> None:
        """Waits until so many more writes were acknowledged."""
        goal = len(self.ledger.written) + acknowledged
        while len(self.ledger.written) < goal:
            self._more.clear()
            await self._more.wait()

    def _note(self, *results: Written) -> None:
        self.ledger.note(*results)
        self._more.set()

    async def increment(self, board: Board) -> None:
        """Counts up, over nothing but the version that was read."""
        while not self.stopping.is_set():
            self._note(await board.update("counter", _one_more))
            self.ledger.increments += 1

    async def append(self, board: Board) -> None:
        """Appends what nobody else does."""
        number = 0
        while not self.stopping.is_set():
            number += 1
            value = f"{board.agent_name} {number}"
            written = await board.append("log", value)
            self._note(written)
            self.ledger.appended[written.key] = value

    async def pair(self, board: Board) -> None:
        """Writes two keys that must always be equal."""
        number = 0
        while not self.stopping.is_set():
            number += 1
            sides = (f"pairs/{board.agent_name}/{side}" for side in ("left", "right"))
            puts = [Put(key, number, overwrite=True) for key in sides]
            self._note(*(await board.commit(*puts)).results)

    async def plan(self, board: Board) -> None:
        """Makes tasks, each when the one before is done, so that they do not pile up."""
        number = 0
        while not self.stopping.is_set():
            number += 1
            self._note(await board.put(f"tasks/{number}", "ready"))
            while len(self.ledger.done) < number:
                self._more.clear()
                await self._more.wait()

    async def work(self, board: Board) -> None:
        """Takes tasks and completes them, as long as there may be some."""
        while True:
            leases = await board.activations.acquire(wait=WAIT_SECONDS)
            await asyncio.gather(*(self._completed(board, lease) for lease in leases))
            if self.stopping.is_set() and not leases:
                return

    async def _completed(self, board: Board, lease: Lease) -> None:
        task = lease.activation.bind["task"]
        put = Put(f"done/{task}", board.agent_name, expected_version=0)
        committed = await board.activations.complete(lease.token, [put])
        self.ledger.done.append(task)
        self._note(*committed.results)


def _one_more(value: object) -> int:
    return (value if isinstance(value, int) else 0) + 1


@asynccontextmanager
async def under_load(server: Server, ledger: Ledger) -> AsyncGenerator[Load]:
    """Clients at work; after the block each finishes what it has begun, so that no write is in doubt."""
    load = Load(ledger)
    clients = [
        *((load.increment, f"counter-{number}") for number in range(INCREMENTING)),
        *((load.append, f"writer-{number}") for number in range(APPENDING)),
        *((load.pair, f"pairer-{number}") for number in range(PAIRING)),
        *((load.work, WORKER) for _ in range(WORKING)),
        (load.plan, "planner"),
    ]
    async with server.connect(WORKER) as worker:
        await worker.triggers.set(Trigger("work", on=["tasks/{task}"]))

    async def work(role: Callable[[Board], Awaitable[None]], name: str) -> None:
        async with server.connect(name) as board:
            await role(board)

    async with asyncio.TaskGroup() as working:
        for role, name in clients:
            working.create_task(work(role, name))
        yield load
        load.stopping.set()
