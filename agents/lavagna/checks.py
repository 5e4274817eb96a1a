"""Checks: what a program gives the SDK is what it has to be, or is refused before anything is sent.

Each gives the value back, fit for the wire, or raises `Invalid` with the name of the argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from operator import index
from typing import Any, TypeVar

from lavagna.errors import Invalid

INT32_MAX = 2**31 - 1
"""The most that the wire holds of what is counted in small numbers."""
INT64_MAX = 2**63 - 1

Choice = TypeVar("Choice", bound=StrEnum)
Number = TypeVar("Number")
Checked = TypeVar("Checked")


def checked_text(text: str, *, field: str) -> str:
    """The same text, once it is known that the wire can carry it.

    Raises:
        Invalid: It is not text, or holds a lone surrogate.
    """
    checked_type(text, str, field=field, expected="text")
    try:
        text.encode()
    except UnicodeEncodeError as unfit:
        raise Invalid.field(field, f"not Unicode text: {unfit.reason}") from unfit
    return text


def checked_texts(texts: Iterable[str], *, field: str) -> list[str]:
    """The same texts; one text alone is not taken for a list of its letters.

    Raises:
        Invalid: It is no list, or one of them is not text that the wire can carry.
    """
    several = checked_several(texts, field=field, expected="a list of texts")
    return [checked_text(text, field=f"{field}[{at}]") for at, text in enumerate(several)]


def checked_several(
    items: Iterable[Checked], *, field: str, expected: str = "a list"
) -> Iterator[Checked]:
    """What the list holds.

    Raises:
        Invalid: It is no list, and neither is anything else that has items.
    """
    if isinstance(items, str | bytes | bytearray) or not _is_iterable(items):
        raise refusal(items, field=field, expected=expected)
    return iter(items)


def checked_count(number: int, *, field: str, most: int = INT64_MAX) -> int:
    """The same number, once it is known to be a whole one from 0 to what the wire can carry.

    Raises:
        Invalid: It is no whole number, negative or too large.
    """
    return checked_whole(number, field=field, least=0, most=most)


def checked_revision(revision: int, *, field: str) -> int:
    """The same revision, once it is known to be one.

    Raises:
        Invalid: Revisions are whole numbers from 1.
    """
    return checked_whole(revision, field=field, least=1, most=INT64_MAX)


def checked_whole(number: int, *, field: str, least: int, most: int) -> int:
    """The same number, once it is known to be a whole one within these bounds.

    Raises:
        Invalid: It is not.
    """
    expected = f"a whole number from {least} to {most}"
    if isinstance(number, bool):
        raise refusal(number, field=field, expected=expected)
    try:
        whole = index(number)
    except TypeError:
        raise refusal(number, field=field, expected=expected) from None
    if not least <= whole <= most:
        raise Invalid.field(field, f"{whole} is not {expected}")
    return whole


def checked_number(number: float, *, field: str) -> float:
    """The same number, once it is known to be one and finite.

    Raises:
        Invalid: It is not.
    """
    try:
        finite = math.isfinite(number) and not isinstance(number, bool)
    except (TypeError, OverflowError):
        finite = False
    if not finite:
        raise refusal(number, field=field, expected="a finite number")
    return float(number)


def checked_flag(flag: bool, *, field: str) -> bool:
    """The same flag.

    Raises:
        Invalid: It is neither True nor False; what is merely truthy may be a mistake.
    """
    checked_type(flag, bool, field=field, expected="True or False")
    return flag


def checked_choice(choice: object, numbers: Mapping[Choice, Number], *, field: str) -> Number:
    """The number that the wire has for one of several words.

    Raises:
        Invalid: It is none of them.
    """
    if isinstance(choice, str):
        for word, number in numbers.items():
            if word == choice:
                return number
    expected = f"one of {', '.join(numbers)}"
    if isinstance(choice, str):
        raise Invalid.field(field, f"expected {expected}, not {str(choice)!r}")
    raise refusal(choice, field=field, expected=expected)


def checked_type(
    given: Any, kind: type | tuple[type, ...], *, field: str, expected: str = ""
) -> None:
    """Nothing, when what is given is of the kind.

    Raises:
        Invalid: It is not.
    """
    if not isinstance(given, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise refusal(given, field=field, expected=expected or " or ".join(_names(kinds)))


def refusal(given: Any, *, field: str, expected: str) -> Invalid:
    """The error for what was given in the place of something else.

    Only numbers are shown; what else stands in the wrong place may be a secret.
    """
    shown = f"{given!r} ({type(given).__name__})" if _is_number(given) else type(given).__name__
    return Invalid.field(field, f"expected {expected}, not {shown}")


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float)


def _is_iterable(given: Any) -> bool:
    return isinstance(given, Iterable)


def _names(kinds: tuple[type, ...]) -> Iterator[str]:
    for kind in kinds:
        yield f"an {kind.__name__}" if kind.__name__[0] in "AEIOU" else f"a {kind.__name__}"
