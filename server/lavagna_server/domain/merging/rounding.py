"""From an exact number to one that JSON holds, rounding once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import MAXIMUM_INTEGER
from lavagna_server.domain.merging.voices import Voice, decimal
from lavagna_server.domain.merging.workings import shown

FLOAT_INTEGER_MAX = 2**53
"""Up to here every integer is a float."""
FLOAT_MAX = Fraction(sys.float_info.max)


def written(number: Fraction, voices: Sequence[Voice]) -> int | float:
    """The number as JSON will hold it: as a claim spells it where one says just that, the integer first."""
    integers = [voice for voice in voices if isinstance(voice.value, int)]
    rounded = _rounded(number, has_integers=bool(integers))
    reached = decimal(rounded)
    spelled = [voice for voice in voices if voice.number == reached]
    if spelled:
        first = min(
            spelled,
            key=lambda each: (isinstance(each.value, float), len(each.spelling), each.spelling),
        )
        assert isinstance(first.value, int | float)
        return first.value
    if reached == reached.to_integral_value() and len(integers) == len(voices):
        return int(reached)
    return rounded


def check_sum(number: Fraction, voices: Sequence[Voice]) -> None:
    """Checks that a sum is a number that JSON holds.

    Raises:
        Invalid: Integers add up to more than 64 bits, or numbers to more than a float.
    """
    of_integers = all(isinstance(voice.value, int) for voice in voices)
    if of_integers and not _is_integer_sized(number):
        raise Invalid("claims", f"their sum {shown(number)} does not fit in 64 bits")
    if abs(number) > FLOAT_MAX:
        raise Invalid("claims", f"their sum {shown(number)} is beyond what a 64-bit float holds")


def _rounded(number: Fraction, *, has_integers: bool) -> int | float:
    """The nearest number that the claims could have said: a float, or an integer where those are finer.

    What was claimed is never rounded away from itself, so rounding leaves no number outside of the claims' range.
    """
    if has_integers and abs(number) >= FLOAT_INTEGER_MAX and _is_integer_sized(round(number)):
        return round(number)
    return float(number)


def _is_integer_sized(number: Fraction | int) -> bool:
    return -MAXIMUM_INTEGER - 1 <= number <= MAXIMUM_INTEGER
