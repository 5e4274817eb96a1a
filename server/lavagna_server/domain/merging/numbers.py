"""Rules for numbers: exact until the end, then rounded once to a number that JSON holds.

A number is never folded from pair to pair, and integers stay integers wherever the result is one. How far a result agrees with a
claim is the ratio of the smaller to the larger of the two, 0 across zero: it does not depend on the unit. Of probabilities, which
lie between 0 and 1, it is what is left of 1 by their distance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.merging.odds import log_odds, probability_of
from lavagna_server.domain.merging.rounding import check_sum, written
from lavagna_server.domain.merging.testimonies import Position
from lavagna_server.domain.merging.voices import (
    AGREED,
    Outcome,
    Stance,
    ValueType,
    Voice,
    decimal,
    units_of,
    weight_of,
)
from lavagna_server.domain.merging.workings import listed, names, shown

NEAR = Decimal("0.9")
"""A claim agrees with a number when they are within a tenth of each other."""


_ROUNDED = Context(prec=40)
"""Enough for what is rounded to a float after."""


class Point(NamedTuple):
    """The claims of one number; 1 and 1.0 are one number."""

    decimal: Decimal
    units: int
    voices: Sequence[Voice]

    @property
    def number(self) -> Fraction:
        """The number, to reckon with."""
        return Fraction(self.decimal)

    @property
    def weight(self) -> Fraction:
        """What its claims weigh."""
        return weight_of(self.voices)


class Result(NamedTuple):
    """What a rule says, exactly, and how it came to it."""

    number: Fraction
    how: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to make one number of many."""

    label: str
    combine: Callable[[Sequence[Point]], Result]
    """From points in rising order, at least one."""
    is_probability: bool = False
    is_sum: bool = False


def combined(name: str, voices: Sequence[Voice]) -> Outcome:
    """What numbers come to by a rule.

    Raises:
        Invalid: A pool was claimed something that is no probability, or a sum is more than a number may be.
    """
    rule = RULES[name]
    points = _points(voices)
    if rule.is_probability:
        _check_probabilities(points)
    result = rule.combine(points)
    if rule.is_sum:
        check_sum(result.number, voices)
    value = written(result.number, voices)
    reached = decimal(value)

    def judge(voice: Voice) -> Stance:
        claimed = voice.number
        if claimed == reached:
            return AGREED
        if rule.is_sum:
            return Stance(Position.NEAR, 1.0)
        agreement = (_overlap if rule.is_probability else _ratio)(claimed, reached)
        position = Position.NEAR if agreement >= NEAR else Position.DISSENT
        return Stance(position, float(agreement))

    def working() -> Iterator[str]:
        yield from listed(_table(points))
        yield f"{result.how()} = {value}"

    return Outcome(value, ValueType.NUMBER, rule.label, judge, working, counts_heads=rule.is_sum)


def _mean(points: Sequence[Point]) -> Result:
    units, moment = _units(points), _moment(points)
    scale = points[0].voices[0].scale

    def how() -> str:
        weight = shown(Fraction(units, scale))
        return f"sum of weight x value {shown(moment / scale)} / weight {weight}"

    return Result(moment / units, how)


def _moment(points: Sequence[Point]) -> Fraction:
    """The sum of weight times number, in units."""
    numbers = [point.decimal.as_integer_ratio() for point in points]
    common = math.lcm(*(denominator for _, denominator in numbers))
    total = sum(
        point.units * numerator * (common // denominator)
        for point, (numerator, denominator) in zip(points, numbers, strict=True)
    )
    return Fraction(total, common)


def _units(points: Sequence[Point]) -> int:
    return sum(point.units for point in points)


def _median(points: Sequence[Point]) -> Result:
    """The lower weighted median: the least number that half of the weight does not exceed.

    It is always a number that was claimed, and an integer when those are. Where the weight is split evenly, every number of the gap
    is a median: the lower end is taken.
    """
    units, reached = _units(points), 0
    for point, following in zip(points, (*points[1:], None), strict=True):
        reached += point.units
        if 2 * reached >= units:
            account = partial(_median_account, point, following, reached, units)
            return Result(point.number, account)
    raise AssertionError("all points together have all the weight")


def _median_account(point: Point, following: Point | None, reached: int, units: int) -> str:
    scale = point.voices[0].scale
    number, total = shown(point.number), shown(Fraction(units, scale))
    if following is None or 2 * reached > units:
        below = shown(Fraction(reached, scale))
        return f"weight up to {number} is {below} of {total}, more than half: weighted median"
    other = shown(following.number)
    return f"a tie: half of weight {total} says {number} or less, half {other} or more: the lower"


def _least(points: Sequence[Point]) -> Result:
    return Result(points[0].number, lambda: "least")


def _greatest(points: Sequence[Point]) -> Result:
    return Result(points[-1].number, lambda: "greatest")


def _sum(points: Sequence[Point]) -> Result:
    heads = sum(len(point.voices) for point in points)
    total = _moment([point._replace(units=len(point.voices)) for point in points])
    return Result(total, lambda: f"sum of {heads} deltas, weights aside")


def _log_pool(points: Sequence[Point]) -> Result:
    """The normalised geometric mean of the odds (Genest and Zidek 1986), its weights made to sum to 1.

    Clipping never moves it out of the range of what was claimed.
    """
    mean = _moment([point._replace(decimal=log_odds(point.decimal)) for point in points])
    mean /= _units(points)
    pooled = min(max(probability_of(mean), points[0].number), points[-1].number)
    return Result(pooled, lambda: f"mean log odds {shown(mean)}: log pool")


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "mean": Rule("weighted-mean@1", _mean),
        "median": Rule("weighted-median@1", _median),
        "min": Rule("min@1", _least),
        "max": Rule("max@1", _greatest),
        "sum": Rule("sum@1", _sum, is_sum=True),
        "linear-pool": Rule("linear-pool@1", _mean, is_probability=True),  # Stone 1961
        "log-pool": Rule("log-pool@1", _log_pool, is_probability=True),
    }
)


def _points(voices: Sequence[Voice]) -> list[Point]:
    claims: defaultdict[Decimal, list[Voice]] = defaultdict(list)
    for voice in voices:
        claims[voice.number].append(voice)
    return [Point(number, units_of(claims[number]), claims[number]) for number in sorted(claims)]


def _check_probabilities(points: Sequence[Point]) -> None:
    for point in (points[0], points[-1]):
        if not 0 <= point.decimal <= 1:
            agent = min(voice.agent for voice in point.voices)
            raise Invalid(
                f"claims[{agent}].value",
                f"a probability is from 0 to 1, this is {shown(point.number)}",
            )


def _ratio(one: Decimal, other: Decimal) -> Decimal:
    if not one or not other or (one < 0) != (other < 0):
        return Decimal(0)
    smaller, larger = sorted((one.copy_abs(), other.copy_abs()))
    return _ROUNDED.divide(smaller, larger)


def _overlap(one: Decimal, other: Decimal) -> Decimal:
    return max(_ROUNDED.subtract(1, _ROUNDED.subtract(one, other).copy_abs()), Decimal(0))


def _table(points: Sequence[Point]) -> Iterator[str]:
    return (
        f"{shown(point.number)}: weight {shown(point.weight)} ({names(point.voices)})"
        for point in points
    )
