"""Registrations: which function works on what."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from lavagna.triggers import Trigger
from lavagna.work import Work

Function: TypeAlias = Callable[[Work], Awaitable[Mapping[str, Any] | None]]
"""What does the work.

Returning a mapping completes with it, returning nothing completes without a write, and raising
fails the attempt.
"""


Asynchronous = TypeVar("Asynchronous", bound=Callable[[Work], Awaitable[Any]])


def checked_function(function: Asynchronous) -> Asynchronous:
    """The same function, once it is known that calling it gives something to await.

    Raises:
        TypeError: It is no coroutine function, so each of its attempts would fail.
    """
    called = inspect.unwrap(function)
    calls = (called, getattr(called, "__call__", None))  # noqa: B004 - looked at, not called
    if not any(inspect.iscoroutinefunction(each) for each in calls):
        name = getattr(function, "__name__", None) or repr(function)
        raise TypeError(
            f"{name} is not a coroutine function; write `async def {name}(work)`,"
            " and give what blocks to `asyncio.to_thread`"
        )
    return function


@dataclass(frozen=True, slots=True)
class Registration:
    """A trigger, and the function that it wakes."""

    trigger: Trigger
    function: Function
