"""Merging by vote: categories, whole values, claims of different types. Values worked by hand."""

from __future__ import annotations

import pytest

from lavagna_server.domain.merging import Merged, MergeRules, merged
from lavagna_server.domain.merging import Testimony as Claim  # pytest would take it for a test
from lavagna_server.domain.values import Form, Value


def json_claim(agent: str, content: str, weight: float = 1, confidence: float = 1) -> Claim:
    return Claim(agent, Value(Form.JSON, content), weight, confidence)


def text_claim(agent: str, content: str, weight: float = 1, confidence: float = 1) -> Claim:
    return Claim(agent, Value(Form.TEXT, content), weight, confidence)


def merge(rules: MergeRules, *claims: Claim) -> Merged:
    result = merged(claims, rules)
    assert result is not None
    return result


def test_plurality_counts_heads_and_weighted_plurality_weight() -> None:
    claims = (
        json_claim("a", '"x"', weight=3, confidence=0.5),
        json_claim("b", '"y"', confidence=0.9),
        json_claim("c", '"y"', confidence=0.6),
    )
    heads = merge(MergeRules(category="plurality"), *claims)
    assert (heads.value.content, heads.rule) == ('"y"', "plurality@1")
    assert heads.confidence == 0.5  # (0.9 + 0.6) / 3
    assert heads.dissent == ("a",)
    assert [share.weight for share in heads.support] == [1, 1, 1]

    weight = merge(MergeRules(), *claims)
    assert (weight.value.content, weight.rule) == ('"x"', "weighted-plurality@1")
    assert weight.confidence == 0.3  # 3 x 0.5 / 5
    assert weight.dissent == ("b", "c")
    assert weight.working == ('"x": 3 (a)', '"y": 2 (b, c)')


def test_a_tie_goes_to_the_first_in_canonical_json_whoever_claims_it() -> None:
    for one, other in (("a", "z"), ("z", "a")):
        result = merge(MergeRules(), json_claim(one, '"yes"'), json_claim(other, '"no"'))

        assert result.value.content == '"no"'
        assert result.confidence == 0.5
        assert result.dissent == (one,)
        assert result.working[-1] == 'a tie between 2: "no" comes first in canonical JSON'


def test_decimals_can_tie() -> None:
    result = merge(
        MergeRules(),
        json_claim("a", '"y"', weight=0.1),
        json_claim("b", '"y"', weight=0.2),
        json_claim("c", '"x"', weight=0.3),
    )

    assert result.value.content == '"x"'
    assert "a tie" in result.working[-1]


def test_words_and_true_and_null_are_categories_together() -> None:
    result = merge(
        MergeRules(), json_claim("a", "null"), json_claim("b", "true"), json_claim("c", "true")
    )

    assert (result.value.content, result.rule) == ("true", "weighted-plurality@1")


def test_one_sure_claim_beats_many_unsure_ones_in_buckets() -> None:
    result = merge(
        MergeRules(category="confidence-buckets"),
        json_claim("a", '"x"', confidence=0.9),
        json_claim("b", '"y"', weight=5, confidence=0.89),
        json_claim("c", '"y"', weight=5, confidence=0.7),
    )

    assert (result.value.content, result.rule) == ('"x"', "confidence-buckets@1")
    assert result.confidence == 0.9 / 11
    assert result.working[0] == '"x": >=0.9: 1 >=0.7: 0 >=0.5: 0 >=0.3: 0 >=0: 0 (a)'


def test_within_a_bucket_weight_counts_and_not_heads() -> None:
    result = merge(
        MergeRules(category="confidence-buckets"),
        json_claim("a", '"x"', weight=2.5),
        json_claim("b", '"a"'),
        json_claim("c", '"a"'),
    )

    assert result.value.content == '"x"'


def test_less_sure_claims_decide_what_the_sure_ones_leave_even() -> None:
    result = merge(
        MergeRules(category="confidence-buckets"),
        json_claim("a", '"x"', confidence=0.95),
        json_claim("b", '"y"', confidence=1.0),
        json_claim("c", '"y"', confidence=0.29),
        json_claim("d", '"x"', weight=0.5, confidence=0.3),
    )

    assert result.value.content == '"x"'


def test_equal_json_written_differently_is_one_value() -> None:
    rules = MergeRules(record="select")
    result = merge(
        rules,
        json_claim("a", '{"x": 1, "y": 2}'),
        json_claim("b", '{"y":2,"x":1}'),
        json_claim("c", "{}", weight=1.5),
    )
    assert (result.value.content, result.rule) == ('{"x":1,"y":2}', "select@1")

    alone = merge(rules, json_claim("a", '{"y": 2,  "x": 1}'), json_claim("c", "{}", weight=0.5))
    assert alone.value.content == '{"y": 2,  "x": 1}'


