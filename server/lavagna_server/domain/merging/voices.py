"""Claims made ready for arithmetic: decoded and exact.

Numbers, weights and confidences are read as the decimals that JSON writes, so that 0.1 and 0.2 weigh exactly as much as 0.3.
Sums are exact and round once, at their end: no result can depend on the order of the claims. Weights are whole multiples of one unit,
so that adding up many costs little.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeAlias

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.merging.testimonies import Position, Testimony
from lavagna_server.domain.values import Form, Json, Value

Content: TypeAlias = "Json | bytes"


class ValueType(Enum):
    """What a rule may be chosen for."""

    NUMBER = "number"
    CATEGORY = "category"
    """A JSON string, true, false or null."""
    COLLECTION = "collection"
    """A JSON array, taken as a set."""
    RECORD = "record"
    """A JSON object."""
    TEXT = "text"
    DATA = "data"

    @property
    def form(self) -> Form:
        """How a value of this type is written."""
        if self is ValueType.TEXT:
            return Form.TEXT
        return Form.DATA if self is ValueType.DATA else Form.JSON


@dataclass(frozen=True)
class Voice:
    """A claim, or what a claim says of one field."""

    agent: str
    units: int
    """How much it weighs, in units of which one weight has `scale`: the same for all claims of a merge."""
    scale: int
    confidence: Decimal
    value: Content
    type: ValueType

    @property
    def weight(self) -> Fraction:
        """How much it weighs."""
        return Fraction(self.units, self.scale)

    @cached_property
    def spelling(self) -> str:
        """The value as canonical text: two values are the same if this is. Computed late, because records need it of their leaves only."""
        if isinstance(self.value, bytes):
            return self.value.decode("latin-1")
        if self.type is ValueType.TEXT:
            assert isinstance(self.value, str)
            return self.value
        return canonical(self.value)

    @property
    def number(self) -> Decimal:
        """The number that is claimed, exactly."""
        assert isinstance(self.value, int | float)
        return decimal(self.value)

    @cached_property
    def identity(self) -> tuple[str, str]:
        """Tells values apart, and orders them where a choice must not depend on who claims them."""
        return self.spelling, self.type.form.value

    @cached_property
    def fields(self) -> Mapping[str, Voice]:
        """What the claim says of each field of an object."""
        assert isinstance(self.value, dict)
        return {
            name: Voice(
                self.agent, self.units, self.scale, self.confidence, inner, _json_type(inner)
            )
            for name, inner in self.value.items()
        }


class Stance(NamedTuple):
    """Where one claim stands towards an outcome, and how far the two agree."""

    position: Position
    agreement: float
    """Rounded: sums of unlike fractions would grow without bound."""


AGREED = Stance(Position.SAME, 1.0)
OPPOSED = Stance(Position.DISSENT, 0.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule makes of the claims that have a say."""

    value: Content
    type: ValueType
    rule: str
    judge: Callable[[Voice], Stance]
    """Of a claim of the outcome's type."""
    working: Callable[[], Iterator[str]]
    """The arithmetic, a line each; put into words only as far as somebody reads."""
    counts_heads: bool = False
    """Whether the rule counts every claim with a say as one, whatever its weight."""
    conflicts: int = 0
    is_open: bool = False

    def stance(self, voice: Voice) -> Stance:
        """Where a claim of any type stands."""
        return self.judge(voice) if voice.type is self.type else OPPOSED


def listened(testimonies: Iterable[Testimony]) -> list[Voice]:
    """The claims, ordered by agent, so that not even what is refused first depends on how they came.

    Raises:
        Invalid: Naming the agent and the field: a weight or confidence out of range, a value that no JSON reader takes,
            a second claim of one agent.
    """
    ordered = sorted(testimonies, key=lambda testimony: testimony.agent)
    weights, scale = shares(ordered)
    voices: list[Voice] = []
    for each, units in zip(ordered, weights, strict=True):
        value, value_type = _content(each)
        voices.append(Voice(each.agent, units, scale, decimal(each.confidence), value, value_type))
    return voices


