"""Rules that vote: one whole value wins, and the others are dissent.

Where several lead alike it is a tie, and the value whose canonical JSON comes first is taken: no agent, time or version decides. That
the value then has at most half of the votes shows in its confidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

from lavagna_server.domain.merging.voices import AGREED, OPPOSED, Outcome, Stance, Voice, units_of
from lavagna_server.domain.merging.workings import listed, names, quoted, shown

LEVELS = tuple(Decimal(level) for level in ("0.9", "0.7", "0.5", "0.3", "0"))
"""The least confidence of each bucket, the surest first: wide enough that a small difference of what is stated decides nothing."""

_Score: TypeAlias = tuple[int, ...]
"""Heads, or units of weight."""


def combined(name: str, voices: Sequence[Voice]) -> Outcome:
    """What categories come to by a rule."""
    if name == "plurality":
        return _elected("plurality@1", voices, _heads, counts_heads=True)
    return _elected(f"{name}@1", voices, _SCORES[name])


def selected(voices: Sequence[Voice], *, rule: str = "select@1") -> Outcome:
    """The whole value that has the most weight, of values that need not be categories."""
    return _elected(rule, voices, _weight)


def mixed(voices: Sequence[Voice]) -> Outcome:
    """The whole value that has the most weight, of values of types that weigh the same."""
    return _elected("weighted-plurality@1 (mixed types)", voices, _weight)


def _heads(voices: Sequence[Voice]) -> _Score:
    return (len(voices),)


def _weight(voices: Sequence[Voice]) -> _Score:
    return (units_of(voices),)


def _weight_by_level(voices: Sequence[Voice]) -> _Score:
    """The weight in each bucket of confidence, the surest first; the first bucket in which two values differ decides.

    It is levelwise tallying (Bonnefon, Dubois, Fargier and Leblois 2008), with weights in the place of counts: any weight of sure
    claims beats all weight of less sure ones, which only break what the sure ones leave even.
    """
    weights = [0] * len(LEVELS)
    for voice in voices:
        weights[next(at for at, level in enumerate(LEVELS) if voice.confidence >= level)] += (
            voice.units
        )
    return tuple(weights)


_SCORES: Mapping[str, Callable[[Sequence[Voice]], _Score]] = MappingProxyType(
    {"weighted-plurality": _weight, "confidence-buckets": _weight_by_level}
)


def _elected(
    rule: str,
    voices: Sequence[Voice],
    score: Callable[[Sequence[Voice]], _Score],
    *,
    counts_heads: bool = False,
) -> Outcome:
    supporters: defaultdict[tuple[str, str], list[Voice]] = defaultdict(list)
    for voice in voices:
        supporters[voice.identity].append(voice)
    scale = 1 if counts_heads else voices[0].scale
    scores = {identity: score(claims) for identity, claims in supporters.items()}
    best = max(scores.values())
    leading = sorted(identity for identity, reached in scores.items() if reached == best)
    winner = supporters[leading[0]][0]

    def judge(voice: Voice) -> Stance:
        return AGREED if voice.identity == winner.identity else OPPOSED

    def working() -> Iterator[str]:
        ranked = sorted(
            scores, key=lambda identity: ([-part for part in scores[identity]], identity)
        )
        yield from listed(
            f"{quoted(supporters[identity][0])}: {_tally(scores[identity], scale)} "
            f"({names(supporters[identity])})"
            for identity in ranked
        )
        if len(leading) > 1:
            yield f"a tie between {len(leading)}: {quoted(winner)} comes first in canonical JSON"

    return Outcome(winner.value, winner.type, rule, judge, working, counts_heads=counts_heads)


def _tally(score: _Score, scale: int) -> str:
    weights = [shown(Fraction(units, scale)) for units in score]
    if len(weights) == 1:
        return weights[0]
    return " ".join(f">={level}: {weight}" for level, weight in zip(LEVELS, weights, strict=True))
