"""How long a model is waited for, and how often it is asked again."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Patience:
    """The bounds on waiting for one reply."""

    attempts_max: int = 5
    """How often one question is asked while the model is busy, broken or out of reach."""
    first_wait_seconds: float = 0.5
    """The bound on the first wait; it doubles with each further one."""
    wait_seconds_max: float = 30.0
    """The longest wait; a model that asks for a longer one is given up at once."""
    silence_seconds_max: float = 90.0
    """How long a model may say nothing before it counts as gone."""
    reply_seconds_max: float = 600.0
    """How long a reply may take, with everything."""

    def wait_seconds(self, attempt: int, *, told: float | None, chance: random.Random) -> float:
        """The wait after this attempt, counted from 1: a random part of a growing bound.

        All of the growing bound is random, so that many agents that were refused together do not
        come back together. It is never less than what the model told us to wait.
        """
        bound = min(self.wait_seconds_max, self.first_wait_seconds * 2.0 ** (attempt - 1))
        return (told or 0.0) + chance.uniform(0.0, bound)


def told_to_wait(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """The seconds that a response asks to wait: `retry-after-ms`, or `Retry-After` in either form.

    Header names are looked up in lower case, as the mappings of HTTP libraries allow.
    """
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(milliseconds) / 1000)
        if (value := headers.get("retry-after")) is None:
            return None
        if value.strip().isdigit():
            return float(value)
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.astimezone(UTC) - now).total_seconds())