def shares(ordered: Sequence[Testimony]) -> tuple[list[int], int]:
    """What each claim weighs, in units, and how many of those make a weight of one.

    Raises:
        Invalid: As `listened`, but for values.
    """
    _check(ordered)
    weights = [exact(each.weight) for each in ordered]
    scale = math.lcm(*(weight.denominator for weight in weights))
    return [weight.numerator * (scale // weight.denominator) for weight in weights], scale


def _check(ordered: Sequence[Testimony]) -> None:
    before = ""
    for number, each in enumerate(ordered):
        field = f"claims[{each.agent}]"
        if number and each.agent == before:
            raise Invalid(field, "an agent has one claim about a key, this is a second")
        if not (math.isfinite(each.weight) and each.weight >= 0):
            raise Invalid(f"{field}.weight", f"must be finite and not negative, not {each.weight}")
        if not 0 <= each.confidence <= 1:
            raise Invalid(f"{field}.confidence", f"must be from 0 to 1, not {each.confidence}")
        before = each.agent


def with_a_say(voices: Sequence[Voice]) -> list[Voice]:
    """The claims that have weight; all of them, weighing the same, when none has."""
    heard = [voice for voice in voices if voice.units]
    return heard or [replace(voice, units=1, scale=1) for voice in voices]


def units_of(voices: Iterable[Voice]) -> int:
    """What the claims weigh together, in units."""
    return sum(voice.units for voice in voices)


def weight_of(voices: Sequence[Voice]) -> Fraction:
    """What the claims, at least one, weigh together."""
    return Fraction(units_of(voices), voices[0].scale)


def exact(number: float) -> Fraction:
    """The decimal number that JSON would write, without an error."""
    return Fraction(decimal(number))


def decimal(number: float) -> Decimal:
    """The decimal number that JSON would write: quick to compare, but only `exact` may be reckoned with."""
    return Decimal(number) if isinstance(number, int) else Decimal(repr(float(number)))


def canonical(value: Json) -> str:
    """JSON text that is the same for the same value: sorted names, no spaces, no escapes that are not needed."""
    return str(value) if type(value) is int else _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
)
"""Made once: making it takes longer than encoding a small value with it."""


def _content(testimony: Testimony) -> tuple[Content, ValueType]:
    value = testimony.value
    if value.form is not Form.JSON:
        return value.content, ValueType.TEXT if value.form is Form.TEXT else ValueType.DATA
    try:
        decoded: Json = json.loads(value.content)
        _check_finite(decoded, value.content)
    except ValueError as error:
        field = f"claims[{testimony.agent}].value"
        raise Invalid(field, f"not JSON that can be merged: {error}") from None
    return decoded, _json_type(decoded)


def type_of(value: Value) -> ValueType:
    """What a value that was checked before is, from how it begins."""
    if value.form is not Form.JSON:
        return ValueType.TEXT if value.form is Form.TEXT else ValueType.DATA
    assert isinstance(value.content, str)
    first = value.content.lstrip(" \t\r\n")[:1]
    return _BEGINNINGS.get(first, ValueType.NUMBER)


_BEGINNINGS = {
    "{": ValueType.RECORD,
    "[": ValueType.COLLECTION,
    **dict.fromkeys('"tfn', ValueType.CATEGORY),
}


def _check_finite(decoded: Json, content: str | bytes) -> None:
    """Raises `ValueError` when a number is none; looks for one only where the text has what it takes to write one."""
    assert isinstance(content, str)
    if any(sign in content for sign in ("e", "E", "N", "I")):
        canonical(decoded)


def _json_type(value: Content) -> ValueType:
    if isinstance(value, bool | str) or value is None:
        return ValueType.CATEGORY
    if isinstance(value, int | float):
        return ValueType.NUMBER
    return ValueType.RECORD if isinstance(value, dict) else ValueType.COLLECTION
