"""Boards: one crew's workspace each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from lavagna_server.domain.errors import Invalid

_BOARD = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62})")

CASCADE_DEFAULT = 10_000


@dataclass(frozen=True, slots=True)
class Board:
    """A board and its settings."""

    name: str
    epoch: str
    display_name: str = ""
    cascade_max: int = CASCADE_DEFAULT
    """The most activations that may descend from one first cause (A8)."""
    rating_min: int = -(2**63)
    """Activations rated below this wait until they are rated higher."""
    version: int = 1
    created_at: datetime | None = None


def check_board_name(text: str, *, field: str) -> str:
    """The last part of a board's resource name, as given.

    Raises:
        Invalid: It is empty, longer than 63 characters, or has characters other than lower-case letters, digits and hyphens.
    """
    if not _BOARD.fullmatch(text):
        raise Invalid(
            field,
            "a board's name has 1 to 63 lower-case letters, digits and hyphens, and no hyphen first",
        )
    return text
