"""Registrations: which function works on what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lavagna.triggers import Trigger
from lavagna.work import Work

Function: TypeAlias = Callable[[Work], Awaitable[Mapping[str, Any] | None]]
"""What does the work.

Returning a mapping completes with it, returning nothing completes without a write, and raising
fails the attempt.
"""


@dataclass(frozen=True, slots=True)
class Registration:
    """A trigger, and the function that it wakes."""

    trigger: Trigger
    function: Function
