"""The first page: what it says to run runs as it stands, against a real server, and prints what it promises."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.servers import LAST_WORDS, LISTENING, server_process

PAGE = (Path(__file__).parents[2] / "README.md").read_text()
ADDRESS = "localhost:7443"
PORT = ":7443"


async def test_the_fifteen_lines_run_as_they_stand(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert ADDRESS in example

    async with server_process("--in-memory") as server:
        script = tmp_path / "fifteen.py"
        script.write_text(example.replace(ADDRESS, server.address))
        process = await asyncio.create_subprocess_exec(
            sys.executable, script, stdout=PIPE, stderr=PIPE
        )
        printed, complaints = await process.communicate()

    assert (printed.decode(), process.returncode) == ("Hello, ada!\n", 0), complaints.decode()


async def test_a_server_for_a_network_comes_up_as_the_page_says(tmp_path: Path) -> None:
    start, use = re.findall(r"```console\n(\$ (?:openssl|export).*?)```", PAGE, re.DOTALL)
    commands, promised = _commands(use), use.splitlines()[-1]
    assert PORT in start
    assert PORT in commands

    async with _serving(_commands(start).replace(PORT, ":0"), tmp_path) as port:
        printed = await _run(f"set -e\n{commands.replace(PORT, f':{port}')}", tmp_path)

    assert printed.splitlines()[-1] == promised


def _commands(block: str) -> str:
    """What a reader types, after the shell's prompts."""
    return "\n".join(line[2:] for line in block.splitlines() if line.startswith(("$ ", "> ")))


@asynccontextmanager
async def _serving(commands: str, place: Path) -> AsyncGenerator[str]:
    """The port of the server that the last command starts; stopped at the end."""
    *before, serve = commands.strip().split("\nlavagna ")
    await _run("\n".join(before), place)
    process = await _shell(f"exec lavagna {serve}", place)
    assert process.stdout is not None
    try:
        port, line = "", ""
        while not line.startswith(LAST_WORDS):
            line = (await process.stdout.readline()).decode()
            assert line, "the server did not come up"
            if line.startswith(LISTENING):
                port = line.strip().rpartition(":")[2]
        yield port
    finally:
        process.terminate()
        await process.communicate()


async def _run(script: str, place: Path) -> str:
    process = await _shell(script, place)
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode()


async def _shell(script: str, place: Path) -> asyncio.subprocess.Process:
    """A shell of somebody who has nothing set but the way to the commands."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(place),
    }
    environment |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return await asyncio.create_subprocess_exec(
        "bash", "-c", script, stdout=PIPE, stderr=STDOUT, cwd=place, env=environment
    )
