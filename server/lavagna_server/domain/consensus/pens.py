"""What every entry of one commit has in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lavagna_server.domain.entries import Cause


@dataclass(frozen=True, slots=True)
class Pen:
    """The hand that writes a commit: when, as whom, and why."""

    revision: int
    at: datetime
    author: str
    """Empty for the server's own doing."""
    cause: Cause | None
