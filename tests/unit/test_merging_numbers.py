"""Merging numbers: values worked by hand."""

from __future__ import annotations

import math

import pytest

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.merging import Merged, MergeRules, Position, merged
from lavagna_server.domain.merging import Testimony as Claim  # pytest would take it for a test
from lavagna_server.domain.values import Form, Value


def claims(*numbers: tuple[str, float] | tuple[str, float, float]) -> list[Claim]:
    """Claims of agents a, b, c…: the number as it is written, its weight and its confidence."""
    return [
        Claim(agent, Value(Form.JSON, content), weight, *(more or (1.0,)))
        for agent, (content, weight, *more) in zip("abcdefghijkl", numbers, strict=False)
    ]


def merge(rule: str, *numbers: tuple[str, float] | tuple[str, float, float]) -> Merged:
    result = merged(claims(*numbers), MergeRules(number=rule))
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("rule", "label", "expected"),
    [
        ("mean", "weighted-mean@1", "5.5"),  # (1x2 + 1x4 + 2x8) / 4
        ("median", "weighted-median@1", "4"),  # 1 and 1 of 4 say 4 or less: just half
        ("min", "min@1", "2"),
        ("max", "max@1", "8"),
        ("sum", "sum@1", "14"),
        ("select", "select@1", "8"),
    ],
)
def test_each_rule_makes_of_2_and_4_and_twice_8(rule: str, label: str, expected: str) -> None:
    result = merge(rule, ("2", 1), ("4", 1), ("8", 2))

    assert (result.value, result.rule) == (Value(Form.JSON, expected), label)


def test_a_median_that_was_folded_from_pair_to_pair_would_be_another() -> None:
    result = merge("median", ("1", 1), ("9", 1), ("2", 1), ("8", 1), ("7", 1))

    assert result.value.content == "7"


def test_outweighed_outliers_do_not_move_a_median() -> None:
    assert merge("median", ("5", 3), ("6", 3), ("1000000", 1)).value.content == "6"
    assert merge("median", ("5", 3), ("6", 3), ("1e300", 1)).value.content == "6"


def test_a_median_between_two_is_the_lower_and_said_to_be_a_tie() -> None:
    result = merge("median", ("3", 1), ("300", 1))

    assert result.value.content == "3"
    assert result.confidence == 0.505  # (1 + 3/300) / 2
    assert result.dissent == ("b",)
    assert result.working == (
        "3: weight 1 (a)",
        "300: weight 1 (b)",
        "a tie: half of weight 2 says 3 or less, half 300 or more: the lower = 3",
    )


def test_decimals_weigh_what_they_say() -> None:
    result = merge("median", ("1", 0.1), ("2", 0.2), ("3", 0.3))

    assert result.value.content == "2"
    assert "a tie" in result.working[-1]


def test_a_mean_of_decimals_is_the_decimal_that_people_expect() -> None:
    assert merge("mean", ("0.1", 1), ("0.2", 1)).value.content == "0.15"
    assert merge("mean", ("0.1", 1), ("0.2", 1), ("0.3", 1)).value.content == "0.2"
    assert merge("sum", ("0.1", 1), ("0.2", 1)).value.content == "0.3"


def test_integers_stay_integers_where_the_result_is_one() -> None:
    assert merge("mean", ("1", 1), ("3", 1)).value.content == "2"
    assert merge("mean", ("1", 1), ("2", 1)).value.content == "1.5"
    assert merge("mean", ("1", 1), ("3.0", 1)).value.content == "2.0"
    assert merge("sum", ("-1", 1), ("1", 1)).value.content == "0"


def test_integers_that_no_float_holds_are_rounded_to_integers() -> None:
    huge = 2**62
    result = merge("mean", (str(huge + 1), 1), (str(huge + 3), 1))
    assert result.value.content == str(huge + 2)

    result = merge("mean", (str(huge + 1), 1), (str(huge + 2), 1))
    assert result.value.content == str(huge + 2), "half to even"


def test_a_number_keeps_the_writing_that_all_who_claim_it_share() -> None:
    assert merge("median", ("5.50", 1), ("5.50", 1), ("1", 1)).value.content == "5.50"
    assert merge("median", ("5.50", 1), ("5.5", 1), ("1", 1)).value.content == "5.5"
    assert merge("median", ("1.0", 1), ("1", 1)).value.content == "1"


def test_a_sum_ignores_weights_and_takes_every_delta() -> None:
    result = merge("sum", ("5", 0.1, 0.5), ("-2", 9, 1.0))

    assert (result.value.content, result.confidence) == ("3", 0.75)
    assert result.dissent == ()
    assert [share.weight for share in result.support] == [1, 1]
    assert [share.position for share in result.support] == [Position.NEAR, Position.NEAR]


