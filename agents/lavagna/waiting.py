"""Waiting: until a condition holds for an entry of a board."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lavagna.checks import checked_text, checked_texts
from lavagna.commits import Commit, Target
from lavagna.entries import Kind, kind_number
from lavagna.errors import Compacted, NotInTime
from lavagna.times import Seconds, seconds
from lavagna.triggers import Evaluation, Source, Trial, Trigger, Verdict

if TYPE_CHECKING:
    from lavagna.board import Board

_LOOKED_AT_MAX = 100
"""How many entries the server looks at when no key is named."""

_log = logging.getLogger(__name__)


async def wait_until(
    board: Board,
    when: str,
    *,
    on: str,
    reads: Sequence[str],
    limit: Seconds | None,
    kind: Kind,
) -> Evaluation:
    """What made the condition hold, now or at the first later revision at which it does.

    Raises:
        NotInTime: It did not hold in time; says why not, as of the last look.
    """
    looks = _Looks(
        board,
        checked_text(when, field="when"),
        checked_text(on, field="on"),
        checked_texts(reads, field="reads"),
        kind,
    )
    kind_number(kind)
    limit_seconds = None if limit is None else seconds(limit, field="timeout")
    try:
        async with asyncio.timeout(limit_seconds):
            return await _found(looks)
    except TimeoutError:
        why_not = f"the condition did not hold within {limit_seconds} s{looks.why_not}"
        raise NotInTime(why_not) from None


async def _found(looks: _Looks) -> Evaluation:
    trial = await looks.at(None)
    found = _holding(trial) or await _held_already(looks, trial)
    if found is not None:
        return found
    _log.debug("%s waits from revision %d on", looks.board.name, trial.revision)
    on = Target(looks.on, kinds=[looks.kind])
    async with looks.board.watch(on, *looks.reads, after=trial.revision) as watch:
        async for commit in watch:
            found = await _held_at(looks, commit)
            if found is not None:
                return found
    raise AssertionError("a watch that is not closed does not end")


@dataclass
class _Looks:
    """Looks at the condition, at one revision after the other."""

    board: Board
    when: str
    on: str
    reads: Sequence[str]
    kind: Kind
    why_not: str = ""
    """Why it did not hold when it was last looked at, as the end of a sentence."""

    async def at(self, revision: int | None, *, key: str = "") -> Trial:
        """What the condition comes to at a revision, for one entry or for all."""
        trigger = Trigger(
            id="",
            on=[Source(self.on, kinds=[self.kind])],
            reads=self.reads,
            when=self.when,
            space=self.board.space,
            own_writes=True,
        )
        trial = await self.board.triggers.try_(trigger, at=revision, key=key)
        reasons = (each.reason for each in trial.evaluations if each.verdict is Verdict.ERROR)
        reason = next(reasons, "")
        self.why_not = f"; it could not be evaluated: {reason}" if reason else ""
        return trial


async def _held_already(looks: _Looks, trial: Trial) -> Evaluation | None:
    """Looks at every entry one by one, where there are too many to look at them all at once."""
    if len(trial.evaluations) < _LOOKED_AT_MAX:
        return None
    entries = looks.board.entries(looks.on, at=trial.revision, keys_only=True, kind=looks.kind)
    return await _held_for(looks, trial.revision, [entry.key async for entry in entries])


async def _held_at(looks: _Looks, commit: Commit) -> Evaluation | None:
    try:
        trial = await looks.at(commit.revision)
    except Compacted:
        # Its history is gone already; what holds now is the best that can still be known.
        trial = await looks.at(None)
    found = _holding(trial)
    if found is not None or len(trial.evaluations) < _LOOKED_AT_MAX:
        return found
    if looks.reads:
        return await _held_already(looks, trial)
    # Where it reads nothing else, it can only have begun to hold for what was changed.
    return await _held_for(looks, commit.revision, [entry.key for entry in commit.entries])


async def _held_for(looks: _Looks, revision: int, keys: Sequence[str]) -> Evaluation | None:
    for key in keys:
        found = _holding(await looks.at(revision, key=key))
        if found is not None:
            return found
    return None


def _holding(trial: Trial) -> Evaluation | None:
    if not trial.would_fire:
        return None
    holding = (each for each in trial.evaluations if each.verdict is Verdict.TRUE)
    return next(holding, None)
