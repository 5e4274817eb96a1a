"""What a word counts, on cases worked by hand."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.weighing.calibration import UNCALIBRATED
from lavagna_server.domain.weighing.weights import Scale, Voter, strength, weigh


def after(*voters: Voter, cap: float | None = 1.0, scale: Scale = Scale.LOG_ODDS) -> list[float]:
    return [each.after_cap for each in weigh(voters, group_cap=cap, scale=scale)]


def test_who_states_no_confidence_and_has_full_trust_counts_one() -> None:
    assert after(Voter("a")) == after(Voter("a"), scale=Scale.PROBABILITY) == [1.0]


def test_a_vote_counts_its_log_odds_as_a_share_of_those_of_99_in_100() -> None:
    assert strength(0.9, Scale.LOG_ODDS) == pytest.approx(math.log(9) / math.log(99))
    assert strength(0.5, Scale.LOG_ODDS) == 0
    assert strength(0.2, Scale.LOG_ODDS) == 0
    assert strength(0.99, Scale.LOG_ODDS) == 1


def test_between_four_values_one_in_four_is_chance() -> None:
    assert strength(0.25, Scale.LOG_ODDS, alternatives=4) == 0
    assert strength(0.5, Scale.LOG_ODDS, alternatives=4) == pytest.approx(
        math.log(3) / math.log(297)
    )


def test_log_odds_are_rounded_correctly_to_the_last_bit() -> None:
    counted = [strength(likely, Scale.LOG_ODDS).hex() for likely in (0.501, 0.6, 0.9)]

    assert counted == ["0x1.c8632c93a76c2p-11", "0x1.696c75ac2d7d1p-4", "0x1.e9a408b9d253ep-2"]


def test_a_number_is_weighed_by_trust_times_calibrated_confidence() -> None:
    calibration = UNCALIBRATED.observed(0.9, right=False)
    [weight] = weigh(
        [Voter("a", trust=0.5, confidence=0.9, calibration=calibration)],
        group_cap=None,
        scale=Scale.PROBABILITY,
    )

    assert weight.calibrated == pytest.approx(0.72)
    assert (weight.confidence, weight.strength) == (0.9, weight.calibrated)
    assert (weight.trust, weight.before_cap, weight.after_cap) == (0.5, 0.36, 0.36)


def test_ten_copies_of_one_model_are_one_witness() -> None:
    copies = [Voter(f"copy-{number}", "model") for number in range(10)]

    assert after(*copies, Voter("lone")) == [0.1] * 10 + [1.0]


def test_without_a_cap_ten_copies_are_ten_witnesses() -> None:
    copies = [Voter(f"copy-{number}", "model") for number in range(10)]

    assert after(*copies, cap=None) == [1.0] * 10


def test_copies_that_know_little_count_together_what_the_best_of_them_counts() -> None:
    one = strength(0.7, Scale.LOG_ODDS)
    copies = [Voter(f"copy-{number}", "model", confidence=0.7) for number in range(10)]

    assert math.fsum(after(*copies)) == pytest.approx(one)
    assert math.fsum(after(*copies, cap=2.5)) == pytest.approx(2.5 * one)


def test_thirteen_copies_never_add_up_to_more_than_one_of_them() -> None:
    copies = [Voter(f"copy-{number}", "model") for number in range(13)]

    assert after(*copies) == [0.076923076923] * 13


def test_a_capped_group_keeps_the_proportions_within_it() -> None:
    voters = (Voter("a", "m", trust=1.0), Voter("b", "m", trust=0.25), Voter("c", trust=0.25))

    assert after(*voters) == [0.8, 0.2, 0.25]


@pytest.mark.parametrize("order", list(permutations([("a", 0.1), ("b", 0.2), ("c", 0.3)])))
def test_shares_that_come_out_even_are_even_in_any_order(
    order: tuple[tuple[str, float], ...],
) -> None:
    assert after(*(Voter(agent, "m", trust) for agent, trust in order)) == [0.05, 0.1, 0.15]


def test_a_group_of_no_weight_is_not_divided_by() -> None:
    assert after(Voter("a", "m", trust=0.0), Voter("b", "m", confidence=0.5)) == [0.0, 0.0]


def test_an_agent_without_a_group_is_the_group_of_its_name() -> None:
    [alice, bob, carol] = weigh(
        [Voter("carol"), Voter("bob", "alice"), Voter("alice")], group_cap=1.0
    )

    assert (alice.group, bob.group, carol.group) == ("alice", "alice", "carol")
    assert (alice.after_cap, bob.after_cap, carol.after_cap) == (0.5, 0.5, 1.0)


def test_the_working_says_where_a_weight_comes_from() -> None:
    voters = [
        Voter("a", "m", trust=0.5, confidence=0.9),
        Voter("b", "m", trust=0.5, confidence=0.9),
    ]
    [first, _] = weigh(voters, group_cap=1.0)
    [number] = weigh([Voter("c", confidence=0.8)], group_cap=1.0, scale=Scale.PROBABILITY)

    assert first.working(Scale.LOG_ODDS) == (
        "a: states 0.9, calibrated 0.9, log odds 0.4782; times trust 0.5 = 0.2391; "
        "group m is capped, which leaves 0.1195"
    )
    assert number.working(Scale.PROBABILITY) == "c: states 0.8, calibrated 0.8; times trust 1 = 0.8"


def test_nobody_is_weighed_twice() -> None:
    with pytest.raises(Invalid, match="a is weighed twice") as refused:
        weigh([Voter("a"), Voter("b"), Voter("a", trust=0.5)], group_cap=None)
    assert refused.value.field == "agent"


@pytest.mark.parametrize("alternatives", [1, 0, -2, 1_000_001])
def test_a_vote_is_between_two_values_at_least(alternatives: int) -> None:
    with pytest.raises(Invalid) as refused:
        weigh([Voter("a")], group_cap=None, alternatives=alternatives)
    assert refused.value.field == "alternatives"


def test_nobody_weighs_nothing() -> None:
    assert weigh([], group_cap=1.0) == ()
