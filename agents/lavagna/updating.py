"""Updating: read, change, write, and again when somebody was faster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from inspect import isawaitable
from typing import TYPE_CHECKING

from lavagna.changes import Put
from lavagna.checks import INT32_MAX, checked_whole, refusal
from lavagna.conditions import Absent
from lavagna.entries import Entry, Written
from lavagna.errors import Conflict
from lavagna.retry import CONTENDED
from lavagna.values import Value

if TYPE_CHECKING:
    from lavagna.board import Board


async def updated(
    board: Board, key: str, change: Callable[[Value], Value], *, attempts: int
) -> Written:
    """Writes what `change` makes of the value, over nothing but the version that it was made from.

    Raises:
        Conflict: Somebody was faster at every attempt.
        Invalid: `change` is no function, or `attempts` no number from 1.
    """
    if not callable(change):
        raise refusal(change, field="change", expected="a function of the value")
    checked_whole(attempts, field="attempts", least=1, most=INT32_MAX)
    for wait in replace(CONTENDED, attempts_max=attempts).waits():
        try:
            return await _written(board, key, await board.find(key), change)
        except Conflict:
            await asyncio.sleep(wait)
    return await _written(board, key, await board.find(key), change)


async def _written(
    board: Board, key: str, entry: Entry | None, change: Callable[[Value], Value]
) -> Written:
    value = change(None if entry is None else entry.value)
    if isawaitable(value):
        value = await value
    if entry is not None:
        return await board.put(key, value, expected_version=entry.version)
    committed = await board.commit(Put(key, value), conditions=[Absent(key)])
    return committed.results[0]
