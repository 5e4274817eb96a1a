"""Merging sets, and objects field by field. Values worked by hand."""

from __future__ import annotations

import json

import pytest

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.merging import Merged, MergeRules, merged
from lavagna_server.domain.merging import Testimony as Claim  # pytest would take it for a test
from lavagna_server.domain.values import Form, Value


def claim(agent: str, value: object, weight: float = 1, confidence: float = 1) -> Claim:
    return Claim(agent, Value(Form.JSON, json.dumps(value)), weight, confidence)


def merge(rules: MergeRules, *claims: Claim) -> Merged:
    result = merged(claims, rules)
    assert result is not None
    return result


def test_a_union_has_what_anyone_claims() -> None:
    result = merge(MergeRules(collection="union"), claim("a", ["x", "y"]), claim("b", ["z", "y"]))

    assert (result.value.content, result.rule) == ('["x","y","z"]', "union@1")
    assert result.confidence == 2 / 3
    assert result.dissent == ()


def test_an_element_needs_more_than_half_of_the_weight() -> None:
    result = merge(
        MergeRules(),
        claim("a", ["x", "y"], weight=2),
        claim("b", ["x", "z"]),
        claim("c", ["w"]),
    )

    assert (result.value.content, result.rule) == ('["x"]', "threshold@1")
    assert result.confidence == (2 * 0.5 + 0.5) / 4
    assert [share.position.value for share in result.support] == ["dissent", "dissent", "dissent"]
    assert result.working == (
        '"x": weight 3 of 4 (a, b): in',
        '"y": weight 2 of 4 (a): out',
        '"w": weight 1 of 4 (c): out',
        '"z": weight 1 of 4 (b): out',
        "in is what more than weight 2 claims",
    )


def test_a_threshold_is_the_decimal_that_it_says() -> None:
    claims = [claim(agent, ["x"] if agent in "abc" else []) for agent in "abcde"]

    assert merge(MergeRules(threshold=0.6), *claims).value.content == "[]"
    assert merge(MergeRules(threshold=0.59), *claims).value.content == '["x"]'


def test_order_and_what_stands_twice_say_nothing() -> None:
    result = merge(
        MergeRules(), claim("a", ["y", "x", "x"]), claim("b", ["x", "y"]), claim("c", ["y"])
    )

    assert result.value.content == '["x", "y"]', "as b writes it, who is alone to claim just that"
    assert [share.position.value for share in result.support] == ["same", "same", "dissent"]


def test_a_set_keeps_the_order_of_the_claims_when_they_share_one() -> None:
    result = merge(MergeRules(), claim("a", ["y", "x"]), claim("b", ["y", "x"]), claim("c", ["y"]))

    assert result.value.content == '["y", "x"]'


def test_numbers_in_a_set_stand_in_their_order() -> None:
    result = merge(MergeRules(collection="union"), claim("a", [10, "x", 9]), claim("b", [1.5]))

    assert result.value.content == '[1.5,9,10,"x"]'


def test_an_array_whose_order_counts_can_be_selected_whole() -> None:
    result = merge(
        MergeRules(collection="select"), claim("a", [2, 1]), claim("b", [1, 2], weight=2)
    )

    assert (result.value.content, result.rule) == ("[1, 2]", "select@1")


def test_each_field_is_merged_by_its_own_rule() -> None:
    rules = MergeRules(fields={"effort": "mean", "plan/effort": "max", "plan/a~1b": "min"})
    result = merge(
        rules,
        claim("a", {"effort": 1, "risk": "low", "plan": {"effort": 1, "a/b": 5}}),
        claim("b", {"effort": 2, "risk": "high", "plan": {"effort": 9, "a/b": 7}}, weight=2),
        claim("c", {"effort": 3, "risk": "low", "plan": {"effort": 4, "a/b": 6}}),
    )

    assert result.value.content == '{"effort":2,"plan":{"a/b":5,"effort":9},"risk":"high"}'
    assert result.rule == "fields@1"
    assert "effort: sum of weight x value 8 / weight 4 = 2" in result.working
    assert 'risk: "high" by weighted-plurality@1, against a, c' in result.working
    assert "plan: effort: greatest = 9" in result.working


