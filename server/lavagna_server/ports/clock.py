"""The one clock that judges leases, expiry and schedules (A5)."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time, in UTC, and waits for it."""

    def now(self) -> datetime:
        """The time, with a zone."""
        ...

    async def sleep_until(self, moment: datetime) -> None:
        """Returns when `now()` has reached `moment`."""
        ...
