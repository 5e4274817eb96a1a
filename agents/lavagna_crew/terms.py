"""The crew's terms of work: how long a lease lasts, and how often things are tried."""

from lavagna import Limits

WORK = Limits(lease_seconds=4.0, attempts_max=4, backoff_seconds=0.5, causal_depth_max=256)
"""A short lease, kept alive by heartbeats: who dies in the middle of work is replaced at once.

A chain of causes runs from the request through every task that builds on another one, and through
each of their repairs; `TRIES_MAX` and `ROUNDS_MAX` bound it, long before its depth does.
"""

GRACE_SECONDS = 2.0
"""How long an agent that is told to stop may go on with what it has begun."""

TRIES_MAX = 8
"""A task has failed for good when its attempts and the editions of its tests come to this many."""

DESIGNS_MAX = 3
"""How many designs are proposed before the CEO gives up on a crew that agrees on none."""

ROUNDS_MAX = 3
"""How often the CEO looks at the whole program before its word is final."""

PROGRAMMERS = "programmers"
"""The team that shares the programmers' triggers."""

NOTE_CHARACTERS_MAX = 1_000
BRIEF_CHARACTERS_MAX = 8_000
FAILURES_MAX = 6
FAILURE_CHARACTERS_MAX = 1_500
"""What conditions look at stays small, because looking at it has its price (and a limit)."""


def shortened(text: str) -> str:
    """A note of a model's, as long as a note should be."""
    return text if len(text) <= NOTE_CHARACTERS_MAX else f"{text[:NOTE_CHARACTERS_MAX]}…"
