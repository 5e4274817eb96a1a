"""Damage: what is stored cannot be read, or is not what a server wrote."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from lavagna_server.domain.errors import BoardError, StorageFailed

P = ParamSpec("P")
T = TypeVar("T")

RESTORE = "restore a backup"

_MISREAD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Rows that no server wrote fail in as many ways as there are columns."""


class NotReadable(StorageFailed):
    """The storage refuses to be read."""

    def __init__(self, why: str) -> None:
        BoardError.__init__(self, why)


class Damaged(NotReadable):
    """What is stored is not what a server wrote; trying again does not help."""

    def __init__(self, what: str, remedy: str = RESTORE) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what, self.remedy = what, remedy


def of_row(read: Callable[P, T]) -> Callable[P, T]:
    """Lets what reads a row say `Damaged` where that fails."""

    @wraps(read)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except _MISREAD as error:
            raise Damaged(f"the database is damaged ({type(error).__name__})") from error

    return checked
