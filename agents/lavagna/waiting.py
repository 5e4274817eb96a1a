"""Waiting: until a condition holds for an entry of a board."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lavagna.commits import Commit
from lavagna.entries import Entry
from lavagna.errors import Compacted
from lavagna.times import Seconds, seconds
from lavagna.triggers import Evaluation, Trial, Trigger, Verdict

if TYPE_CHECKING:
    from lavagna.board import Board

_LOOKED_AT_MAX = 100
"""How many entries the server looks at when no key is named."""

_BINDING = re.compile(r"\{[^{}/]*\}")


async def wait_until(
    board: Board, when: str, *, on: str, reads: Sequence[str], limit: Seconds | None
) -> Evaluation:
    """What made the condition hold, now or at the first later revision at which it does.

    Raises:
        TimeoutError: It did not hold in time.
    """
    trigger = Trigger(
        id="", on=(on,), reads=tuple(reads), when=when, space=board.space, own_writes=True
    )
    async with asyncio.timeout(None if limit is None else seconds(limit)):
        trial = await board.triggers.try_(trigger)
        found = _holding(trial)
        if found is not None:
            return found
        # A bound segment may stand for anything, and a watch only asks what was touched.
        patterns = {_BINDING.sub("*", pattern) for pattern in (on, *reads)}
        async with board.watch(*sorted(patterns), after=trial.revision) as watch:
            async for commit in watch:
                found = await _held_at(board, trigger, commit)
                if found is not None:
                    return found
    raise AssertionError("a watch that is not closed does not end")


async def _held_at(board: Board, trigger: Trigger, commit: Commit) -> Evaluation | None:
    trial = await _tried(board, trigger, commit)
    found = _holding(trial)
    if found is not None or len(trial.evaluations) < _LOOKED_AT_MAX:
        return found
    return await _held_for(board, trigger, commit.entries)


async def _held_for(board: Board, trigger: Trigger, entries: Sequence[Entry]) -> Evaluation | None:
    """Looks at the changed entries one by one, where there are too many to look at them all."""
    for entry in entries:
        trial = await board.triggers.try_(trigger, at=entry.revision, key=entry.key)
        found = _holding(trial)
        if found is not None:
            return found
    return None


async def _tried(board: Board, trigger: Trigger, commit: Commit) -> Trial:
    try:
        return await board.triggers.try_(trigger, at=commit.revision)
    except Compacted:
        # Its history is gone already; what holds now is the best that can still be known.
        return await board.triggers.try_(trigger)


def _holding(trial: Trial) -> Evaluation | None:
    if not trial.would_fire:
        return None
    holding = (each for each in trial.evaluations if each.verdict is Verdict.TRUE)
    return next(holding, None)
