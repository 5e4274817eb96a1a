"""A proxy between a client and a server, which loses answers and cuts connections when told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

_CHUNK_BYTES = 65_536


class CuttingProxy:
    """Passes bytes on, in both directions, until it is told otherwise."""

    def __init__(self, server_address: str) -> None:
        self.address = ""
        self.accepted = 0
        """How many connections there were."""
        self._host, _, port = server_address.rpartition(":")
        self._port = int(port)
        self._connections: set[asyncio.Task[None]] = set()
        self._loses_answers = False

    def lose_answers(self) -> None:
        """From now on nothing that the server says comes through, until the next cut."""
        self._loses_answers = True

    def cut(self) -> None:
        """Cuts every connection; new ones pass everything on."""
        self._loses_answers = False
        for connection in self._connections:
            connection.cancel()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection until an end closes it or it is cut."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.accepted += 1
        try:
            answers, requests = await asyncio.open_connection(self._host, self._port)
            try:
                await asyncio.gather(
                    self._pass(reader, requests, is_answer=False),
                    self._pass(answers, writer, is_answer=True),
                )
            finally:
                requests.transport.abort()
        except (OSError, asyncio.CancelledError):
            pass  # the end of a connection is all that this proxy is for
        finally:
            writer.transport.abort()
            self._connections.discard(task)

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        while chunk := await source.read(_CHUNK_BYTES):
            if not (is_answer and self._loses_answers):
                target.write(chunk)
                await target.drain()
        raise ConnectionResetError


@asynccontextmanager
async def cutting_proxy(server_address: str) -> AsyncGenerator[CuttingProxy]:
    """A proxy to the server, on a free port."""
    proxy = CuttingProxy(server_address)
    listener = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with listener:
        yield proxy
        proxy.cut()
