"""Attempts: run a function on a piece of work, and settle the activation by what comes of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, cast

from lavagna.activations import Lease
from lavagna.errors import LavagnaError, LeaseLost
from lavagna.heartbeats import Heartbeats
from lavagna.registration import Function
from lavagna.views import View
from lavagna.work import Work

_GIVE_BACK_SECONDS = 2.0
"""How long a lease is tried to be given back, when everything is coming to an end."""

_REASON_BYTES_MAX = 4000

_log = logging.getLogger(__name__)


async def attempted(lease: Lease, function: Function, view: View, heartbeats: Heartbeats) -> None:
    """Runs the function under the lease, which is kept alive, and settles the activation.

    A mapping that it returns completes, an exception fails the attempt, a lost lease cancels it,
    and a cancellation from outside gives the lease back.
    """
    work = Work(lease, view)
    task = asyncio.current_task()
    assert task is not None

    def lose(reason: str) -> None:
        _log.warning("%s: the lease is lost: %s", lease.activation.id, reason)
        work.lost.set()
        task.cancel()

    with heartbeats.keeping(lease.token, lease.lease_seconds, lose):
        try:
            await _settled(work, await function(work))
        except asyncio.CancelledError as end:
            if not task.cancelling():
                # Nobody ended the attempt; the function awaited something that was cancelled.
                await _failed(work, end)
                return
            await _given_back(work)
            raise
        except LeaseLost as lost:
            work.lost.set()
            _log.warning("%s: %s", lease.activation.id, lost)
        except Exception as fault:  # noqa: BLE001 - whatever the function raises is told
            await _failed(work, fault)


def _mapping(result: object) -> Mapping[str, Any]:
    if result is None:
        return {}
    if isinstance(result, Mapping):
        return cast("Mapping[str, Any]", result)
    raise TypeError(
        "a function returns a mapping of keys to values, or nothing;"
        f" this one returned {type(result).__name__}"
    )


async def _settled(work: Work, result: object) -> None:
    if work.lost.is_set():
        return
    if not work.settled:
        await work.complete(_mapping(result))
    elif result:
        _log.warning("%s: settled before; what was returned is lost", work.activation.id)


async def _failed(work: Work, fault: BaseException) -> None:
    _log.error("%s: attempt %d failed", work.activation.id, work.attempt, exc_info=fault)
    if work.settled or work.lost.is_set():
        return
    try:
        await work.fail(reason_of(fault))
    except LavagnaError as unheard:
        # The lease ends by itself, and the activation is offered again then.
        _log.warning("%s: the failure could not be told: %s", work.activation.id, unheard)


async def _given_back(work: Work) -> None:
    if work.settled or work.lost.is_set():
        return
    try:
        async with asyncio.timeout(_GIVE_BACK_SECONDS):
            await work.release()
    except (LavagnaError, TimeoutError) as unheard:
        _log.info("%s: the lease could not be given back: %s", work.activation.id, unheard)


def reason_of(fault: BaseException) -> str:
    """The exception's type and text, as the reason of a failed attempt."""
    text = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
    kept = text.encode(errors="replace")[:_REASON_BYTES_MAX]
    return kept.decode(errors="ignore")
