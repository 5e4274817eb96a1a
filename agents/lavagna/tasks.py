"""Tasks: end them, and let a block of code share the fate of one."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any


async def ended(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels the tasks and waits until they are gone; what they raised stays with them."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def sharing_fate(task: asyncio.Task[Any]) -> Generator[None]:
    """Cancels the block when the task fails, and raises what the task raised in its place."""
    block = asyncio.current_task()
    assert block is not None
    fault: BaseException | None = None

    def end(_: asyncio.Task[Any]) -> None:
        nonlocal fault
        if not task.cancelled() and task.exception() is not None:
            fault = task.exception()
            block.cancel()

    task.add_done_callback(end)
    try:
        yield
    except asyncio.CancelledError:
        # Somebody else may have cancelled the block as well; then that comes first.
        if fault is None or block.uncancel() > 0:
            raise
        raise fault from None
    finally:
        task.remove_done_callback(end)
