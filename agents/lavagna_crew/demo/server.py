"""A server of the demonstration's own, which comes back on the same data when it dies."""

import asyncio
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from lavagna import Board, Retry
from lavagna_crew.demo.processes import Child, Processes
from lavagna_crew.place import Place

START_SECONDS_MAX = 60.0

EAGER = Retry(attempts_max=10_000, first_seconds=0.05, most_seconds=0.1)
"""A server that is starting is asked often; the deadline is elsewhere."""

RESTARTS_MAX = 20

LEAVE_SECONDS = 0.7
"""How long a dead server is left alone, so that somebody else can start it."""


class ServerFailed(Exception):
    """The server does not come up."""


class Server:
    """The server's process, and the next one when it dies."""

    def __init__(self, processes: Processes, data_dir: Path) -> None:
        self.target = f"127.0.0.1:{_free_port()}"
        self.data_dir = data_dir
        self._processes = processes
        self.child: Child | None = None

    @property
    def command(self) -> list[str]:
        """How it is started."""
        options = ["--data-dir", str(self.data_dir), "--listen", self.target]
        return [sys.executable, "-m", "lavagna_server", "serve", *options]

    async def start(self) -> Child:
        """Starts it."""
        self.child = await self._processes.start("server", self.command)
        return self.child

    async def keep(self, tell: Callable[[str], None]) -> None:
        """Starts it again whenever it dies, unless somebody else has; never returns.

        Raises:
            ServerFailed: It died too often.
        """
        for _ in range(RESTARTS_MAX):
            assert self.child is not None
            await self.child.process.wait()
            tell(f"the server {self.child.end}")
            await _unanswered(self.target)
            child = await self.start()
            tell(f"starts the server again, process {child.process.pid}, on the same data")
        said = self.child.last_words() if self.child else ""
        raise ServerFailed(f"the server died {RESTARTS_MAX} times\n{said}")

    async def ready(self, place: Place) -> None:
        """Waits until it answers.

        Raises:
            ServerFailed: It ended before it did, or takes too long.
        """
        assert self.child is not None
        answering = asyncio.create_task(_first_answer(place))
        ending = asyncio.create_task(self.child.process.wait())
        try:
            await asyncio.wait(
                [answering, ending],
                timeout=START_SECONDS_MAX,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if answering.done():
                return answering.result()
            why = self.child.last_words() if ending.done() else "it does not answer"
            raise ServerFailed(f"the server does not come up: {why}")
        finally:
            for task in (answering, ending):
                task.cancel()
            await asyncio.gather(answering, ending, return_exceptions=True)


async def _first_answer(place: Place) -> None:
    async with place.open("launcher", retry=EAGER) as board:
        await _asked(board)


async def _asked(board: Board) -> None:
    async for _ in board.boards.list():
        return


async def _unanswered(target: str) -> None:
    """Waits until nobody serves there; a server of somebody else's cannot be waited for."""
    while True:
        await asyncio.sleep(LEAVE_SECONDS)
        if not await _answers(target):
            return


async def _answers(target: str) -> bool:
    host, _, port = target.rpartition(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return False
    writer.close()
    return True


def _free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port: int = listener.getsockname()[1]
        return port
