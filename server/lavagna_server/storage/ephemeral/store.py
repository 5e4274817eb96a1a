"""The store in memory: a reference to the newest state, exchanged whole when a transaction ends."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from threading import Lock

from lavagna_server.domain.entries import SpaceName
from lavagna_server.ports.store import Changes, Snapshot, Subtree, Transaction
from lavagna_server.storage.ephemeral.state import State
from lavagna_server.storage.ephemeral.view import View


class EphemeralStore:
    """A `Store` that is gone when the process is."""

    def __init__(self) -> None:
        self._state = State()
        self._writing = Lock()

    @contextmanager
    def transaction(self) -> Generator[Transaction]:
        """A write transaction over the newest state."""
        with self._writing:
            draft = _Draft(self._state)
            yield draft
            self._state = draft.state

    @contextmanager
    def snapshot(self) -> Generator[Snapshot]:
        """The newest state, which never changes."""
        yield View(self._state)

    def close(self) -> None:
        """Nothing to let go of."""


class _Draft(View):
    """A `Transaction`: a state that becomes the store's when it ends."""

    @property
    def state(self) -> State:
        """The state as the transaction leaves it."""
        return self._state

    def write(self, changes: Changes) -> None:
        self._state = self._state.changed(changes)

    def compact(self, space: SpaceName, subtree: Subtree, horizon: int) -> None:
        self._state = self._state.compacted(space, subtree, horizon)

    def forget_effects(self, before: datetime) -> None:
        self._state = self._state.without_effects(before)

    def erase_board(self, board: str) -> None:
        self._state = self._state.without_board(board)
