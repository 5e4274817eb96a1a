"""The experiment that `make bench` prints, smaller: weighed crews decide better than plain majorities."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tests.bench.judgement import BOLD_CREW, COPIES, METHODS, Crew, accuracies, table

QUESTIONS = 300


@cache
def bold() -> Mapping[str, float]:
    return accuracies(Crew("bold", BOLD_CREW), QUESTIONS)


@cache
def copies() -> Mapping[str, float]:
    return accuracies(Crew("copies", COPIES), QUESTIONS)


def test_calibrated_weights_decide_better_than_a_plain_majority() -> None:
    assert bold()["calibrated, as log odds"] > bold()["plain majority"] + 0.03
    assert bold()["calibrated, as probability"] > bold()["plain majority"] + 0.01


def test_what_the_overconfident_state_is_worse_than_a_plain_majority_until_it_is_calibrated() -> (
    None
):
    assert bold()["stated, as probability"] < bold()["plain majority"]
    assert bold()["calibrated, as log odds"] > bold()["stated, as log odds"] + 0.1


def test_log_odds_decide_better_than_probabilities_and_nearly_as_well_as_possible() -> None:
    assert bold()["calibrated, as log odds"] > bold()["calibrated, as probability"] + 0.01
    best = bold()["best possible: true log odds, capped"]
    assert bold()["calibrated, as log odds"] > best - 0.04


def test_ten_copies_of_a_bad_model_outvote_five_independent_voters_only_without_a_cap() -> None:
    assert copies()["plain majority"] < 0.65
    assert copies()["equal weights, capped"] > copies()["plain majority"] + 0.15
    assert copies()["calibrated, as log odds, capped"] > copies()["calibrated, as log odds"] + 0.15


def test_the_table_has_a_row_for_every_method() -> None:
    assert table(0.002).row_count == len(METHODS)
