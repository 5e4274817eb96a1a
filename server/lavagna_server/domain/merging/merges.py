"""Merges all claims about a key into one value: a function of the set of claims alone (C4).

Always computed from the whole set, never from an earlier merge and a change. Weights come in as they are; where they come from is
not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain

from lavagna_server.domain.merging import categories, lines, numbers, records, sets
from lavagna_server.domain.merging.rules import LINES, RECONCILE, SELECT, MergeRules, field_path
from lavagna_server.domain.merging.testimonies import Merged, Share, Testimony
from lavagna_server.domain.merging.voices import (
    Outcome,
    Stance,
    ValueType,
    Voice,
    canonical,
    exact,
    listened,
    weight_of,
    with_a_say,
)
from lavagna_server.domain.merging.workings import listed, names, shown
from lavagna_server.domain.values import Form, Value

WORKING_LINES_MAX = 500
"""Of one working, whatever it lists."""


def merged(
    testimonies: Iterable[Testimony], rules: MergeRules, *, base: str | None = None
) -> Merged | None:
    """What the claims come to by the rules; None when there are no claims.

    `base` is the text that texts were changed from, for the rule `lines`. Claims of no weight have no say, except where none has any.

    Raises:
        Invalid: A weight, a confidence or a value is out of range, or a sum is more than a number may be.
    """
    claims = list(testimonies)
    voices = listened(claims)
    return merge_of(voices, claims, rules, base=base) if voices else None


def merge_of(
    voices: Sequence[Voice], claims: Sequence[Testimony], rules: MergeRules, *, base: str | None
) -> Merged:
    """What claims, at least one, come to that were listened to already."""
    heard = with_a_say(voices)
    outcome = _outcome(heard, rules, None, base)
    used = {voice.agent: 1 if outcome.counts_heads else voice.units for voice in heard}
    scale = 1 if outcome.counts_heads else heard[0].scale
    stances = {voice.agent: outcome.stance(voice) for voice in voices}
    shares = tuple(
        Share(agent, used.get(agent, 0) / scale, stance.position, stance.agreement)
        for agent, stance in stances.items()
    )
    return Merged(
        _value(outcome, heard, {claim.agent: claim.value for claim in claims}),
        _confidence(heard, stances, used),
        outcome.rule,
        shares,
        tuple(share.agent for share in shares if not share.is_for),
        _working(voices, outcome),
        outcome.conflicts,
        outcome.is_open,
    )


def _outcome(
    voices: Sequence[Voice], rules: MergeRules, path: str | None, base: str | None
) -> Outcome:
    types = {voice.type for voice in voices}
    if len(types) > 1:
        return _of_types(voices, rules, path, base)
    [value_type] = types
    name = rules.chosen(value_type, path)
    if name == SELECT:
        return categories.selected(voices)
    if name == RECONCILE:
        return _reconciled(voices)
    return _by_type(value_type, name, voices, rules, path, base)


def _of_types(
    voices: Sequence[Voice], rules: MergeRules, path: str | None, base: str | None
) -> Outcome:
    """First the type is voted on, so that one stray claim does not turn a median into a vote; then what claims it is merged by its rule.

    Where types lead alike, whole values are voted on.
    """
    camps: dict[ValueType, list[Voice]] = {}
    for voice in voices:
        camps.setdefault(voice.type, []).append(voice)
    weights = {value_type: weight_of(camp) for value_type, camp in camps.items()}
    heaviest = max(weights.values())
    leading = [value_type for value_type, weight in weights.items() if weight == heaviest]
    if len(leading) > 1:
        return categories.mixed(voices)
    outcome = _outcome(camps[leading[0]], rules, path, base)
    rule = f"{outcome.rule} (mixed types)"
    return replace(outcome, rule=rule, working=partial(_type_account, camps, weights, outcome))


def _type_account(
    camps: Mapping[ValueType, Sequence[Voice]], weights: Mapping[ValueType, Fraction], won: Outcome
) -> Iterator[str]:
    others = names(chain.from_iterable(camp for each, camp in camps.items() if each != won.type))
    total = shown(sum(weights.values(), Fraction(0)))
    yield f"{shown(weights[won.type])} of weight {total} claims a {won.type.value}: no say for {others}"
    yield from won.working()


def _by_type(
    value_type: ValueType,
    name: str,
    voices: Sequence[Voice],
    rules: MergeRules,
    path: str | None,
    base: str | None,
) -> Outcome:
    match value_type:
        case ValueType.NUMBER:
            return numbers.combined(name, voices)
        case ValueType.CATEGORY:
            return categories.combined(name, voices)
        case ValueType.COLLECTION:
            return sets.combined(name, voices, threshold=rules.threshold)
        case ValueType.RECORD:
            return records.combined(
                voices,
                lambda field, claims: _outcome(claims, rules, field_path(path, field), None),
            )
        case ValueType.TEXT | ValueType.DATA:
            assert name == LINES
            return lines.combined(voices, base)


def _reconciled(voices: Sequence[Voice]) -> Outcome:
    is_open = len({voice.identity for voice in voices}) > 1
    outcome = replace(categories.selected(voices, rule="reconcile@1"), is_open=is_open)
    return replace(outcome, working=partial(_open, outcome)) if is_open else outcome


def _open(outcome: Outcome) -> Iterator[str]:
    yield from outcome.working()
    yield "open: until the claims are reconciled this is the one selected by vote"


def _value(outcome: Outcome, heard: Sequence[Voice], claimed: Mapping[str, Value]) -> Value:
    """The result as the claims write it, where all that claim just this write it alike; else as canonical JSON."""
    form, result = outcome.type.form, outcome.value
    if form is not Form.JSON:
        assert isinstance(result, str | bytes)
        return Value(form, result)
    assert not isinstance(result, bytes)
    spelling = canonical(result)
    written = {
        claimed[voice.agent].content for voice in heard if voice.identity == (spelling, form.value)
    }
    return Value(form, written.pop() if len(written) == 1 else spelling)


def _confidence(
    heard: Sequence[Voice], stances: Mapping[str, Stance], used: Mapping[str, int]
) -> float:
    lent = (
        used[each.agent] * Fraction(each.confidence) * exact(stances[each.agent].agreement)
        for each in heard
    )
    return float(sum(lent, Fraction(0)) / sum(used.values()))


def _working(voices: Sequence[Voice], outcome: Outcome) -> tuple[str, ...]:
    silent = [voice for voice in voices if not voice.units]
    if len(silent) == len(voices):
        first = ["no claim has any weight: all count the same"]
    elif silent:
        first = [f"without weight and so without a say: {names(silent)}"]
    else:
        first = []
    return tuple(listed(chain(first, outcome.working()), lines_max=WORKING_LINES_MAX))
