"""Faults that a test plants from outside, to prove what survives: `LAVAGNA_FAULT=point:count` in the environment."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

from lavagna_server.domain.errors import StartRefused
from lavagna_server.ports.faults import Faults, NoFaults

FAULT_VARIABLE = "LAVAGNA_FAULT"
POINTS = (
    "gathered",
    "in_transaction",
    "before_sync",
    "after_sync",
    "before_feed",
    "acknowledged",
)
"""The points of the write path, in the order in which a group passes them."""


class KilledAt:
    """Ends this process, as `kill -9` would, when it passes a point for the n-th time after `begin`."""

    def __init__(self, point: str, count: int) -> None:
        self._point, self._left = point, count
        self._counts = False

    def begin(self) -> None:
        """The server is up: what it did to get there does not count."""
        self._counts = True

    def at(self, point: str) -> None:
        if not self._counts or point != self._point:
            return
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def planted(environ: Mapping[str, str] = os.environ) -> Faults:
    """The fault that the environment asks for, and none when it does not.

    Raises:
        StartRefused: It asks for a point that there is not, or for a count that is no number.
    """
    asked = environ.get(FAULT_VARIABLE, "")
    if not asked:
        return NoFaults()
    point, _, count = asked.partition(":")
    if point not in POINTS or not count.isdecimal() or int(count) < 1:
        raise StartRefused(
            f"{FAULT_VARIABLE}: {asked!r} is not POINT:COUNT with a point of {', '.join(POINTS)}"
        )
    return KilledAt(point, int(count))
