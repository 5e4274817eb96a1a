"""Deaths: where and after how much work the lives of a server end, and one life up to its end."""

from __future__ import annotations

import random
from typing import Protocol

from lavagna_server.faults import POINTS
from tests.faults.lives import Server

ANYWHERE = "anywhere"
"""In place of a point of the write path: killed from outside."""
GROUPS_MAX = 20
"""After how many groups a life ends at the latest."""


class Work(Protocol):
    """What goes on while a server lives."""

    async def progress(self, acknowledged: int, /) -> None:
        """Waits until so much more was acknowledged."""
        ...


def deaths(count: int, *, seed: int) -> list[tuple[str, int]]:
    """Where and after how many groups each life ends: every point about as often, in any order."""
    draw = random.Random(seed)  # the same deaths each time, so that a failure can be repeated
    points = [(*POINTS, ANYWHERE)[number % (len(POINTS) + 1)] for number in range(count)]
    draw.shuffle(points)
    return [(point, draw.randint(1, GROUPS_MAX)) for point in points]


async def died(server: Server, work: Work, point: str, groups: int) -> int:
    """One life, up to how it ended."""
    if point == ANYWHERE:
        life = await server.start()
        await work.progress(groups)
        return await life.kill()
    life = await server.start_to_die(point, groups)
    return await life.end()