@pytest.mark.parametrize("pair", [(2**63 - 1, 1), (-(2**63), -1)])
def test_a_sum_beyond_64_bits_is_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(Invalid, match="64 bits") as refusal:
        merge("sum", (str(pair[0]), 1), (str(pair[1]), 1))
    assert refusal.value.field == "claims"


def test_a_sum_to_the_last_bit_is_taken() -> None:
    assert merge("sum", (str(2**63 - 2), 1), ("1", 1)).value.content == str(2**63 - 1)
    with pytest.raises(Invalid, match="64-bit float"):
        merge("sum", ("1.7e308", 1), ("1.7e308", 1))


def test_pools_of_probabilities_by_hand() -> None:
    assert merge("linear-pool", ("0.2", 1), ("0.8", 3)).value.content == "0.65"
    assert merge("log-pool", ("0.2", 1), ("0.8", 1)).value.content == "0.5"
    # Odds 1/4 and 4 and 4 have the geometric mean 4^(1/3); the pool is that over one more than that.
    odds = 4 ** (1 / 3)
    pooled = float(merge("log-pool", ("0.2", 1), ("0.8", 2)).value.content)
    assert math.isclose(pooled, odds / (1 + odds), rel_tol=1e-15)


def test_a_log_pool_is_not_ruled_by_one_claim_of_zero() -> None:
    result = merge("log-pool", ("0", 1), ("0.5", 1))

    # The odds of 0 are taken as 1e-6 / (1 - 1e-6), the mean log odds are half of theirs.
    odds = math.sqrt(1e-6 / (1 - 1e-6))
    assert math.isclose(float(result.value.content), odds / (1 + odds), rel_tol=1e-12)
    assert merge("log-pool", ("0", 1), ("0", 1)).value.content == "0"
    assert merge("log-pool", ("0", 1), ("1e-9", 1)).value.content == "1e-9"


@pytest.mark.parametrize("rule", ["linear-pool", "log-pool"])
@pytest.mark.parametrize("content", ["-0.1", "1.1", "2"])
def test_what_is_no_probability_is_refused_with_its_agent(rule: str, content: str) -> None:
    with pytest.raises(Invalid, match="from 0 to 1") as refusal:
        merge(rule, ("0.5", 1), (content, 1))
    assert refusal.value.field == "claims[b].value"


def test_the_confidence_is_lent_by_weight_as_far_as_claims_agree() -> None:
    # 10 agrees with 10 fully, 9.5 with 10 by 0.95, 2 with 10 by 0.2.
    result = merge("median", ("9.5", 1, 1.0), ("10", 2, 0.5), ("2", 0.5, 1.0), ("10", 0.5, 0.0))

    assert result.value.content == "10"
    assert result.confidence == (1 * 1 * 0.95 + 2 * 0.5 * 1 + 0.5 * 1 * 0.2 + 0) / 4
    assert [share.position.value for share in result.support] == ["near", "same", "dissent", "same"]
    assert [share.agreement for share in result.support] == [0.95, 1.0, 0.2, 1.0]
    assert [share.is_for for share in result.support] == [True, True, False, True]
    assert result.dissent == ("c",)


def test_just_a_tenth_apart_is_near_and_more_is_dissent() -> None:
    result = merge("max", ("10", 1), ("9", 1), ("8.99", 1))

    assert [share.position.value for share in result.support] == ["same", "near", "dissent"]


def test_numbers_on_two_sides_of_zero_do_not_agree() -> None:
    result = merge("max", ("-1", 1), ("1", 1), ("0", 1))

    assert [share.agreement for share in result.support] == [0, 1, 0]


def test_claims_of_no_weight_are_shown_but_not_heard() -> None:
    result = merge("mean", ("1", 1), ("100", 0), ("1", 0))

    assert result.value.content == "1"
    assert result.dissent == ("b",)
    assert [share.weight for share in result.support] == [1, 0, 0]
    assert result.working[0] == "without weight and so without a say: b, c"


def test_where_no_claim_has_weight_all_count_the_same() -> None:
    result = merge("mean", ("1", 0), ("3", 0))

    assert (result.value.content, [share.weight for share in result.support]) == ("2", [1, 1])
    assert result.working[0] == "no claim has any weight: all count the same"


def test_a_working_lists_no_more_than_people_read() -> None:
    many = [Claim(f"a{n:03}", Value(Form.JSON, str(n)), 1.0, 1.0) for n in range(100)]
    result = merged(many, MergeRules())

    assert result is not None
    assert result.value.content == "49"
    assert result.working[31:] == (
        "31: weight 1 (a031)",
        "… and more",
        "a tie: half of weight 100 says 49 or less, half 50 or more: the lower = 49",
    )


def test_an_agent_has_one_claim() -> None:
    with pytest.raises(Invalid, match="second") as refusal:
        merged([*claims(("1", 1)), *claims(("2", 1))], MergeRules())
    assert refusal.value.field == "claims[a]"
