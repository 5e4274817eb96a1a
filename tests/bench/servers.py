"""The servers that the bench measures, as processes of their own: Lavagna, and the empty gRPC server that is its limit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

READY = "listening on "

ECHO = """
import asyncio
import grpc
import grpc.aio


async def main():
    async def echo(request, context):
        return request

    server = grpc.aio.server()
    methods = {"Echo": grpc.unary_unary_rpc_method_handler(echo)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"listening on 127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()


asyncio.run(main())
"""


@dataclass(frozen=True)
class Running:
    """A server process."""

    target: str
    process: subprocess.Popen[str]

    @property
    def cpu_seconds(self) -> float:
        """User and system time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    @property
    def resident_bytes(self) -> int:
        """Memory that it holds."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * 4096


@contextmanager
def lavagna(data_dir: Path) -> Generator[Running]:
    """Lavagna on SQLite, synced at each group, with nothing switched off."""
    command = [
        "-m",
        "lavagna_server",
        "serve",
        "--data-dir",
        str(data_dir),
        "--listen",
        "127.0.0.1:0",
    ]
    with _running([sys.executable, *command]) as server:
        yield server


@contextmanager
def echo() -> Generator[Running]:
    """An empty grpc.aio server that returns what it gets: what no Python server can beat."""
    with _running([sys.executable, "-c", ECHO]) as server:
        yield server


@contextmanager
def _running(command: list[str]) -> Generator[Running]:
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        line = next((line for line in process.stdout if READY in line), "")
        if not line:
            raise RuntimeError(f"{command} ended before it listened")
        yield Running(line.partition(READY)[2].split()[0], process)
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()
