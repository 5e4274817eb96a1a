"""The laws of merging that hold for every rule and every type of value, whatever the claims."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.merging import MergeRules, Position, merged
from lavagna_server.domain.merging import Testimony as Claim  # pytest would take it for a test
from lavagna_server.domain.merging.voices import canonical
from lavagna_server.domain.values import Form, Value
from tests.properties.merge_cases import (
    AGENTS,
    BASE,
    CASES,
    CONFIDENCES,
    IDEMPOTENT_CASES,
    JSON_CASES,
    LAW,
    WEIGHTS,
    Case,
    each,
    heard,
)


@each(CASES)
@pytest.mark.guarantee("C4")
@LAW
@given(data=st.data())
def test_order_changes_nothing_not_even_a_byte(case: Case, data: st.DataObject) -> None:
    claims = data.draw(case.claims())
    again = data.draw(st.permutations(claims))

    assert case.merge(again) == case.merge(claims)


@each(IDEMPOTENT_CASES)
@pytest.mark.guarantee("C4")
@LAW
@given(data=st.data())
def test_what_all_claim_is_what_comes_out_as_they_write_it(case: Case, data: st.DataObject) -> None:
    value = case.spaced(data.draw(case.values))
    claims = [replace(claim, value=value) for claim in data.draw(case.claims())]
    result = case.merge(claims)

    assert result.value == value
    assert result.dissent == ()
    assert not result.conflicts
    assert not result.is_open
    sure = [replace(claim, confidence=1.0) for claim in claims]
    assert case.merge(sure).confidence == 1
    unsure = [replace(claim, confidence=0.0) for claim in claims]
    assert case.merge(unsure).confidence == 0


@each(CASES)
@pytest.mark.guarantee("C4")
@LAW
@given(data=st.data())
def test_a_merged_value_merged_alone_is_itself(case: Case, data: st.DataObject) -> None:
    result = case.merge(data.draw(case.claims()))
    alone = case.merge([Claim("ann", result.value, 1.0, 1.0)])

    assert alone.value == result.value


@each(CASES)
@LAW
@given(data=st.data(), weight=WEIGHTS, confidence=CONFIDENCES)
def test_one_claim_is_its_own_result_with_its_own_confidence(
    case: Case, data: st.DataObject, weight: float, confidence: float
) -> None:
    value = case.spaced(data.draw(case.values))
    result = case.merge([Claim("ann", value, weight, confidence)])

    assert (result.value, result.confidence, result.dissent) == (value, confidence, ())
    [share] = result.support
    assert (share.agent, share.position, share.agreement) == ("ann", Position.SAME, 1)


@each(CASES)
def test_no_claims_have_no_result(case: Case) -> None:
    assert merged([], case.rules, base=BASE) is None


@each(CASES)
@pytest.mark.guarantee("C4")
@LAW
@given(data=st.data())
def test_names_of_agents_decide_nothing(case: Case, data: st.DataObject) -> None:
    claims = data.draw(case.claims())
    names = dict(zip(AGENTS, data.draw(st.permutations(AGENTS)), strict=True))
    result = case.merge(claims)
    renamed = case.merge([replace(claim, agent=names[claim.agent]) for claim in claims])

    if not result.conflicts:
        assert renamed.value == result.value
    assert renamed.conflicts == result.conflicts
    assert (renamed.confidence, renamed.rule) == (result.confidence, result.rule)
    assert set(renamed.dissent) == {names[agent] for agent in result.dissent}
    assert {replace(share, agent=names[share.agent]) for share in result.support} == set(
        renamed.support
    )


@each(CASES)
@LAW
@given(data=st.data())
def test_a_claim_without_weight_has_no_say_unless_all_are(case: Case, data: st.DataObject) -> None:
    claims = data.draw(case.claims())
    silenced = [replace(claim, weight=0.0) for claim in claims]
    alike = [replace(claim, weight=1.0) for claim in claims]
    alone, equal = case.merge(silenced), case.merge(alike)
    without = case.merge(heard(claims))
    result = case.merge(claims)

    assert (result.value, result.confidence) == (without.value, without.confidence)
    assert (alone.value, alone.confidence) == (equal.value, equal.confidence)
    assert alone.support == equal.support
    assert alone.working[0] == "no claim has any weight: all count the same"


@each(CASES)
@LAW
@given(data=st.data(), weight=st.sampled_from([0.1, 0.3, 3.0, 7.0]))
def test_equal_weights_weigh_the_same_whatever_they_are(
    case: Case, data: st.DataObject, weight: float
) -> None:
    claims = data.draw(case.claims())
    one = case.merge([replace(claim, weight=1.0) for claim in claims])
    other = case.merge([replace(claim, weight=weight) for claim in claims])

    assert (one.value, one.confidence) == (other.value, other.confidence)


@each(CASES)
@LAW
@given(data=st.data())
def test_every_claim_is_accounted_for_once(case: Case, data: st.DataObject) -> None:
    claims = data.draw(case.claims())
    result = case.merge(claims)

    assert [share.agent for share in result.support] == sorted(claim.agent for claim in claims)
    assert result.dissent == tuple(
        share.agent for share in result.support if share.position is Position.DISSENT
    )
    assert 0 <= result.confidence <= 1
    assert all(0 <= share.agreement <= 1 for share in result.support)
    for share in result.support:
        claim = next(claim for claim in claims if claim.agent == share.agent)
        if claim not in heard(claims):
            assert share.weight == 0
        elif claim.weight and share.weight != 1:
            assert share.weight == claim.weight
    assert result.rule.partition(" ")[0].endswith("@1")
    assert result.working
    assert not any("\n" in line for line in result.working)


@each(JSON_CASES)
@LAW
@given(data=st.data())
def test_json_comes_out_canonical_or_as_all_that_claim_it_write_it(
    case: Case, data: st.DataObject
) -> None:
    claims = data.draw(case.claims())
    content = case.merge(claims).value.content
    assert isinstance(content, str)

    plain = canonical(json.loads(content))
    written = {
        claim.value.content for claim in heard(claims) if canonical(claim.value.decoded()) == plain
    }
    assert content == (written.pop() if len(written) == 1 else plain)


@LAW
@given(data=st.data())
def test_what_a_confidence_is_moves_no_value_but_that_of_buckets(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from([CASES[name] for name in CASES if "buckets" not in name]))
    claims = data.draw(case.claims())
    other = [replace(claim, confidence=data.draw(CONFIDENCES)) for claim in claims]

    assert case.merge(claims).value == case.merge(other).value


NONE_AT_ALL = [
    ("weight", math.nan),
    ("weight", math.inf),
    ("weight", -0.1),
    ("confidence", math.nan),
    ("confidence", math.inf),
    ("confidence", -0.1),
    ("confidence", math.nextafter(1, 2)),
]


@each(CASES)
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_a_weight_or_confidence_that_is_none_is_refused_by_name(
    case: Case, data: st.DataObject
) -> None:
    claims = data.draw(case.claims())
    extra = Claim("zoe", case.value(data.draw(case.values)), 1.0, 1.0)

    for name, wrong in NONE_AT_ALL:
        wronged = (
            replace(extra, weight=wrong) if name == "weight" else replace(extra, confidence=wrong)
        )
        with pytest.raises(Invalid) as refusal:
            case.merge([*claims, wronged])
        assert refusal.value.field == f"claims[zoe].{name}"


def test_of_several_wrong_claims_the_first_agent_is_named_in_any_order() -> None:
    wrong = [Claim(agent, Value(Form.JSON, "1"), -1.0, 1.0) for agent in "cab"]

    for claims in (wrong, wrong[::-1]):
        with pytest.raises(Invalid) as refusal:
            merged(claims, MergeRules())
        assert refusal.value.field == "claims[a].weight"


@pytest.mark.parametrize("content", ["NaN", "Infinity", "-Infinity", "[NaN]", '{"a":1e999}', "{"])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_json_that_is_none_is_refused_by_name(content: str, weight: float) -> None:
    claims = [
        Claim("ann", Value(Form.JSON, "1"), 1.0, 1.0),
        Claim("zoe", Value(Form.JSON, content), weight, 1.0),
    ]
    with pytest.raises(Invalid) as refusal:
        merged(claims, MergeRules())
    assert refusal.value.field == "claims[zoe].value"
