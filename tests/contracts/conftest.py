"""Every adapter of the store, as a parameter of every test that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lavagna_server.ports.store import Store
from lavagna_server.storage.ephemeral import EphemeralStore
from lavagna_server.storage.sqlite import SqliteStore
from tests.contracts.scribe import Scribe


@pytest.fixture(params=["ephemeral", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    made: Store = EphemeralStore() if request.param == "ephemeral" else SqliteStore.open(tmp_path)
    yield made
    made.close()


@pytest.fixture
def scribe(store: Store) -> Scribe:
    """The writer of a shared space in that store."""
    return Scribe(store)
