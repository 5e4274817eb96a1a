"""How good voters are, estimated without knowing what was true."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.weighing.reliability import Answer, Estimate, estimated

CREW = {"ann": 0.95, "bob": 0.85, "cyd": 0.75, "dan": 0.65, "eve": 0.45}


def simulated(
    accuracies: Mapping[str, float], items: int, categories: str = "xyz"
) -> tuple[list[Answer], dict[str, str]]:
    """Answers of voters of known accuracy, and what was true."""
    chance = Random(1979)
    answers: list[Answer] = []
    truths: dict[str, str] = {}
    for number in range(items):
        item, truth = f"item-{number:04d}", int(chance.random() * len(categories))
        truths[item] = categories[truth]
        for voter, accuracy in accuracies.items():
            wrong = 1 + int(chance.random() * (len(categories) - 1))
            off = 0 if chance.random() < accuracy else wrong
            answers.append(Answer(item, voter, categories[(truth + off) % len(categories)]))
    return answers, truths


def right(estimate: Estimate, truths: Mapping[str, str]) -> float:
    """The share of items whose most probable category is the true one."""
    likeliest = {
        item.item: estimate.categories[item.shares.index(max(item.shares))]
        for item in estimate.items
    }
    return sum(likeliest[item] == truth for item, truth in truths.items()) / len(truths)


def test_the_reliability_of_every_simulated_voter_is_recovered() -> None:
    answers, truths = simulated(CREW, 800)
    estimate = estimated(answers)

    was_right = {
        voter: sum(each.category == truths[each.item] for each in answers if each.voter == voter)
        / 800
        for voter in CREW
    }
    assert {each.voter: each.accuracy for each in estimate.voters} == pytest.approx(
        was_right, abs=0.025
    )
    assert right(estimate, truths) > 0.93
    assert estimate.settled
    assert {each.answered for each in estimate.voters} == {800}


def test_a_few_items_are_enough_to_tell_the_good_from_the_bad() -> None:
    estimate = estimated(simulated({"ann": 0.95, "bob": 0.9, "cyd": 0.85, "eve": 0.4}, 12)[0])
    accuracy = {each.voter: each.accuracy for each in estimate.voters}

    assert accuracy["eve"] < min(accuracy["ann"], accuracy["bob"], accuracy["cyd"]) < 0.97


def test_two_that_are_always_right_are_believed_against_three_that_guess() -> None:
    crew = {"ann": 0.97, "bob": 0.97, "cyd": 0.4, "dan": 0.4, "eve": 0.4}
    answers, truths = simulated(crew, 300)
    votes: dict[str, list[str]] = {}
    for each in answers:
        votes.setdefault(each.item, []).append(each.category)
    majority = sum(
        max(sorted(said), key=said.count) == truths[item] for item, said in votes.items()
    )

    assert right(estimated(answers), truths) > majority / len(truths) + 0.05


def test_a_voter_that_mixes_up_two_categories_is_shown_to_do_just_that() -> None:
    answers, truths = simulated({"ann": 0.95, "bob": 0.95, "cyd": 0.95}, 300)
    mixed = {"x": "y", "y": "x", "z": "z"}
    answers += [Answer(item, "eve", mixed[truth]) for item, truth in truths.items()]
    eve = estimated(answers).voters[-1]

    assert eve.voter == "eve"
    assert min(eve.confusion[0][1], eve.confusion[1][0], eve.confusion[2][2]) > 0.9
    assert eve.accuracy == pytest.approx(1 / 3, abs=0.06)


def test_a_tie_between_two_that_nothing_tells_apart_stays_one() -> None:
    estimate = estimated([Answer("i", "ann", "x"), Answer("i", "bob", "y")])

    assert estimate.items[0].shares == (0.5, 0.5)
    assert [each.accuracy for each in estimate.voters] == pytest.approx([9 / 14, 9 / 14])


def test_hundreds_of_answers_to_one_item_do_not_vanish() -> None:
    answers = [Answer("i", f"voter-{number:04d}", "xy"[number % 3 == 0]) for number in range(3_000)]

    assert estimated(answers).items[0].shares == pytest.approx((1, 0))


def test_where_all_agree_nobody_is_doubted() -> None:
    estimate = estimated([Answer("i", "ann", "x"), Answer("i", "bob", "x")])

    assert [each.accuracy for each in estimate.voters] == [1, 1]


def test_nothing_is_estimated_from_nothing() -> None:
    assert estimated([]) == Estimate((), (), (), (), 0, settled=True)


def test_a_voter_has_one_answer_to_an_item() -> None:
    with pytest.raises(Invalid, match="ann answers i twice"):
        estimated([Answer("i", "ann", "x"), Answer("i", "ann", "y")])