def test_texts_and_bytes_are_selected_whole() -> None:
    result = merge(MergeRules(), text_claim("a", "one\n"), text_claim("b", "two\n", weight=2))
    assert (result.value, result.rule) == (Value(Form.TEXT, "two\n"), "select@1")
    assert result.working == ('"two\\n": 2 (b)', '"one\\n": 1 (a)')

    data = [Claim(agent, Value(Form.DATA, b"\xff\x00"), 1, 1) for agent in "ab"]
    result = merge(MergeRules(text="lines"), *data, Claim("c", Value(Form.DATA, b""), 1, 1))
    assert (result.value, result.rule) == (Value(Form.DATA, b"\xff\x00"), "select@1")


def test_what_is_to_be_reconciled_is_open_as_long_as_claims_differ() -> None:
    rules = MergeRules(text="reconcile")
    result = merge(rules, text_claim("a", "one"), text_claim("b", "two", weight=2))
    assert (result.value.content, result.rule, result.is_open) == ("two", "reconcile@1", True)
    assert result.working[-1].startswith("open: ")

    result = merge(rules, text_claim("a", "two"), text_claim("b", "two", weight=2))
    assert (result.value.content, result.rule, result.is_open) == ("two", "reconcile@1", False)


def test_of_claims_of_different_types_the_type_with_most_weight_is_merged_by_its_rule() -> None:
    result = merge(
        MergeRules(number="mean"),
        json_claim("a", "5", confidence=0.9),
        json_claim("b", "10"),
        json_claim("c", '"six"', weight=1.5),
        text_claim("d", "6", weight=0.25),
    )

    assert (result.value.content, result.rule) == ("7.5", "weighted-mean@1 (mixed types)")
    assert result.confidence == pytest.approx((0.9 * 5 / 7.5 + 7.5 / 10) / 3.75)
    assert result.dissent == ("a", "b", "c", "d"), "no number is within a tenth of the mean"
    assert [share.agreement for share in result.support][2:] == [0, 0]
    assert result.working[0] == "2 of weight 3.75 claims a number: no say for c, d"


def test_many_who_claim_other_things_of_one_type_outweigh_one_of_another() -> None:
    """As whole values each of them weighs less than the stray one."""
    claims = [json_claim(agent, f'"{agent}"') for agent in "abc"]
    result = merge(MergeRules(), *claims, json_claim("d", "5", weight=2.5))

    assert (result.value.content, result.dissent) == ('"a"', ("b", "c", "d"))
    assert result.rule == "weighted-plurality@1 (mixed types)"


def test_where_types_weigh_the_same_whole_values_are_voted_on() -> None:
    result = merge(
        MergeRules(),
        json_claim("a", "5"),
        json_claim("b", "6"),
        json_claim("c", '"six"', weight=2),
        text_claim("d", "6", weight=0.5),
    )

    assert (result.value.content, result.rule) == ('"six"', "weighted-plurality@1 (mixed types)")
    assert result.confidence == 2 / 4.5
    assert result.dissent == ("a", "b", "d")


def test_texts_that_outweigh_other_types_are_merged_by_line() -> None:
    claims = [
        text_claim("a", "ONE\n\ntwo\n"),
        text_claim("b", "one\n\nTWO\n"),
        json_claim("c", "1"),
    ]
    result = merged(claims, MergeRules(text="lines"), base="one\n\ntwo\n")

    assert result is not None
    assert (result.value, result.rule) == (
        Value(Form.TEXT, "ONE\n\nTWO\n"),
        "lines@1 (mixed types)",
    )
    assert result.dissent == ("c",)


def test_a_text_and_json_of_the_same_letters_are_two_values() -> None:
    result = merge(
        MergeRules(), json_claim("a", '"x"'), text_claim("b", '"x"'), text_claim("c", '"x"')
    )

    assert result.value == Value(Form.TEXT, '"x"')
    assert result.dissent == ("a",)


@pytest.mark.parametrize("weight", [0.0, 1e-300, 1.0, 2.9])
def test_one_stray_type_leaves_the_rule_of_the_others(weight: float) -> None:
    result = merge(
        MergeRules(),
        json_claim("a", "5"),
        json_claim("b", "6"),
        json_claim("c", "7"),
        json_claim("d", '"?"', weight=weight),
    )

    mark = " (mixed types)" if weight else ""
    assert (result.value.content, result.rule) == ("6", f"weighted-median@1{mark}")
    assert "d" in result.dissent
