"""The laws of weighing, whatever the numbers: bounds, order, monotony, caps; bit for bit where order is concerned."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.weighing.calibration import EDGES, UNCALIBRATED, Calibration
from lavagna_server.domain.weighing.reliability import Answer, estimated
from lavagna_server.domain.weighing.weights import (
    CERTAIN,
    Scale,
    Voter,
    Weight,
    strength,
    weigh,
)

LAW = settings(deadline=None)
SHARES = st.one_of(
    st.floats(min_value=0, max_value=1),
    st.sampled_from(
        [
            *EDGES,
            *(math.nextafter(edge, 0) for edge in EDGES),
            *(math.nextafter(edge, 1) for edge in EDGES),
        ]
    ),
)
NOT_SHARES = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf, -5e-324, math.nextafter(1, 2)]),
    st.floats(max_value=-1e-9),
    st.floats(min_value=1 + 1e-9),
)
EVIDENCE = st.lists(st.tuples(SHARES, st.booleans()), max_size=40)
SCALES = st.sampled_from(Scale)
CAPS = st.floats(min_value=1, max_value=5)
ALTERNATIVES = st.integers(min_value=2, max_value=9)


def learnt(evidence: Sequence[tuple[float, bool]]) -> Calibration:
    calibration = UNCALIBRATED
    for confidence, right in evidence:
        calibration = calibration.observed(confidence, right=right)
    return calibration


@st.composite
def crews(draw: st.DrawFn) -> list[Voter]:
    agents = draw(st.lists(st.sampled_from("abcdefghijkl"), unique=True, max_size=12))
    return [
        Voter(
            agent,
            draw(st.sampled_from(["", "m", "n", "a"])),
            draw(SHARES),
            draw(st.none() | SHARES),
            learnt(draw(st.lists(st.tuples(SHARES, st.booleans()), max_size=6))),
        )
        for agent in agents
    ]


ANSWERS = st.dictionaries(
    st.tuples(st.sampled_from("pqrst"), st.sampled_from("abcd")), st.sampled_from("xyz")
).map(lambda table: [Answer(item, voter, said) for (item, voter), said in table.items()])


def decimal(number: float) -> Fraction:
    """The number as JSON writes it."""
    return Fraction(repr(number))


def by_group(weights: Sequence[Weight]) -> list[list[Weight]]:
    groups: defaultdict[str, list[Weight]] = defaultdict(list)
    for weight in weights:
        groups[weight.group].append(weight)
    return list(groups.values())


@LAW
@given(SHARES)
def test_without_evidence_a_confidence_is_worth_itself(confidence: float) -> None:
    assert UNCALIBRATED.probability(confidence) == confidence


@LAW
@given(EVIDENCE, SHARES, SHARES)
def test_more_confidence_is_never_worth_less(
    evidence: list[tuple[float, bool]], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    calibration = learnt(evidence)

    assert 0 <= calibration.probability(low) <= calibration.probability(high) <= 1


@LAW
@given(EVIDENCE, SHARES, SHARES)
def test_a_right_claim_never_lowers_and_a_wrong_one_never_raises_what_any_confidence_is_worth(
    evidence: list[tuple[float, bool]], claimed: float, asked: float
) -> None:
    before = learnt(evidence)
    right, wrong = before.observed(claimed, right=True), before.observed(claimed, right=False)

    assert wrong.probability(asked) <= before.probability(asked) <= right.probability(asked)


@LAW
@given(EVIDENCE, st.randoms(use_true_random=False))
def test_a_calibration_does_not_know_in_which_order_it_was_learnt(
    evidence: list[tuple[float, bool]], chance: Random
) -> None:
    shuffled = list(evidence)
    chance.shuffle(shuffled)

    assert learnt(shuffled) == learnt(evidence)
    assert learnt(shuffled).to_json() == learnt(evidence).to_json()


@LAW
@given(EVIDENCE)
def test_a_calibration_survives_its_json_to_the_byte(evidence: list[tuple[float, bool]]) -> None:
    calibration = learnt(evidence)
    text = calibration.to_json()

    assert Calibration.from_json(text, field="calibration") == calibration
    assert Calibration.from_json(text, field="calibration").to_json() == text
    assert " " not in text


@LAW
@given(NOT_SHARES, st.booleans())
def test_what_is_no_share_is_refused_by_a_calibration(number: float, right: bool) -> None:
    for attempt in (
        lambda: UNCALIBRATED.observed(number, right=right),
        lambda: UNCALIBRATED.probability(number),
    ):
        with pytest.raises(Invalid) as refused:
            attempt()
        assert refused.value.field == "confidence"


@LAW
@given(NOT_SHARES)
def test_what_is_no_share_is_refused_by_its_agent_and_field(number: float) -> None:
    for field, bad in (
        ("b.trust", Voter("b", trust=number)),
        ("b.confidence", Voter("b", confidence=number)),
    ):
        with pytest.raises(Invalid) as refused:
            weigh([Voter("a"), bad], group_cap=None)
        assert refused.value.field == field


@LAW
@given(st.floats(max_value=math.nextafter(1, 0)) | st.sampled_from([math.nan, math.inf]))
def test_a_cap_below_one_voter_or_without_end_is_refused(cap: float) -> None:
    with pytest.raises(Invalid) as refused:
        weigh([Voter("a")], group_cap=cap)
    assert refused.value.field == "group_cap"


@LAW
@given(SHARES, SHARES, SCALES, ALTERNATIVES)
def test_a_strength_is_a_share_that_rises_with_the_probability(
    one: float, other: float, scale: Scale, alternatives: int
) -> None:
    low, high = (strength(each, scale, alternatives=alternatives) for each in sorted((one, other)))

    assert 0 <= low <= high <= 1


@LAW
@given(SHARES, ALTERNATIVES)
def test_a_vote_counts_nothing_up_to_chance_something_above_and_all_when_certain(
    probability: float, alternatives: int
) -> None:
    counted = strength(probability, Scale.LOG_ODDS, alternatives=alternatives)

    assert (counted > 0) == (probability > Fraction(1, alternatives))
    assert (counted == 1) == (probability >= CERTAIN)


@LAW
@given(crews(), st.none() | CAPS, SCALES, st.randoms(use_true_random=False))
def test_weights_do_not_know_in_which_order_the_voters_came(
    crew: list[Voter], cap: float | None, scale: Scale, chance: Random
) -> None:
    shuffled = list(crew)
    chance.shuffle(shuffled)
    weights = weigh(crew, group_cap=cap, scale=scale)

    assert weigh(shuffled, group_cap=cap, scale=scale) == weights
    assert [each.agent for each in weights] == sorted(each.agent for each in crew)


@LAW
@given(crews(), CAPS, SCALES)
def test_no_group_exceeds_its_cap_and_none_is_cut_to_less(
    crew: list[Voter], cap: float, scale: Scale
) -> None:
    for group in by_group(weigh(crew, group_cap=cap, scale=scale)):
        allowed = decimal(cap) * max(decimal(each.before_cap) for each in group)
        before = sum(decimal(each.before_cap) for each in group)
        after = sum(decimal(each.after_cap) for each in group)

        assert after <= min(allowed, before)
        assert after <= decimal(cap)
        assert after >= min(allowed, before) - len(group) * Fraction(1, 10**12)


@LAW
@given(crews(), CAPS, SCALES)
def test_a_cap_leaves_those_alone_whom_it_does_not_bind(
    crew: list[Voter], cap: float, scale: Scale
) -> None:
    free = weigh(crew, group_cap=None, scale=scale)
    capped = weigh(crew, group_cap=cap, scale=scale)

    assert [replace(each, after_cap=each.before_cap) for each in capped] == list(free)
    for group in by_group(capped):
        heaviest = max(decimal(each.before_cap) for each in group)
        if sum(decimal(each.before_cap) for each in group) <= decimal(cap) * heaviest:
            assert [each.after_cap for each in group] == [each.before_cap for each in group]


@LAW
@given(crews(), CAPS, SCALES)
def test_within_a_capped_group_who_weighed_as_much_weighs_as_much_and_who_weighed_more_no_less(
    crew: list[Voter], cap: float, scale: Scale
) -> None:
    for group in by_group(weigh(crew, group_cap=cap, scale=scale)):
        ordered = sorted(group, key=lambda each: each.before_cap)
        for less, more in pairwise(ordered):
            assert less.after_cap <= more.after_cap
            assert less.before_cap != more.before_cap or less.after_cap == more.after_cap


@LAW
@given(crews(), SCALES, SHARES)
def test_more_trust_never_weighs_less(crew: list[Voter], scale: Scale, trust: float) -> None:
    for voter in crew:
        (before,) = weigh([voter], group_cap=None, scale=scale)
        (after,) = weigh(
            [replace(voter, trust=max(trust, voter.trust))], group_cap=None, scale=scale
        )

        assert before.after_cap <= after.after_cap <= 1


@LAW
@given(ANSWERS, st.randoms(use_true_random=False))
def test_reliability_does_not_know_in_which_order_the_answers_came(
    answers: list[Answer], chance: Random
) -> None:
    shuffled = list(answers)
    chance.shuffle(shuffled)

    assert estimated(shuffled) == estimated(answers)


@LAW
@given(ANSWERS)
def test_every_estimate_is_made_of_probabilities(answers: list[Answer]) -> None:
    estimate = estimated(answers)
    rows = [
        *(row for voter in estimate.voters for row in voter.confusion),
        *(item.shares for item in estimate.items),
    ]

    assert all(0 <= share <= 1 for row in rows for share in row)
    assert all(math.fsum(row) == pytest.approx(1) for row in rows)
    assert all(0 < voter.accuracy <= 1 + 1e-12 for voter in estimate.voters)
    assert {voter.voter for voter in estimate.voters} == {each.voter for each in answers}
    assert {item.item for item in estimate.items} == {each.item for each in answers}
