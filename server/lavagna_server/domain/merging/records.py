"""The rule for JSON objects: each field is merged by its own rule, over the claims that have it.

A field belongs to the result when the claims that have it weigh more than half of all. How far a result agrees with a claim is the
mean over the fields that either has; a field that only one has is not agreed on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from lavagna_server.domain.merging.testimonies import Position
from lavagna_server.domain.merging.voices import (
    AGREED,
    Outcome,
    Stance,
    ValueType,
    Voice,
    canonical,
    units_of,
    weight_of,
)
from lavagna_server.domain.merging.workings import names, shortened, shown
from lavagna_server.domain.values import Json

NEAR = 0.5
"""A claim agrees with an object when more than this share of the fields agrees."""

MergeField: TypeAlias = Callable[[str, Sequence[Voice]], Outcome]


def combined(voices: Sequence[Voice], merge_field: MergeField) -> Outcome:
    """What objects come to; `merge_field` merges what the claims that have a field say of it."""
    total = units_of(voices)
    claims: defaultdict[str, list[Voice]] = defaultdict(list)
    for voice in voices:
        for name, field in voice.fields.items():
            claims[name].append(field)
    parts = {
        name: merge_field(name, having)
        for name, having in claims.items()
        if len(having) == len(voices) or 2 * units_of(having) > total
    }

    def judge(voice: Voice) -> Stance:
        fields = voice.fields
        stances = [parts[name].stance(field) for name, field in fields.items() if name in parts]
        count = len(parts) + len(fields) - len(stances)
        if len(stances) == count and all(each.position is Position.SAME for each in stances):
            return AGREED
        agreement = math.fsum(each.agreement for each in stances) / count
        return Stance(Position.NEAR if agreement > NEAR else Position.DISSENT, agreement)

    def working() -> Iterator[str]:
        yield f"fields that more than half of the weight claims: {len(parts)} of {len(claims)}"
        for name, having in sorted(claims.items()):
            share = f"weight {shown(weight_of(having))} of {shown(weight_of(voices))} has it"
            lines = _account(parts[name], having) if name in parts else [_left_out(having)]
            yield from (f"{shortened(name)}: {line}" for line in chain([share], lines))

    value: dict[str, Json] = {name: _json(part) for name, part in parts.items()}
    return Outcome(value, ValueType.RECORD, "fields@1", judge, working)


def _left_out(having: Sequence[Voice]) -> str:
    return f"no more than half: left out, against {names(having)}"


def _account(part: Outcome, having: Sequence[Voice]) -> Iterator[str]:
    yield from part.working()
    against = [voice for voice in having if part.stance(voice).position is Position.DISSENT]
    dissent = f", against {names(against)}" if against else ""
    yield f"{shortened(canonical(_json(part)))} by {part.rule}{dissent}"


def _json(part: Outcome) -> Json:
    assert not isinstance(part.value, bytes)
    return part.value
