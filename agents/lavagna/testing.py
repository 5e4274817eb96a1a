"""Testing: a real server in memory, with a clock that the test moves.

It needs what a server needs: `pip install "lavagna[server]"`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from lavagna.board import Board
from lavagna.connection import DEFAULT_BOARD, connect
from lavagna_server import assembly
from lavagna_server.clocks import ManualClock, SystemClock
from lavagna_server.settings import Settings

_GRACE_SECONDS = 1.0


class LocalServer:
    """A server inside this process, on a free port of the loopback address."""

    def __init__(self, settings: Settings, clock: ManualClock | None) -> None:
        self._settings = settings
        self._clock = clock
        self._server: assembly.Server | None = None
        self._address = ""

    @property
    def address(self) -> str:
        """Where it listens, also after it was stopped and started again."""
        return self._address

    @property
    def clock(self) -> ManualClock:
        """The time as the server sees it; `await clock.advance(seconds)` moves it."""
        if self._clock is None:
            raise RuntimeError("this server runs in real time")
        return self._clock

    def connect(
        self, agent: str = "tester", *, board: str = DEFAULT_BOARD, token: str | None = None
    ) -> AbstractAsyncContextManager[Board]:
        """A board of this server, as an agent sees it; names are trusted."""
        # Said also where they are the defaults, so that the user's environment does not choose them.
        return connect(self._address, agent=agent, board=board, token=token or "", tls=False)

    async def start(self) -> None:
        """Starts the server; again at the same address after `stop`, with what its `data_dir` kept."""
        settings = self._settings
        if self._address:
            settings = settings.model_copy(update={"listen": self._address})
        server = assembly.build(settings, clock=self._clock or SystemClock())
        await server.start()
        self._server, self._address = server, server.address

    async def stop(self) -> None:
        """Stops the server; a server without `data_dir` forgets everything."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(_GRACE_SECONDS)


@asynccontextmanager
async def start(
    *, clock: ManualClock | None = None, real_time: bool = False, **settings: Any
) -> AsyncGenerator[LocalServer]:
    """A server for as long as the `async with` block lasts, with a board called main.

    Its time stands still until the test moves `clock`, unless it runs in `real_time`. `settings`
    are those of the server, such as `data_dir` or `limits`; by default nothing is stored.
    """
    # Said even where they are the defaults, so that the user's environment does not choose them.
    chosen: dict[str, Any] = {"data_dir": None, "listen": "127.0.0.1:0", "tokens": None}
    server = LocalServer(
        Settings(**(chosen | settings)), None if real_time else clock or ManualClock()
    )
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
