"""Quotas: how much one agent may ask of the server, so that a greedy one harms itself first."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.errors import Exhausted
from lavagna_server.domain.limits import Limits

BUCKETS_MAX = 10_000


@dataclass(slots=True)
class _Bucket:
    """A token bucket: refills at a rate, holds one second's worth."""

    left: float
    filled_at: float


class Quotas:
    """Counts what agents use, per board and agent, on this server."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buckets: dict[tuple[str, str, str], _Bucket] = {}
        self._streams: Counter[tuple[str, str]] = Counter()

    def charge(self, caller: Caller, *, mutations: int, value_bytes: int) -> None:
        """Takes from the caller's quotas.

        Raises:
            Exhausted: Naming the quota, its limit, and when to try again.
        """
        self._take(caller, "commits_per_second_max", self._limits.commits_per_second_max, mutations)
        if value_bytes:
            self._take(
                caller, "bytes_per_second_max", self._limits.bytes_per_second_max, value_bytes
            )

    def _take(self, caller: Caller, quota: str, rate: int, amount: int) -> None:
        now = time.monotonic()
        if len(self._buckets) > BUCKETS_MAX:
            # A bucket that has rested for a second is full again: as good as none.
            self._buckets = {
                key: each for key, each in self._buckets.items() if now - each.filled_at < 1
            }
        bucket = self._buckets.setdefault((caller.board, caller.agent, quota), _Bucket(rate, now))
        bucket.left = min(rate, bucket.left + (now - bucket.filled_at) * rate)
        bucket.filled_at = now
        if bucket.left < min(amount, rate):
            wait = (min(amount, rate) - bucket.left) / rate
            raise Exhausted(quota, maximum=rate, subject=caller.agent, retry_seconds=wait)
        bucket.left -= amount

    @contextmanager
    def stream(self, caller: Caller) -> Generator[None]:
        """Counts an open stream for as long as the block lasts.

        Raises:
            Exhausted: The caller holds too many open.
        """
        key = (caller.board, caller.agent)
        maximum = self._limits.watches_per_agent_max
        if self._streams[key] >= maximum:
            raise Exhausted("watches_per_agent_max", maximum=maximum, subject=caller.agent)
        self._streams[key] += 1
        try:
            yield
        finally:
            self._streams[key] -= 1
            if not self._streams[key]:
                del self._streams[key]
