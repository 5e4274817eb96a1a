"""A server of the demonstration's own, which comes back on the same data when it dies."""

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from lavagna_crew.demo.processes import Child, Processes

START_SECONDS_MAX = 60.0

LOOK_SECONDS = 0.05
"""How often a server that starts is looked for."""

RESTARTS_MAX = 20

LEAVE_SECONDS = 0.7
"""How long a dead server is left alone, so that somebody else can start it."""


class ServerFailed(Exception):
    """The server does not come up."""


class Server:
    """The server's process, and the next one when it dies."""

    def __init__(
        self, processes: Processes, data_dir: Path, *, options: Sequence[str] = ()
    ) -> None:
        self.target = f"127.0.0.1:{_free_port()}"
        self.data_dir = data_dir
        self.child: Child | None = None
        self._processes = processes
        self._options = options

    @property
    def command(self) -> list[str]:
        """How it is started."""
        place = ["--data-dir", str(self.data_dir), "--listen", self.target]
        return [sys.executable, "-m", "lavagna_server", "serve", *place, *self._options]

    async def start(self) -> Child:
        """Starts it; what the environment says of other servers does not concern this one."""
        environment = {
            name: value
            for name, value in self._processes.environment.items()
            if not name.startswith("LAVAGNA_")
        }
        self.child = await self._processes.start("server", self.command, environment)
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
            await _until(self.target, served=False, look_seconds=LEAVE_SECONDS)
            child = await self.start()
            tell(f"starts the server again, process {child.process.pid}, on the same data")
        said = self.child.last_words() if self.child else ""
        raise ServerFailed(f"the server died {RESTARTS_MAX} times\n{said}")

    async def ready(self) -> None:
        """Waits until it listens.

        Raises:
            ServerFailed: It ended before it did, or takes too long.
        """
        assert self.child is not None
        listening = asyncio.create_task(_until(self.target, served=True, look_seconds=LOOK_SECONDS))
        ending = asyncio.create_task(self.child.process.wait())
        try:
            await asyncio.wait(
                [listening, ending],
                timeout=START_SECONDS_MAX,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if ending.done() or not listening.done():
                why = self.child.last_words() if ending.done() else "it does not answer"
                raise ServerFailed(f"the server does not come up: {why}")
        finally:
            for task in (listening, ending):
                task.cancel()
            await asyncio.gather(listening, ending, return_exceptions=True)


async def _until(target: str, *, served: bool, look_seconds: float) -> None:
    """Waits until somebody serves there, or nobody does; whose server it is does not matter."""
    while True:
        await asyncio.sleep(look_seconds)
        if await _answers(target) is served:
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
