"""Reliability: how good each voter is, estimated from past decisions without knowing what was true; for people, offline.

Expectation maximisation after Dawid & Skene, "Maximum likelihood estimation of observer error-rates using the EM algorithm" (Applied Statistics
28, 1979): the voters' confusion matrices follow from what probably was true, and that follows from the matrices. It starts from the shares of the votes, as
theirs does. So that a few items do not make a voter perfect or hopeless, each row of a matrix starts with imagined answers (a Dirichlet prior; Kim &
Ghahramani, "Bayesian classifier combination", AISTATS 2012). It assumes that voters err independently; copies of one model look better than they are.

Everything is computed in the order of names with the four basic operations, which all machines round alike.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from lavagna_server.domain.errors import Invalid

IMAGINED_RIGHT = 2.0
IMAGINED_WRONG = 1.0
"""Answers that each voter is imagined to have given: so many right ones where a category was true, and so many of each wrong one."""
ROUNDS_MAX = 100
TOLERANCE = 1e-6
"""The estimate has settled when no probability of an item moves further in a round."""

Shares: TypeAlias = tuple[float, ...]
"""A number for each category, in the estimate's order; they sum up to 1."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a voter said about an item."""

    item: str
    voter: str
    category: str


@dataclass(frozen=True, slots=True)
class Reliability:
    """How good a voter is thought to be."""

    voter: str
    answered: int
    """On how many items it rests."""
    accuracy: float
    """The probability that it is right about an item like these."""
    confusion: tuple[Shares, ...]
    """For each category that may be true, how often it says which."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is thought to be true of an item."""

    item: str
    shares: Shares
    """The probability of each category."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Voters and items, each by name."""

    categories: tuple[str, ...]
    prevalence: Shares
    """How often each category is true."""
    voters: tuple[Reliability, ...]
    items: tuple[Truth, ...]
    rounds: int
    settled: bool
    """Whether it stopped by itself, and not after `ROUNDS_MAX` rounds."""


_Table: TypeAlias = Mapping[str, Sequence[tuple[str, int]]]
"""For each item who said what, a category by its place; all in the order of names."""
_Matrix: TypeAlias = tuple[Shares, ...]


def estimated(answers: Iterable[Answer]) -> Estimate:
    """Every voter's reliability and every item's probable truth.

    Raises:
        Invalid: A voter answers an item twice.
    """
    ordered = sorted(answers, key=lambda each: (each.item, each.voter))
    _check_single(ordered)
    categories = tuple(sorted({each.category for each in ordered}))
    places = {category: place for place, category in enumerate(categories)}
    table: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for each in ordered:
        table[each.item].append((each.voter, places[each.category]))
    width = len(categories)
    truths = [_vote_shares(said, width) for said in table.values()]
    rounds, settled = 0, not table
    while not settled and rounds < ROUNDS_MAX:
        prevalence, matrices = _learnt(table, truths, width)
        newer = [_judged(said, prevalence, matrices) for said in table.values()]
        settled = _distance(truths, newer) <= TOLERANCE
        truths, rounds = newer, rounds + 1
    prevalence, matrices = _learnt(table, truths, width)
    answered = Counter(each.voter for each in ordered)
    return Estimate(
        categories,
        prevalence,
        tuple(
            Reliability(voter, answered[voter], _accuracy(matrix, prevalence), matrix)
            for voter, matrix in sorted(matrices.items())
        ),
        tuple(Truth(item, shares) for item, shares in zip(table, truths, strict=True)),
        rounds,
        settled,
    )


def _check_single(ordered: Sequence[Answer]) -> None:
    for before, after in pairwise(ordered):
        if (before.item, before.voter) == (after.item, after.voter):
            raise Invalid("answers", f"{after.voter} answers {after.item} twice")


def _vote_shares(said: Sequence[tuple[str, int]], width: int) -> Shares:
    votes = Counter(place for _, place in said)
    return tuple(votes[place] / len(said) for place in range(width))


def _learnt(
    table: _Table, truths: Sequence[Shares], width: int
) -> tuple[Shares, Mapping[str, _Matrix]]:
    """The M step: how often each category is true, and each voter's confusion matrix."""
    cells: defaultdict[str, list[list[list[float]]]] = defaultdict(
        lambda: [[[] for _ in range(width)] for _ in range(width)]
    )
    for said, shares in zip(table.values(), truths, strict=True):
        for voter, place in said:
            for true, share in enumerate(shares):
                cells[voter][true][place].append(share)
    prevalence = _normal([math.fsum(shares) + 1.0 for shares in zip(*truths, strict=True)])
    return prevalence, {
        voter: tuple(
            _normal(
                [
                    math.fsum(cell) + (IMAGINED_RIGHT if place == true else IMAGINED_WRONG)
                    for place, cell in enumerate(row)
                ]
            )
            for true, row in enumerate(rows)
        )
        for voter, rows in cells.items()
    }


def _judged(
    said: Sequence[tuple[str, int]], prevalence: Shares, matrices: Mapping[str, _Matrix]
) -> Shares:
    """The E step: how probably each category is true of an item."""
    shares = prevalence
    for voter, place in said:
        matrix = matrices[voter]
        # Made to sum up to 1 after each voter: a product of hundreds would vanish.
        shares = _normal([share * row[place] for share, row in zip(shares, matrix, strict=True)])
    return shares


def _accuracy(matrix: _Matrix, prevalence: Shares) -> float:
    return math.fsum(
        share * row[true] for true, (share, row) in enumerate(zip(prevalence, matrix, strict=True))
    )


def _normal(numbers: Sequence[float]) -> Shares:
    total = math.fsum(numbers)
    return tuple(number / total for number in numbers)


def _distance(before: Sequence[Shares], after: Sequence[Shares]) -> float:
    return max(
        abs(new - old)
        for olds, news in zip(before, after, strict=True)
        for old, new in zip(olds, news, strict=True)
    )