def test_a_field_needs_more_than_half_of_the_weight() -> None:
    result = merge(
        MergeRules(), claim("a", {"x": 1, "y": 1}), claim("b", {"x": 1}), claim("c", {"z": 1}, 0.1)
    )
    assert result.value.content == '{"x": 1}'
    assert result.working[0] == "fields that more than half of the weight claims: 1 of 3"
    assert "y: no more than half: left out, against a" in result.working

    even = merge(MergeRules(), claim("a", {"x": 1}), claim("b", {"y": 1}))
    assert (even.value.content, even.confidence, even.dissent) == ("{}", 0, ("a", "b"))


def test_the_confidence_of_a_record_is_the_mean_over_its_fields() -> None:
    result = merge(
        MergeRules(),
        claim("a", {"x": "p", "y": "q"}, confidence=0.8),
        claim("b", {"x": "p", "y": "r"}, weight=0.5),
        claim("c", {"x": "p", "y": "q", "z": 1}, weight=0.5),
    )

    assert result.value.decoded() == {"x": "p", "y": "q"}
    agreements = [share.agreement for share in result.support]
    assert agreements == [1, 0.5, 2 / 3]
    assert [share.position.value for share in result.support] == ["same", "dissent", "near"]
    assert result.confidence == pytest.approx((0.8 + 0.5 * 0.5 + 0.5 * 2 / 3) / 2, rel=1e-15)


def test_a_field_of_different_types_is_merged_as_the_type_with_most_weight() -> None:
    result = merge(
        MergeRules(number="max"),
        claim("a", {"x": None}),
        claim("b", {"x": 5}),
        claim("c", {"x": 6}),
    )

    assert result.value.content == '{"x": 6}'
    assert "x: 2 of weight 3 claims a number: no say for a" in result.working
    assert "x: 6 by max@1 (mixed types), against a, b" in result.working

    even = merge(MergeRules(), claim("a", {"x": None}), claim("b", {"x": 5}))
    assert even.value.content == '{"x": 5}', "it comes before null in canonical JSON"
    assert "x: 5 by weighted-plurality@1 (mixed types), against a" in even.working


def test_an_override_that_is_for_another_type_leaves_the_rule_of_the_type() -> None:
    rules = MergeRules(fields={"x": "mean"})
    result = merge(rules, claim("a", {"x": ["p"]}), claim("b", {"x": ["p", "q"]}))

    assert result.value.content == '{"x": ["p"]}'
    assert any("by threshold@1" in line for line in result.working)


def test_select_overrides_every_type() -> None:
    rules = MergeRules(
        "median", "plurality", fields={"n": "select", "s": "select", "r": "select", "c": "select"}
    )
    two = {"n": 1, "s": [1], "r": {"q": 1}, "c": "x"}
    three = {"n": 9, "s": [1, 2], "r": {"q": 1, "p": 2}, "c": "y"}
    result = merge(rules, claim("a", two, weight=2), claim("b", three, weight=3))

    assert result.value.content == json.dumps(three)
    assert result.dissent == ("a",)
    assert 'c: "y" by weighted-plurality@1, against a' in result.working


def test_empty_objects_agree() -> None:
    result = merge(MergeRules(), claim("a", {}, confidence=0.4), claim("b", {}, confidence=0.6))

    assert (result.value.content, result.confidence) == ("{}", 0.5)


def test_a_probability_of_a_field_is_checked_too() -> None:
    with pytest.raises(Invalid, match="from 0 to 1"):
        merge(MergeRules(fields={"p": "log-pool"}), claim("a", {"p": 2}), claim("b", {"p": 0.5}))
