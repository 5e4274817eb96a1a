"""Merging the lines of texts: what is taken, what is marked, what is bounded."""

from __future__ import annotations

import pytest

from lavagna_server.domain.merging import Merged, MergeRules, lines, merged
from lavagna_server.domain.merging import Testimony as Claim  # pytest would take it for a test
from lavagna_server.domain.merging.differences import Change, Lines, changes
from lavagna_server.domain.values import Form, Value

BASE = "one\ntwo\nthree\nfour\n"


def merge(base: str | None, **texts: str) -> Merged:
    claims = [Claim(agent, Value(Form.TEXT, text), 1.0, 1.0) for agent, text in texts.items()]
    result = merged(claims, MergeRules(text="lines"), base=base)
    assert result is not None
    return result


def test_changes_in_different_places_are_all_taken() -> None:
    result = merge(
        BASE,
        ann="ONE\ntwo\nthree\nfour\n",
        bob="one\ntwo\nthree\n",
        cy="one\ntwo\nand a half\nthree\nfour\n",
    )

    assert result.value == Value(Form.TEXT, "ONE\ntwo\nand a half\nthree\n")
    assert (result.rule, result.conflicts, result.confidence) == ("lines@1", 0, 1)
    assert result.dissent == ()
    assert result.working == (
        "places changed from the base: 3, of them differently: 0",
        "lines 1 to 1 of the base: as changed by ann",
        "after line 2 of the base: as changed by cy",
        "lines 4 to 4 of the base: as changed by bob",
    )


def test_the_same_change_of_several_is_taken_once() -> None:
    result = merge(BASE, ann=BASE + "five\n", bob=BASE + "five\n", cy=BASE)

    assert result.value.content == BASE + "five\n"
    assert [share.position.value for share in result.support] == ["same", "same", "near"]


def test_one_change_stands_against_any_number_that_left_the_text_as_it_was() -> None:
    result = merge(BASE, ann=BASE, bob=BASE, cy="one\nzwei\nthree\nfour\n", dee=BASE)

    assert result.value.content == "one\nzwei\nthree\nfour\n"


def test_a_place_that_was_changed_differently_shows_all_of_it_and_who() -> None:
    result = merge(
        BASE,
        zoe="one\ndeux\nthree\nfour\n",
        bob="one\nzwei\nthree\nfour\n",
        ann="one\nzwei\nthree\nfour!\n",
        cy=BASE,
    )

    assert result.value.content == (
        "one\n"
        "<<<<<<< conflict 1 of 1\n"
        "+++++++ zoe\n"
        "deux\n"
        "+++++++ ann, bob\n"
        "zwei\n"
        "------- base, as cy left it\n"
        "two\n"
        ">>>>>>> end of conflict 1 of 1\n"
        "three\n"
        "four!\n"
    )
    assert result.conflicts == 1
    assert result.confidence == 0.5  # one of two changed places has no conflict
    assert result.dissent == ("ann", "bob", "zoe")
    assert result.working[1] == "lines 2 to 2 of the base: CONFLICT between zoe | ann, bob"


def test_changes_that_touch_are_one_place() -> None:
    result = merge(BASE, ann="one\nTWO\nthree\nfour\n", bob="one\ntwo\nTHREE\nfour\n")

    assert result.conflicts == 1
    assert "TWO\nthree\n" in str(result.value.content)
    assert "two\nTHREE\n" in str(result.value.content)


def test_a_change_that_overlaps_several_makes_one_place_of_them() -> None:
    result = merge(
        BASE, ann="all new\n", bob="one\nTWO\nthree\nfour\n", cy="one\ntwo\nthree\nFOUR\n"
    )

    assert result.conflicts == 1
    assert "+++++++ ann\nall new\n" in str(result.value.content)
    assert "+++++++ bob\none\nTWO\nthree\nfour\n" in str(result.value.content)
    assert "+++++++ cy\none\ntwo\nthree\nFOUR\n" in str(result.value.content)


def test_a_small_change_within_a_wide_one_is_a_conflict_over_all_of_it() -> None:
    result = merge(BASE, ann="all new\nfour\n", bob="one\nTWO\nthree\nfour\n")

    assert result.value.content == (
        "<<<<<<< conflict 1 of 1\n+++++++ ann\nall new\n+++++++ bob\none\nTWO\nthree\n"
        "------- base\none\ntwo\nthree\n>>>>>>> end of conflict 1 of 1\nfour\n"
    )


def test_a_deletion_against_a_change_is_a_conflict() -> None:
    result = merge(BASE, ann="one\nthree\nfour\n", bob="one\nTWO\nthree\nfour\n")

    assert result.value.content == (
        "one\n<<<<<<< conflict 1 of 1\n+++++++ ann\n+++++++ bob\nTWO\n------- base\ntwo\n"
        ">>>>>>> end of conflict 1 of 1\nthree\nfour\n"
    )


