"""Engines on every store that can stand behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.regions import Policy
from lavagna_server.engine.engine import Engine, EngineOptions
from lavagna_server.ports.store import Store
from lavagna_server.storage.ephemeral import EphemeralStore
from lavagna_server.storage.sqlite import SqliteStore
from tests.claimants import Claimant, claimant
from tests.desks import Desk, running
from tests.voters import Voter, electorate, voter

OpenStore: TypeAlias = "Callable[[], Store]"


@pytest.fixture(params=["ephemeral", "sqlite"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Opens the store under test; for SQLite the same one each time."""
    if request.param == "sqlite":
        return lambda: SqliteStore.open(tmp_path / "store")
    return EphemeralStore


@pytest.fixture
def clock() -> ManualClock:
    """Time that stands still until the test moves it."""
    return ManualClock()


@pytest.fixture
async def engine(open_store: Callable[[], Store], clock: ManualClock) -> AsyncIterator[Engine]:
    """An engine at work, on each store."""
    async with running(open_store(), clock) as engine:
        yield engine


@pytest.fixture
def alice(engine: Engine) -> Desk:
    """An agent at work."""
    return Desk(engine, "alice")


@pytest.fixture
def bob(engine: Engine) -> Desk:
    """Another agent at work."""
    return Desk(engine, "bob")


@pytest.fixture
async def ada(engine: Engine) -> Voter:
    """A voter on a board on which ada, bob and cyd decide on `design` by two of three."""
    root = voter(engine, "root", Role.ADMIN)
    await root.region("design", policy=Policy.QUORUM, electorate=electorate("ada", "bob", "cyd"))
    return voter(engine, "ada")


@pytest.fixture
async def root(engine: Engine) -> Claimant:
    """An administrator of a board on which `effort` is merged of claims."""
    root = claimant(engine, "root", Role.ADMIN)
    await root.region("effort", policy=Policy.WEIGHTED, owner="ceo")
    return root


StartEngine: TypeAlias = "Callable[..., AbstractAsyncContextManager[Engine]]"


@pytest.fixture
def start_engine(tmp_path: Path, clock: ManualClock) -> StartEngine:
    """Starts engines one after another on the same durable store."""

    def start(options: EngineOptions | None = None) -> AbstractAsyncContextManager[Engine]:
        return running(SqliteStore.open(tmp_path / "durable"), clock, options=options)

    return start
