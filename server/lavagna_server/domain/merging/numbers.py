"""Rules for numbers: exact until the end, then rounded once to a number that JSON holds.

A number is never folded from pair to pair, and integers stay integers wherever the result is one. How far a result agrees with a
claim is the ratio of the smaller to the larger of the two, 0 across zero: it does not depend on the unit. Of probabilities, which
lie between 0 and 1, it is what is left of 1 by their distance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    exact,
    weight_of,
)
from lavagna_server.domain.merging.workings import listed, names, shown

NEAR = Fraction(9, 10)
"""A claim agrees with a number when they are within a tenth of each other."""


class Point(NamedTuple):
    """The claims of one number; 1 and 1.0 are one number."""

    number: Fraction
    weight: Fraction
    voices: Sequence[Voice]


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
    reached = exact(value)

    def judge(voice: Voice) -> Stance:
        claimed = voice.number
        if claimed == reached:
            return AGREED
        if rule.is_sum:
            return Stance(Position.NEAR, Fraction(1))
        agreement = (
            max(1 - abs(claimed - reached), Fraction(0))
            if rule.is_probability
            else _ratio(claimed, reached)
        )
        return Stance(Position.NEAR if agreement >= NEAR else Position.DISSENT, agreement)

    def working() -> Iterator[str]:
        yield from listed(_table(points))
        yield f"{result.how()} = {value}"

    return Outcome(value, ValueType.NUMBER, rule.label, judge, working, counts_heads=rule.is_sum)


def _mean(points: Sequence[Point]) -> Result:
    weight = sum((point.weight for point in points), Fraction(0))
    moment = sum((point.weight * point.number for point in points), Fraction(0))
    return Result(
        moment / weight,
        lambda: f"sum of weight x value {shown(moment)} / weight {shown(weight)}",
    )


def _median(points: Sequence[Point]) -> Result:
    """The lower weighted median: the least number that half of the weight does not exceed.

    It is always a number that was claimed, and an integer when those are. Where the weight is split evenly, every number of the gap
    is a median: the lower end is taken.
    """
    weight, reached = sum((point.weight for point in points), Fraction(0)), Fraction(0)
    for point, following in zip(points, (*points[1:], None), strict=True):
        reached += point.weight
        if 2 * reached >= weight:
            return Result(point.number, partial(_median_account, point, following, reached, weight))
    raise AssertionError("all points together have all the weight")


def _median_account(
    point: Point, following: Point | None, reached: Fraction, weight: Fraction
) -> str:
    number, total = shown(point.number), shown(weight)
    if following is None or 2 * reached > weight:
        return (
            f"weight up to {number} is {shown(reached)} of {total}, more than half: weighted median"
        )
    other = shown(following.number)
    return f"a tie: half of weight {total} says {number} or less, half {other} or more: the lower"


def _least(points: Sequence[Point]) -> Result:
    return Result(points[0].number, lambda: "least")


def _greatest(points: Sequence[Point]) -> Result:
    return Result(points[-1].number, lambda: "greatest")


def _sum(points: Sequence[Point]) -> Result:
    heads = sum(len(point.voices) for point in points)
    total = sum((len(point.voices) * point.number for point in points), Fraction(0))
    return Result(total, lambda: f"sum of {heads} deltas, weights aside")


def _log_pool(points: Sequence[Point]) -> Result:
    """The normalised geometric mean of the odds (Genest and Zidek 1986), its weights made to sum to 1.

    Clipping never moves it out of the range of what was claimed.
    """
    weight = sum((point.weight for point in points), Fraction(0))
    mean = sum((point.weight * log_odds(point.number) for point in points), Fraction(0)) / weight
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
    claims: defaultdict[Fraction, list[Voice]] = defaultdict(list)
    for voice in voices:
        claims[voice.number].append(voice)
    return [Point(number, weight_of(claims[number]), claims[number]) for number in sorted(claims)]


def _check_probabilities(points: Sequence[Point]) -> None:
    for point in (points[0], points[-1]):
        if not 0 <= point.number <= 1:
            agent = min(voice.agent for voice in point.voices)
            raise Invalid(
                f"claims[{agent}].value",
                f"a probability is from 0 to 1, this is {shown(point.number)}",
            )


def _ratio(one: Fraction, other: Fraction) -> Fraction:
    if one * other <= 0:
        return Fraction(0)
    smaller, larger = sorted((abs(one), abs(other)))
    return smaller / larger


def _table(points: Sequence[Point]) -> Iterator[str]:
    return (
        f"{shown(point.number)}: weight {shown(point.weight)} ({names(point.voices)})"
        for point in points
    )
