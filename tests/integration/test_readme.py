"""The first page: its example runs as it stands, against a real server, and prints what it promises."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from tests.servers import server_process

PAGE = Path(__file__).parents[2] / "README.md"
ADDRESS = "localhost:7443"


async def test_the_fifteen_lines_run_as_they_stand(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert ADDRESS in example

    async with server_process("--in-memory") as server:
        script = tmp_path / "fifteen.py"
        script.write_text(example.replace(ADDRESS, server.address))
        process = await asyncio.create_subprocess_exec(
            sys.executable, script, stdout=PIPE, stderr=PIPE
        )
        printed, complaints = await process.communicate()

    assert (printed.decode(), process.returncode) == ("Hello, ada!\n", 0), complaints.decode()
