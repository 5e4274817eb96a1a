"""Boards: the workspaces on one server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """One crew's workspace, as the server keeps it."""

    id: str
    """The name of the board."""
    display_name: str
    """A title for people."""
    epoch: str
    """Changes when the board is restored from a backup."""
    cascade_max: int
    """The most activations that may descend from one first cause; 0 means 10,000."""
    rating_min: int | None
    """Activations rated below this wait until they are rated higher; None when none wait for that."""
    version: int
    """Counts the changes of these settings."""
    created_at: datetime
