"""Laws of polls: an outcome follows from the terms and the ballots alone, comes as early as it can, and is never wrong about what was still open.

What should be is counted here with exact fractions, and with every way in which the open votes could still go.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lavagna_server.domain.consensus.polls import (
    Ballot,
    Choice,
    Elector,
    Outcome,
    Poll,
    outcome,
)
from lavagna_server.domain.consensus.proposals import threshold
from lavagna_server.domain.entries import Operation
from lavagna_server.domain.regions import Electorate

LAW = settings(deadline=None, max_examples=300)
AGENTS = ("ada", "bob", "cyd", "dee", "eve", "flo")
CHOICES = tuple(Choice)
SHARES = (0.0, 0.25, 0.5, 0.51, 2 / 3, 0.75, 1.0)
WEIGHTS = st.one_of(
    st.just(1.0),
    st.sampled_from([0.1, 0.2, 0.3, 0.7, 1 / 3, 2.0, 1e-3, 3e-3, 1e6, 333_333.3]),
)


def exact(number: float) -> Fraction:
    """The decimal that is meant by a number; a third is a third."""
    third = Fraction(number).limit_denominator(1_000)
    return third if float(third) == number else Fraction(repr(number))


@dataclass(frozen=True)
class Terms:
    """An electorate, and what it takes."""

    electors: tuple[Elector, ...]
    share: float = 0.0
    approvals: float = 0.0
    groups_min: int = 0

    @property
    def poll(self) -> Poll:
        """A poll on these terms."""
        terms = Electorate(share=self.share, approvals=self.approvals)
        needed, strict = threshold(terms, self.electors)
        return Poll(
            "design", Operation.PUT, 0, "ada", "hash", self.electors, needed, strict,
            groups_min=self.groups_min,
        )  # fmt: skip

    def accepts(self, said: Mapping[str, Choice]) -> bool:
        """Whether this is acceptance once nobody will say any more: by the words of the contract, counted exactly."""
        if any(each.veto and said.get(each.agent) is Choice.REJECT for each in self.electors):
            return False
        ayes = [each for each in self.electors if said.get(each.agent) is Choice.ACCEPT]
        weight = sum((exact(each.weight) for each in ayes), Fraction(0))
        total = sum((exact(each.weight) for each in self.electors), Fraction(0))
        if self.approvals:
            enough = weight >= exact(self.approvals)
        else:
            needed = exact(self.share or 0.5)
            enough = (
                weight > needed * total if needed <= Fraction(1, 2) else weight >= needed * total
            )
        return enough and len({each.group or each.agent for each in ayes}) >= self.groups_min


@st.composite
def some_terms(draw: st.DrawFn) -> Terms:
    """Terms of up to six electors."""
    electors = tuple(
        Elector(
            agent,
            draw(WEIGHTS),
            draw(st.sampled_from(["", "", "bots", "people"])),
            draw(st.sampled_from([False, False, False, True])),
        )
        for agent in AGENTS[: draw(st.integers(1, len(AGENTS)))]
    )
    groups_min = draw(st.integers(0, 3))
    if draw(st.booleans()):
        return Terms(electors, share=draw(st.sampled_from(SHARES)), groups_min=groups_min)
    approvals = draw(st.sampled_from([1e-10, 0.3, 1.0, 2.0, 3.0, 1e6]))
    return Terms(electors, approvals=approvals, groups_min=groups_min)


@st.composite
def votes(draw: st.DrawFn, terms: Terms) -> dict[str, Choice]:
    """What some of the electors say, in any order."""
    names = draw(st.permutations([each.agent for each in terms.electors]))
    voting = names[: draw(st.integers(0, len(names)))]
    return {name: draw(st.sampled_from(CHOICES)) for name in voting}


CASES = some_terms().flatmap(lambda terms: st.tuples(st.just(terms), votes(terms)))


def ballots(said: Mapping[str, Choice]) -> list[Ballot]:
    return [Ballot(agent, choice) for agent, choice in said.items()]


def came_to(terms: Terms, said: Mapping[str, Choice], *, is_over: bool = False) -> Outcome:
    return outcome(terms.poll, ballots(said), is_over=is_over)[0]


def completions(terms: Terms, said: Mapping[str, Choice]) -> Iterator[dict[str, Choice]]:
    """Every way in which those who have not voted could vote."""
    silent = [each.agent for each in terms.electors if each.agent not in said]
    for rest in product(CHOICES, repeat=len(silent)):
        yield dict(said) | dict(zip(silent, rest, strict=True))


@pytest.mark.guarantee("C3")
@LAW
@given(CASES)
def test_a_poll_is_decided_exactly_when_no_open_vote_could_change_it(
    case: tuple[Terms, dict[str, Choice]],
) -> None:
    terms, said = case
    could_be = {terms.accepts(each) for each in completions(terms, said)}
    stands = came_to(terms, said)

    assert (stands is Outcome.ACCEPTED) == (could_be == {True})
    assert (stands in {Outcome.REJECTED, Outcome.UNDECIDED}) == (could_be == {False})
    assert (stands is Outcome.OPEN) == (could_be == {True, False})


@pytest.mark.guarantee("C3")
@LAW
@given(CASES)
def test_undecided_is_a_tie_of_all_votes_and_nothing_else_before_the_deadline(
    case: tuple[Terms, dict[str, Choice]],
) -> None:
    terms, said = case
    sums = {
        choice: sum(exact(each.weight) for each in terms.electors if said.get(each.agent) is choice)
        for choice in CHOICES
    }
    is_tie = sums[Choice.ACCEPT] == sums[Choice.REJECT]
    assume(is_tie or len(said) == len(terms.electors))
    stands = came_to(terms, said)

    if stands is Outcome.UNDECIDED:
        assert is_tie
        assert len(said) == len(terms.electors)
    vetoed = any(each.veto and said.get(each.agent) is Choice.REJECT for each in terms.electors)
    if is_tie and len(said) == len(terms.electors) and not vetoed and not terms.accepts(said):
        assert stands is Outcome.UNDECIDED


@pytest.mark.guarantee("C3")
@LAW
@given(CASES)
def test_a_tie_wins_only_where_less_than_half_was_asked_for(
    case: tuple[Terms, dict[str, Choice]],
) -> None:
    terms, said = case
    assume(not terms.approvals and not 0 < terms.share < 0.5)
    swapped = {Choice.ACCEPT: Choice.REJECT, Choice.REJECT: Choice.ACCEPT}
    contrary = {agent: swapped.get(choice, choice) for agent, choice in said.items()}

    assert not (
        came_to(terms, said) is Outcome.ACCEPTED and came_to(terms, contrary) is Outcome.ACCEPTED
    )


@pytest.mark.guarantee("C1")
@LAW
@given(CASES, st.data())
def test_the_order_of_ballots_and_their_repetition_mean_nothing(
    case: tuple[Terms, dict[str, Choice]], data: st.DataObject
) -> None:
    terms, said = case
    given_ballots = ballots(said)
    assume(given_ballots)
    again = data.draw(st.lists(st.sampled_from(given_ballots), max_size=5))
    shuffled = data.draw(st.permutations([*given_ballots, *again]))

    for is_over in (False, True):
        assert outcome(terms.poll, shuffled, is_over=is_over) == outcome(
            terms.poll, given_ballots, is_over=is_over
        )


@pytest.mark.guarantee("C1")
@pytest.mark.field_report("F26")
@LAW
@given(CASES, st.lists(st.sampled_from(CHOICES), min_size=1, max_size=5))
def test_the_ballots_of_strangers_mean_nothing(
    case: tuple[Terms, dict[str, Choice]], strange: Sequence[Choice]
) -> None:
    terms, said = case
    strangers = [Ballot(f"stranger{number}", choice) for number, choice in enumerate(strange)]

    for is_over in (False, True):
        assert outcome(terms.poll, [*strangers, *ballots(said)], is_over=is_over) == outcome(
            terms.poll, ballots(said), is_over=is_over
        )


@pytest.mark.guarantee("C3")
@LAW
@given(CASES)
def test_one_more_acceptance_never_undoes_acceptance_and_one_more_rejection_never_brings_it(
    case: tuple[Terms, dict[str, Choice]],
) -> None:
    terms, said = case
    for is_over in (False, True):
        stands = came_to(terms, said, is_over=is_over)
        for elector in terms.electors:
            more = said | {elector.agent: Choice.ACCEPT}
            less = said | {elector.agent: Choice.REJECT}
            if stands is Outcome.ACCEPTED:
                assert came_to(terms, more, is_over=is_over) is Outcome.ACCEPTED
            elif elector.agent in said or not elector.veto:
                assert came_to(terms, less, is_over=is_over) is not Outcome.ACCEPTED


@pytest.mark.guarantee("C3")
@LAW
@given(CASES)
def test_abstaining_helps_no_proposal(case: tuple[Terms, dict[str, Choice]]) -> None:
    terms, said = case
    for elector in terms.electors:
        if elector.veto:
            continue
        abstained = came_to(terms, said | {elector.agent: Choice.ABSTAIN})
        against = came_to(terms, said | {elector.agent: Choice.REJECT})
        assert (abstained is Outcome.ACCEPTED) == (against is Outcome.ACCEPTED)


@pytest.mark.guarantee("C1")
@LAW
@given(CASES)
def test_the_deadline_leaves_nothing_open_and_adds_no_vote(
    case: tuple[Terms, dict[str, Choice]],
) -> None:
    terms, said = case
    at_the_end = came_to(terms, said, is_over=True)

    assert at_the_end is not Outcome.OPEN
    assert (at_the_end is Outcome.ACCEPTED) == terms.accepts(said)


def electors(count: int, weight: float = 1.0) -> tuple[Elector, ...]:
    return tuple(Elector(f"v{number}", weight) for number in range(count))


@pytest.mark.parametrize(
    ("share", "voters", "needed"),
    [
        (0.0, 3, 2), (0.0, 4, 3), (0.5, 2, 2), (0.5, 5, 3), (2 / 3, 3, 2), (2 / 3, 6, 4),
        (0.67, 3, 3), (0.6, 5, 3), (0.75, 4, 3), (0.9, 10, 9), (1.0, 7, 7), (0.25, 4, 2),
        (1 / 3, 3, 2), (0.1, 30, 4), (0.7, 10, 7), (2 / 3, 30, 20),
    ],
)  # fmt: skip
@pytest.mark.parametrize("weight", [1.0, 0.1, 1 / 3, 1e-10, 333_333.3])
def test_a_share_of_equal_voters_is_a_number_of_them(
    share: float, voters: int, needed: int, weight: float
) -> None:
    terms = Terms(electors(voters, weight), share=share)
    accepting = {each.agent: Choice.ACCEPT for each in terms.electors[:needed]}
    one_less = dict(list(accepting.items())[:-1])

    assert came_to(terms, accepting, is_over=True) is Outcome.ACCEPTED
    assert came_to(terms, one_less, is_over=True) is Outcome.UNDECIDED


@pytest.mark.guarantee("C3")
def test_where_all_must_agree_one_voice_against_rejects() -> None:
    terms = Terms(electors(3), share=1.0)
    stands, why = outcome(terms.poll, ballots({"v0": Choice.ACCEPT, "v1": Choice.REJECT}))

    assert stands is Outcome.REJECTED
    assert why == "1 of 3 accept, at least 3 needed, which cannot be reached any more"


@pytest.mark.parametrize("share", SHARES)
def test_an_electorate_of_nobody_accepts_nothing(share: float) -> None:
    for is_over in (False, True):
        assert came_to(Terms((), share=share), {}, is_over=is_over) is not Outcome.ACCEPTED


def test_no_threshold_is_beyond_what_can_be_counted() -> None:
    terms = Terms(electors(1_000, 1e6), share=2 / 3)
    accepting = {each.agent: Choice.ACCEPT for each in terms.electors[:667]}

    assert math.isfinite(terms.poll.threshold)
    assert came_to(terms, accepting) is Outcome.ACCEPTED
