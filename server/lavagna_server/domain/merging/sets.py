"""Rules for JSON arrays taken as sets: their order and what stands twice in them say nothing.

How far a result agrees with a claim is what they have in common of all that either holds (Jaccard 1912).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from lavagna_server.domain.merging.testimonies import Position
from lavagna_server.domain.merging.voices import (
    AGREED,
    Outcome,
    Stance,
    ValueType,
    Voice,
    canonical,
    decimal,
    exact,
    weight_of,
)
from lavagna_server.domain.merging.workings import listed, names, shortened, shown
from lavagna_server.domain.values import Json

NEAR = 0.5
"""A claim agrees with a set when they have more than this in common."""

_Elements: TypeAlias = dict[str, Json]


def combined(name: str, voices: Sequence[Voice], *, threshold: float) -> Outcome:
    """What sets come to: all that is claimed, or what more than a share of the weight claims."""
    claimed = {voice.agent: _elements(voice) for voice in voices}
    sets = {agent: frozenset(own) for agent, own in claimed.items()}
    supporters: defaultdict[str, list[Voice]] = defaultdict(list)
    elements: _Elements = {}
    for voice in voices:
        for spelling, element in claimed[voice.agent].items():
            supporters[spelling].append(voice)
            elements[spelling] = element
    total = weight_of(voices)
    needed = exact(threshold) * total if name == "threshold" else Fraction(0)
    weights = _weights(supporters)
    inside = frozenset(spelling for spelling, weight in weights.items() if weight > needed)

    def judge(voice: Voice) -> Stance:
        own = sets[voice.agent] if voice.agent in sets else frozenset(_elements(voice))
        if own == inside:
            return AGREED
        common = len(own & inside)
        share = common / (len(own) + len(inside) - common)
        return Stance(Position.NEAR if share > NEAR else Position.DISSENT, share)

    def working() -> Iterator[str]:
        yield from listed(
            f"{shortened(spelling)}: weight {shown(weights[spelling])} of {shown(total)} "
            f"({names(supporters[spelling])}): {'in' if spelling in inside else 'out'}"
            for spelling in sorted(supporters, key=lambda each: (-weights[each], each))
        )
        asked = "anyone claims" if name == "union" else f"more than weight {shown(needed)} claims"
        yield f"in is what {asked}"

    alike = [voice for voice in voices if sets[voice.agent] == inside]
    value = _spelled(inside, elements, alike)
    return Outcome(value, ValueType.COLLECTION, f"{name}@1", judge, working)


def _weights(supporters: Mapping[str, Sequence[Voice]]) -> dict[str, Fraction]:
    """What the claims of each element weigh; most elements have their claims in common, which are added up once."""
    sums: dict[tuple[str, ...], Fraction] = {}
    weights: dict[str, Fraction] = {}
    for spelling, claims in supporters.items():
        agents = tuple(voice.agent for voice in claims)
        if agents not in sums:
            sums[agents] = weight_of(claims)
        weights[spelling] = sums[agents]
    return weights


def _elements(voice: Voice) -> _Elements:
    assert isinstance(voice.value, list)
    return {canonical(element): element for element in voice.value}


def _spelled(inside: frozenset[str], elements: _Elements, alike: Sequence[Voice]) -> list[Json]:
    """The set as an array: as it is claimed, when all that claim just this set order it alike; else in an order of its own."""
    arrays = {voice.spelling: voice.value for voice in alike}
    if len(arrays) == 1:
        [array] = arrays.values()
        assert isinstance(array, list)
        return array
    return [elements[spelling] for spelling in sorted(inside, key=lambda s: _rank(s, elements[s]))]


def _rank(spelling: str, element: Json) -> tuple[bool, Decimal, str]:
    """Numbers in their order, then everything else in that of its canonical JSON."""
    if isinstance(element, int | float) and not isinstance(element, bool):
        return False, decimal(element), spelling
    return True, Decimal(0), spelling
