"""The laws of merging that are about one type of value: bounds, monotony in weight, neutrality, and what each rule is known for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lavagna_server.domain.merging import MergeRules, Position, merged
from lavagna_server.domain.merging import Testimony as Claim  # pytest would take it for a test
from lavagna_server.domain.merging.voices import canonical
from lavagna_server.domain.values import Form, Value
from tests.properties.merge_cases import (
    AGENTS,
    BASE,
    FACTORS,
    LAW,
    LINES,
    MIXED,
    NUMBER_CASES,
    PLACES,
    RECORD_CASES,
    SET_CASES,
    VOTING_CASES,
    Case,
    each,
    elements,
    heard,
    heavier,
    number,
)


@each(NUMBER_CASES)
@LAW
@given(data=st.data())
def test_a_number_stays_within_what_was_claimed(case: Case, data: st.DataObject) -> None:
    claims = data.draw(case.claims())
    claimed = [number(claim.value) for claim in heard(claims)]

    assert min(claimed) <= number(case.merge(claims).value) <= max(claimed)


@each(NUMBER_CASES)
@LAW
@given(data=st.data(), place=PLACES, factor=FACTORS)
def test_more_weight_never_moves_a_number_away(
    case: Case, data: st.DataObject, place: int, factor: float
) -> None:
    claims = data.draw(case.claims())
    changed = heavier(claims, place % len(claims), factor)
    claimed = number(claims[place % len(claims)].value)
    before, after = number(case.merge(claims).value), number(case.merge(changed).value)

    assert abs(after - claimed) <= abs(before - claimed)
    assert (after - claimed) * (before - claimed) >= 0 or after == claimed


@each(NUMBER_CASES)
@LAW
@given(data=st.data(), place=PLACES)
def test_a_number_that_gets_a_say_is_not_moved_away_from(
    case: Case, data: st.DataObject, place: int
) -> None:
    claims = [replace(claim, weight=1.0) for claim in data.draw(case.claims(min_size=2))]
    index = place % len(claims)
    silent = [*claims[:index], replace(claims[index], weight=0.0), *claims[index + 1 :]]
    claimed = number(claims[index].value)

    before, after = number(case.merge(silent).value), number(case.merge(claims).value)
    assert abs(after - claimed) <= abs(before - claimed)


@each(VOTING_CASES)
@LAW
@given(data=st.data(), place=PLACES, factor=FACTORS)
def test_more_weight_never_makes_a_value_lose(
    case: Case, data: st.DataObject, place: int, factor: float
) -> None:
    claims = data.draw(case.claims())
    result = case.merge(claims)
    share = result.support[place % len(claims)]
    assume(share.is_for)

    assert case.merge(heavier(claims, place % len(claims), factor)).value == result.value


@each(VOTING_CASES)
@LAW
@given(data=st.data())
def test_a_vote_takes_a_whole_value_that_somebody_claims(case: Case, data: st.DataObject) -> None:
    claims = data.draw(case.claims())
    result = case.merge(claims)

    winners = [share.agent for share in result.support if share.position is Position.SAME]
    assert {claim.agent for claim in heard(claims)} & set(winners)
    assert all(share.position is not Position.NEAR for share in result.support)


@pytest.mark.parametrize("rule", ["plurality", "weighted-plurality", "confidence-buckets"])
@pytest.mark.guarantee("C4")
@LAW
@given(data=st.data())
def test_names_of_categories_decide_nothing_but_ties(rule: str, data: st.DataObject) -> None:
    case = Case(MergeRules(category=rule), st.sampled_from("wxyz"))
    claims = data.draw(case.claims())
    other = dict(zip("wxyz", data.draw(st.permutations("wxyz")), strict=True))
    renamed = [replace(claim, value=case.value(other[claim.value.decoded()])) for claim in claims]
    one, two = case.merge(claims), case.merge(renamed)

    is_tie = [any("a tie" in line for line in each.working) for each in (one, two)]
    assert is_tie[0] == is_tie[1]
    if not is_tie[0]:
        assert two.value.decoded() == other[one.value.decoded()]
        assert (two.confidence, two.dissent) == (one.confidence, one.dissent)
    else:
        tied = {claim.value.decoded() for claim in heard(claims)}
        assert one.value.decoded() in tied


@each(SET_CASES)
@LAW
@given(data=st.data())
def test_a_set_has_what_all_claim_and_nothing_that_nobody_claims(
    case: Case, data: st.DataObject
) -> None:
    claims = data.draw(case.claims())
    first, *others = [elements(claim.value) for claim in heard(claims)]
    result = elements(case.merge(claims).value)

    assert first.intersection(*others) <= result <= first.union(*others)


@each(SET_CASES)
@LAW
@given(data=st.data(), place=PLACES, factor=FACTORS)
def test_more_weight_brings_a_set_no_further_from_the_claim(
    case: Case, data: st.DataObject, place: int, factor: float
) -> None:
    claims = data.draw(case.claims())
    changed = heavier(claims, place % len(claims), factor)
    own = elements(claims[place % len(claims)].value)
    before, after = elements(case.merge(claims).value), elements(case.merge(changed).value)

    assert before & own <= after
    assert after - own <= before


@each(RECORD_CASES)
@LAW
@given(data=st.data(), place=PLACES, factor=FACTORS)
def test_more_weight_keeps_the_fields_that_the_claim_has(
    case: Case, data: st.DataObject, place: int, factor: float
) -> None:
    claims = data.draw(case.claims())
    changed = heavier(claims, place % len(claims), factor)
    own = claims[place % len(claims)].value.decoded().keys()
    before, after = case.merge(claims).value.decoded(), case.merge(changed).value.decoded()

    assert before.keys() & own <= after.keys()
    assert after.keys() - own <= before.keys()


@each(RECORD_CASES)
@LAW
@given(data=st.data())
def test_each_field_of_a_record_is_merged_as_if_it_stood_alone(
    case: Case, data: st.DataObject
) -> None:
    claims = heard(data.draw(case.claims()))
    claims = [replace(claim, weight=claim.weight or 1.0) for claim in claims]
    result = case.merge(claims).value.decoded()
    total = sum(Fraction(repr(claim.weight)) for claim in claims)

    for name in {name for claim in claims for name in claim.value.decoded()}:
        having = [claim for claim in claims if name in claim.value.decoded()]
        share = sum(Fraction(repr(claim.weight)) for claim in having)
        assert (name in result) == (2 * share > total)
        if name in result and name != "plan":
            own = MergeRules(
                number=case.rules.fields.get(name, case.rules.number),
                collection=case.rules.fields.get(name, "threshold") if name == "tags" else "union",
            )
            alone = merged(
                [replace(each, value=case.value(each.value.decoded()[name])) for each in having],
                own,
            )
            assert alone is not None
            assert canonical(alone.value.decoded()) == canonical(result[name])


@LAW
@given(data=st.data())
def test_no_line_that_a_claim_brings_is_dropped(data: st.DataObject) -> None:
    claims = data.draw(LINES.claims())
    result = str(LINES.merge(claims).value.content).split("\n")

    for claim in heard(claims):
        brought = set(str(claim.value.content).split("\n")) - set(BASE.split("\n"))
        assert brought <= set(result)


@LAW
@given(
    changed=st.lists(st.sets(st.integers(0, 29), max_size=4), min_size=1, max_size=5),
    inserts=st.booleans(),
)
def test_lines_that_are_changed_apart_from_each_other_are_all_taken(
    changed: list[set[int]], inserts: bool
) -> None:
    """Each agent changes every third line of its own choice, and never one that another changes."""
    base = [f"line {number}" for number in range(90)]
    taken: set[int] = set()
    texts: list[list[str]] = []
    expected = list(base)
    for agent, choice in enumerate(changed):
        text = list(base)
        for place in choice - taken:
            new = f"{base[3 * place]}\nand {agent}" if inserts else f"changed by {agent}"
            text[3 * place] = expected[3 * place] = new
        taken |= choice
        texts.append(text)
    claims = [
        Claim(agent, Value(Form.TEXT, "\n".join(text)), 1.0, 1.0)
        for agent, text in zip(AGENTS, texts, strict=False)
    ]
    result = merged(claims, MergeRules(text="lines"), base="\n".join(base))

    assert result is not None
    assert result.value.content == "\n".join(expected)
    assert (result.conflicts, result.confidence, result.dissent) == (0, 1, ())


@LAW
@given(data=st.data())
def test_a_median_is_as_near_to_all_weight_as_any_number_can_be(data: st.DataObject) -> None:
    claims = data.draw(NUMBER_CASES["median"].claims())
    weighed = [claim for claim in claims if claim.weight]
    assume(weighed)

    def distance(candidate: Fraction) -> Fraction:
        return sum(
            (Fraction(repr(each.weight)) * abs(number(each.value) - candidate) for each in weighed),
            Fraction(0),
        )

    result = number(NUMBER_CASES["median"].merge(claims).value)
    best = min(distance(number(each.value)) for each in weighed)
    assert distance(result) == best
    assert result == min(
        number(each.value) for each in weighed if distance(number(each.value)) == best
    )


@LAW
@given(data=st.data())
def test_of_several_types_the_heaviest_is_merged_as_if_it_stood_alone(data: st.DataObject) -> None:
    claims = [replace(claim, weight=claim.weight or 1.0) for claim in data.draw(MIXED.claims())]
    camps: dict[str, list[Claim]] = {}
    for claim in claims:
        camps.setdefault(_type_of(claim.value), []).append(claim)
    weights = {
        each: sum(Fraction(repr(claim.weight)) for claim in camp) for each, camp in camps.items()
    }
    heaviest = [each for each, weight in weights.items() if weight == max(weights.values())]
    result = MIXED.merge(claims)

    if len(heaviest) == 1:
        alone = MIXED.merge(camps[heaviest[0]])
        assert result.value == alone.value
        assert result.rule == alone.rule + (" (mixed types)" if len(camps) > 1 else "")
        others = {claim.agent for claim in claims} - {share.agent for share in alone.support}
        assert set(result.dissent) == {*alone.dissent, *others}
    else:
        assert result.rule == "weighted-plurality@1 (mixed types)"
        assert canonical(result.value.decoded()) in {canonical(c.value.decoded()) for c in claims}


@LAW
@given(data=st.data(), place=PLACES, factor=FACTORS)
def test_more_weight_never_makes_the_type_of_a_claim_lose(
    data: st.DataObject, place: int, factor: float
) -> None:
    claims = data.draw(MIXED.claims())
    changed = heavier(claims, place % len(claims), factor)
    own = _type_of(claims[place % len(claims)].value)

    if _type_of(MIXED.merge(claims).value) == own:
        assert _type_of(MIXED.merge(changed).value) == own


def _type_of(value: Value) -> str:
    """The type of JSON that a rule is chosen for; words, true, false and null are of one."""
    decoded = value.decoded()
    if isinstance(decoded, bool | str) or decoded is None:
        return "category"
    if isinstance(decoded, int | float):
        return "number"
    return "record" if isinstance(decoded, dict) else "collection"
