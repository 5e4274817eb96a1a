"""The crew's terms of work: how long a lease lasts, and how often things are tried."""

from lavagna import Limits

WORK = Limits(lease_seconds=4.0, attempts_max=4, backoff_seconds=0.5)
"""A short lease, kept alive by heartbeats: who dies in the middle of work is replaced at once."""

GRACE_SECONDS = 2.0
"""How long an agent that is told to stop may go on with what it has begun."""

TRIES_MAX = 8
"""A task has failed for good when its attempts and the editions of its tests come to this many."""

ROUNDS_MAX = 3
"""How often the CEO looks at the whole program before its word is final."""

PROGRAMMERS = "programmers"
"""The team that shares the programmers' triggers."""
