"""Gates: how many calls of one class may be under way at once.

Counted apart, so that a thousand open watches leave room for commits. gRPC's own bound counts open streams like any other call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lavagna_server.domain.errors import Exhausted
from lavagna_server.rpc.access import Work

RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Room:
    """How many calls of each class may be under way at once."""

    reads: int = 10_000
    writes: int = 10_000
    waits: int = 10_000
    streams: int = 20_000


class Gate:
    """Lets calls of one class in while there is room."""

    def __init__(self, work: Work, maximum: int) -> None:
        self._work, self._maximum = work, maximum
        self._inside = 0

    def enter(self) -> None:
        """One more call is under way. Raises `Exhausted` when there is no room; then it is not."""
        if self._inside >= self._maximum:
            raise Exhausted(
                f"{self._work.value} at once",
                maximum=self._maximum,
                subject="this server",
                retry_seconds=RETRY_SECONDS,
            )
        self._inside += 1

    def leave(self) -> None:
        """One call is over."""
        self._inside -= 1


def gates(room: Room) -> Mapping[Work, Gate]:
    """A gate for each class of work."""
    return {work: Gate(work, getattr(room, work.value)) for work in Work}
