"""Waiting for something on behalf of a caller: ends with the caller's session, and with the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from lavagna_server.domain.errors import Unauthenticated
from lavagna_server.engine.identity import Session

T = TypeVar("T")


async def while_valid(work: Coroutine[Any, Any, T], session: Session) -> T:
    """What `work` gives; it is given up when the session ends first.

    Raises:
        Unauthenticated: The session ended.
    """
    task, ended = asyncio.ensure_future(work), asyncio.ensure_future(session.ended.wait())
    try:
        await asyncio.wait((task, ended), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Unauthenticated("the token was revoked or replaced while the call waited")
        return task.result()
    finally:
        task.cancel()
        ended.cancel()
        await asyncio.gather(task, ended, return_exceptions=True)


@asynccontextmanager
async def either(one: asyncio.Event, other: asyncio.Event) -> AsyncGenerator[asyncio.Event, None]:
    """An event that is set as soon as one of the two is."""
    any_set = asyncio.Event()
    tasks = [asyncio.ensure_future(event.wait()) for event in (one, other)]
    for task in tasks:
        task.add_done_callback(lambda _: any_set.set())
    try:
        yield any_set
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
