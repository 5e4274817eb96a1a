"""One server for all tests of the command line, and a board of its own for each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count

import pytest

import lavagna
from tests.integration.cli.shell import Shell
from tests.servers import server_process

_NUMBERS = count(1)


@pytest.fixture(scope="session")
async def target(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Where a real server listens, on a free port, with its data on disk."""
    async with server_process("--data-dir", tmp_path_factory.mktemp("server")) as server:
        yield server.address


@pytest.fixture
async def board(target: str) -> str:
    """The name of a new board."""
    name = f"board-{next(_NUMBERS)}"
    async with lavagna.connect(target, agent="operator") as main:
        await main.boards.create(name)
    return name


@pytest.fixture
def shell(target: str, board: str) -> Shell:
    """A shell whose user is ada, on the new board."""
    return Shell().having(target=target, board=board, agent="ada")
