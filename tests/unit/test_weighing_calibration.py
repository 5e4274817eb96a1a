"""What stated confidences are worth, on cases worked by hand."""

from __future__ import annotations

import pytest

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.weighing.calibration import UNCALIBRATED, Calibration, Line

EMPTY = "[0,0,0]"


def learnt(*outcomes: tuple[float, int, int]) -> Calibration:
    """From a confidence, and how many claims that stated it were right and wrong."""
    calibration = UNCALIBRATED
    for confidence, right, wrong in outcomes:
        for number in range(right + wrong):
            calibration = calibration.observed(confidence, right=number < right)
    return calibration


def test_four_claims_count_as_much_as_what_was_stated() -> None:
    assert learnt((0.9, 2, 2)).probability(0.9) == pytest.approx((2 + 4 * 0.9) / (4 + 4))


def test_much_evidence_outweighs_what_was_stated() -> None:
    assert learnt((0.95, 600, 400)).probability(0.95) == pytest.approx(0.6, abs=0.002)


def test_one_claim_convicts_nobody() -> None:
    assert learnt((0.9, 0, 1)).probability(0.9) == pytest.approx(0.72)


def test_a_sure_agent_that_is_often_wrong_is_no_surer_where_it_never_claimed() -> None:
    calibration = learnt((0.9, 8, 12))

    assert calibration.probability(0.6) == pytest.approx((8 + 4 * 0.6) / 24)
    assert calibration.probability(0.1) == 0.1


def test_a_timid_agent_that_is_always_right_is_surer_above_what_it_stated() -> None:
    calibration = learnt((0.5, 20, 0))

    assert calibration.probability(0.5) == pytest.approx(22 / 24)
    assert calibration.probability(0.7) == pytest.approx((20 + 4 * 0.7) / 24)
    assert calibration.probability(0.4) == 0.4


def test_buckets_that_contradict_the_order_of_confidence_are_pooled() -> None:
    calibration = learnt((0.75, 4, 0), (0.85, 0, 4))

    assert calibration.probability(0.75) == pytest.approx((4 + 4 * 0.75) / 12)
    assert calibration.probability(0.85) == pytest.approx((4 + 4 * 0.85) / 12)


def test_buckets_in_the_order_of_confidence_stay_apart() -> None:
    calibration = learnt((0.65, 2, 2), (0.85, 4, 0))

    assert calibration.probability(0.65) == pytest.approx((2 + 4 * 0.65) / 8)
    assert calibration.probability(0.85) == pytest.approx((4 + 4 * 0.85) / 8)


def test_the_edges_of_buckets_are_where_people_write_them() -> None:
    calibration = learnt(*((number / 10, 1, 0) for number in range(11)))

    assert [line.claims for line in calibration.table()] == [1] * 9 + [2]


def test_the_table_shows_what_was_stated_seen_and_used() -> None:
    table = learnt((0.8, 1, 1), (0.86, 0, 2)).table()

    assert table[8] == Line(0.8, 0.9, 4, 0.83, 0.25, used=(1 + 4 * 0.83) / 8)
    assert table[3] == Line(0.3, 0.4, 0, None, None, used=(1 + 4 * 0.35) / 8)
    assert table[2] == Line(0.2, 0.3, 0, None, None, used=0.25)
    assert len(table) == 10


def test_a_calibration_is_written_as_the_counts_of_its_buckets() -> None:
    written = learnt((0.25, 1, 0), (1.0, 2, 1)).to_json()

    assert written == f"[{EMPTY},{EMPTY},[1,0,250000],{','.join([EMPTY] * 6)},[2,1,3000000]]"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[", "calibration"),
        ("{}", "calibration"),
        (f"[{EMPTY}]", "calibration"),
        (f"[{','.join([EMPTY] * 9)},[0,0]]", "calibration[9]"),
        (f"[{','.join([EMPTY] * 9)},7]", "calibration[9]"),
        (f"[{','.join([EMPTY] * 9)},[true,0,1000000]]", "calibration[9]"),
        (f"[{','.join([EMPTY] * 9)},[1.0,0,1000000]]", "calibration[9]"),
        (f"[{','.join([EMPTY] * 9)},[2,-1,1000000]]", "calibration[9]"),
        (f"[{','.join([EMPTY] * 9)},[1,0,500000]]", "calibration[9]"),
        (f"[{','.join([EMPTY] * 9)},[1,0,1000001]]", "calibration[9]"),
        (f"[{','.join([EMPTY] * 9)},[0,0,NaN]]", "calibration"),
        ("[" * 10_000, "calibration"),
    ],
)
def test_what_is_no_calibration_is_refused_by_its_bucket(text: str, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        Calibration.from_json(text, field="calibration")
    assert refused.value.field == field
