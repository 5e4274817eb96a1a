"""The SDK page: every example runs, on a real server, in the order in which it is read."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

import lavagna
from lavagna import Board, testing

PAGE = Path(__file__).parents[2] / "agents" / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
(SHOWN,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
"""What the page says that deciding together prints."""


@pytest.fixture
async def server() -> AsyncGenerator[testing.LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def board(server: testing.LocalServer) -> AsyncGenerator[Board]:
    async with server.connect("ada") as each:
        yield each


async def run(example: str, names: dict[str, Any]) -> None:
    """Runs the example as an interactive session would, with `await` at the top level."""
    code = compile(example, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    outcome = eval(code, names)
    if inspect.isawaitable(outcome):
        await outcome


async def test_every_example_runs_and_says_what_the_page_says(
    server: testing.LocalServer, board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {"lavagna": lavagna, "target": server.address}
    printed: list[str] = []
    for example in EXAMPLES:
        names["board"] = board
        capsys.readouterr()
        await run(example, names)
        printed += capsys.readouterr().out.splitlines()
    said = [line for line in printed if "[info" not in line]
    assert said == [
        "Build 1 1 ada",
        "ada True",
        "grace",
        "better 2 ada",
        "True",
        "11 ada ['plan/2']",
        "plan/1 {'number': '1'}",
        "1 0 ",
        "error",
        *SHOWN.splitlines(),
        "store/000000000016-000 accepted",
        "from a thread",
        "None",
    ]
    assert (await board.get("code/1")).value == "# better"
    assert (await board.get("counter")).value == 1