def test_two_conflicts_are_numbered() -> None:
    result = merge(BASE, ann="1\ntwo\nthree\n4\n", bob="I\ntwo\nthree\nIV\n")

    assert result.conflicts == 2
    assert "<<<<<<< conflict 2 of 2\n+++++++ ann\n4\n" in str(result.value.content)
    assert result.confidence == 0


def test_without_a_base_what_differs_is_a_conflict_and_what_does_not_is_none() -> None:
    assert merge(None, ann="x\ny", bob="x\ny").value.content == "x\ny"

    result = merge(None, ann="x\n", bob="y\n")
    assert result.value.content == (
        "<<<<<<< conflict 1 of 1\n+++++++ ann\nx\n\n+++++++ bob\ny\n\n>>>>>>> end of conflict 1 of 1"
    )
    assert result.working[0] == "places changed from nothing: 1, of them differently: 1"


@pytest.mark.parametrize("text", ["", "\n", "one", "one\n", "one\r\ntwo\r\n", "a\u2028b\x0cc"])
def test_a_text_comes_through_with_the_line_ends_that_it_has(text: str) -> None:
    for base in (None, "", BASE, text):
        assert merge(base, ann=text).value.content == text


def test_a_missing_last_line_end_is_a_change_like_any_other() -> None:
    result = merge(BASE, ann=BASE.rstrip("\n"), bob="ONE\ntwo\nthree\nfour\n")

    assert result.value.content == "ONE\ntwo\nthree\nfour"


@pytest.mark.parametrize(
    ("line", "marks"), [("-------", 8), ("<<<<<<<<<< x", 11), ("++++++", 7), ("=========", 7)]
)
def test_marks_are_longer_than_any_line_that_looks_like_one(line: str, marks: int) -> None:
    result = merge(f"{line}\ntwo", ann=f"{line}\n2", bob=f"{line}\nII")

    assert str(result.value.content).startswith(f"{line}\n{'<' * marks} conflict 1 of 1\n")
    assert f"\n{'-' * marks} base\n" in str(result.value.content)


def test_a_claim_of_no_weight_changes_no_line() -> None:
    claims = [
        Claim("ann", Value(Form.TEXT, BASE + "five\n"), 1.0, 1.0),
        Claim("bob", Value(Form.TEXT, "gone"), 0.0, 1.0),
    ]
    result = merged(claims, MergeRules(text="lines"), base=BASE)

    assert result is not None
    assert (result.value.content, result.dissent) == (BASE + "five\n", ("bob",))


def test_lines_that_stand_once_are_lined_up_and_only_what_is_between_is_compared() -> None:
    old = tuple(line for number in range(20) for line in (f"line {number}", ""))
    new = (*old[:6], "new", *old[7:30], "more", *old[30:])

    assert list(changes(old, new, steps_max=40)) == [
        Change(6, 7, ("new",)),
        Change(30, 30, ("more",)),
    ]


def test_what_stands_alike_at_both_ends_is_not_compared() -> None:
    old = (*("x",) * 50, "y", *("x",) * 60)

    assert list(changes(old, (*("x",) * 50, "z", *("x",) * 60), steps_max=0)) == [
        Change(50, 51, ("z",))
    ]


def test_lines_that_stand_often_are_compared_like_any_other() -> None:
    old = ("a", "b") * 300
    new = (*old[:100], "c", *old[100:500], "c", *old[500:])

    assert list(changes(old, new, steps_max=100_000)) == [
        Change(100, 100, ("c",)),
        Change(500, 500, ("c",)),
    ]


def test_changes_turn_one_text_into_the_other_even_where_lines_moved() -> None:
    old: Lines = ("a", "b", "c", "d", "b", "e")
    new = ("d", "a", "e", "b", "c")
    result: list[str] = list(old)
    for change in reversed(list(changes(old, new, steps_max=100))):
        result[change.start : change.end] = change.lines

    assert tuple(result) == new


def test_what_would_take_too_long_to_compare_is_one_change() -> None:
    old = ("a", *("x", "y") * 4, "b")
    new = ("a", *("y", "z") * 4, "b")

    assert len(list(changes(old, new, steps_max=63))) > 1
    assert list(changes(old, new, steps_max=62)) == [Change(1, 9, ("y", "z") * 4)]


@pytest.mark.parametrize(("steps_max", "conflicts"), [(48, 0), (47, 1)])
def test_the_bound_is_shared_by_all_texts_and_nothing_is_lost_beyond_it(
    monkeypatch: pytest.MonkeyPatch, steps_max: int, conflicts: int
) -> None:
    """Between its two changes Ann's text has as many steps of comparing to take as half of the bound; Bob's has none."""
    monkeypatch.setattr(lines, "COMPARED_STEPS_MAX", steps_max)
    base = "x\ny\nx\ny\nx\ny\nx\ny"
    ann, bob = "x\nA\nx\ny\nx\ny\nB\ny", "x\ny\nx\nC\nx\ny\nx\ny"
    both = merge(base, ann=ann, bob=bob)

    assert both.conflicts == conflicts
    assert both == merge(base, bob=bob, ann=ann)
    assert {"A", "B", "C"} <= set(str(both.value.content).split("\n"))
