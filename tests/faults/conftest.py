"""Servers that can be killed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.faults.lives import Hatchery, Server, opened_hatchery


@pytest.fixture(scope="session")
async def hatchery() -> AsyncGenerator[Hatchery]:
    """Starts servers in a tenth of a second."""
    async with opened_hatchery() as each:
        yield each


@pytest.fixture
async def server(hatchery: Hatchery, tmp_path: Path) -> AsyncGenerator[Server]:
    """A server that has not been started yet; whichever life it is in after the test is the last."""
    each = Server(hatchery, tmp_path / "board")
    yield each
    await each.kill()
