"""Named points of the write path at which a test can end the process, to prove what survives."""

from __future__ import annotations

from typing import Protocol


class Faults(Protocol):
    """Told when a named point is passed."""

    def at(self, point: str) -> None:
        """Called at `gathered`, `in_transaction`, `before_sync`, `after_sync`, `before_feed` and `acknowledged`."""
        ...


class NoFaults:
    """What a server runs with."""

    def at(self, point: str) -> None:
        """Does nothing."""
