"""Retry: how often and how long a call is tried again while the server cannot be reached."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from lavagna.checks import INT32_MAX, checked_whole
from lavagna.times import seconds


@dataclass(frozen=True, slots=True)
class Retry:
    """Bounds on trying again, with waits that double and are drawn at random below that.

    The draw is over the whole wait ("full jitter"), so that callers who failed together do not
    come back together.
    """

    attempts_max: int = 8
    """How often a call is made at most, the first time counted."""
    first_seconds: float = 0.1
    """The longest wait before the second attempt."""
    most_seconds: float = 3.0
    """The longest wait before any attempt."""

    def __post_init__(self) -> None:
        checked_whole(self.attempts_max, field="attempts_max", least=1, most=INT32_MAX)
        for field in ("first_seconds", "most_seconds"):
            seconds(getattr(self, field), field=field)

    def waits(self) -> Iterator[float]:
        """One wait in seconds before each further attempt."""
        for attempt in range(self.attempts_max - 1):
            yield self.wait(attempt)

    def wait(self, failures: int) -> float:
        """A wait in seconds after `failures` more failures than the first."""
        # Doubling is capped before the power is taken, so that it cannot overflow.
        ceiling = min(self.most_seconds, self.first_seconds * 2 ** min(failures, 32))
        return random.uniform(0, ceiling)  # noqa: S311 - spreads load, hides nothing


PATIENT = Retry(attempts_max=60)
"""For what must not be lost over a restart of the server: about a minute and a half of trying."""

CONTENDED = Retry(attempts_max=100, first_seconds=0.01, most_seconds=1.0)
"""For writers that race for one key; a lost race costs one round trip, so waits are short.

Among fifty that never pause, on a machine that is busy, the unluckiest needs some fifty attempts.
"""
