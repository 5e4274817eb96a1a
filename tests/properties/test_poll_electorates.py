"""Electorates: who votes, with what weight, under which caps; and what is refused before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from google.protobuf.duration_pb2 import Duration
from hypothesis import given, settings
from hypothesis import strategies as st

from lavagna.v1 import boards_pb2, consensus_pb2
from lavagna_server.domain.consensus.polls import (
    Ballot,
    Choice,
    Outcome,
    Poll,
    content_hash,
    poll_basis,
    poll_of,
)
from lavagna_server.domain.consensus.proposals import threshold
from lavagna_server.domain.entries import ChangeType, Entry, Kind, Operation
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.regions import Electorate, Voters
from lavagna_server.domain.standings import Standing, Standings
from lavagna_server.domain.values import Form, Value
from lavagna_server.rpc.codec.consensus import vote_from_wire
from lavagna_server.rpc.codec.regions import region_from_wire
from tests.desks import BOARD, LIMITS, json_value
from tests.integration.requests import BOARD as BOARD_NAME

LAW = settings(deadline=None, max_examples=200)
MEMBERS: Mapping[str, Collection[str]] = {
    "*": ("ada", "bob", "cyd", "dee"),
    "team:red": ("ada", "bob"),
    "team:none": (),
}
NAMES = st.sampled_from(["ada", "bob", "cyd", "dee", "eve", *MEMBERS])
WEIGHTS = st.sampled_from([1e-3, 0.1, 0.3, 1 / 3, 1.0, 1.0, 2.0, 7.7, 1e6])
GROUPS = st.fixed_dictionaries(
    {name: st.sampled_from(["", "bots", "people"]) for name in ("ada", "bob", "cyd", "dee", "eve")}
)
VOTERS = st.lists(st.builds(Voters, NAMES, WEIGHTS, st.booleans()), min_size=1, max_size=6)


def standings(groups: Mapping[str, str]) -> Standings:
    known = {agent: Standing(BOARD, agent, group=group) for agent, group in groups.items()}
    return Standings(BOARD, known, lambda name: MEMBERS.get(name, [name]))


@LAW
@given(VOTERS, GROUPS, st.sampled_from([0.0, 1.0, 1.5, 2.0]))
def test_no_group_weighs_more_than_its_cap_and_nobody_more_than_was_said(
    voters: list[Voters], groups: Mapping[str, str], cap: float
) -> None:
    everyone = standings(groups)
    free = everyone.electors(Electorate(tuple(voters)))
    capped = everyone.electors(Electorate(tuple(voters), group_cap=cap))

    assert [(each.agent, each.group, each.veto) for each in capped] == [
        (each.agent, each.group, each.veto) for each in free
    ]
    for group in {each.group for each in free}:
        said = [each.weight for each in free if each.group == group]
        counted = [each.weight for each in capped if each.group == group]
        assert all(one <= other for one, other in zip(counted, said, strict=True))
        total, most = math.fsum(counted), cap * max(said)
        if not cap or math.fsum(said) <= most:
            assert counted == said
        else:
            assert total <= most * (1 + 1e-15)
            assert total == pytest.approx(most, rel=1e-12)


@pytest.mark.guarantee("C1")
@LAW
@given(VOTERS, GROUPS, st.data())
def test_everybody_has_one_vote_however_often_it_is_named(
    voters: list[Voters], groups: Mapping[str, str], data: st.DataObject
) -> None:
    everyone = standings(groups)
    electors = everyone.electors(Electorate(tuple(voters)))
    names = [each.agent for each in electors]
    again = [*voters, *data.draw(st.lists(st.sampled_from(voters)))]

    assert names == sorted(set(names))
    assert everyone.electors(Electorate(tuple(again))) == electors
    for each in electors:
        first = next(one for one in voters if each.agent in MEMBERS.get(one.name, (one.name,)))
        assert (each.weight, each.veto) == (first.weight, first.veto)


@LAW
@given(VOTERS, GROUPS, st.sampled_from([0.0, 0.3, 0.5, 2 / 3, 1.0]))
def test_ten_copies_in_one_group_weigh_as_one_under_a_cap_of_one(
    voters: list[Voters], groups: Mapping[str, str], share: float
) -> None:
    terms = Electorate(tuple(voters), share=share, group_cap=1.0)
    electors = standings(groups).electors(terms)
    strongest: dict[str, Fraction] = {}
    for each in standings(groups).electors(Electorate(tuple(voters))):
        weight = Fraction(each.weight)
        strongest[each.group] = max(weight, strongest.get(each.group, Fraction(0)))
    needed, strict = threshold(terms, electors)

    assert strict == (share <= 0.5)
    assert needed == pytest.approx(float((share or 0.5) * sum(strongest.values())), rel=1e-5)


@pytest.mark.guarantee("C2")
def test_the_hash_tells_everything_apart_that_a_vote_is_about() -> None:
    labels = ((), None, (), None)
    kinds = [
        ("a", 0, Operation.PUT, json_value("x"), labels),
        ("b", 0, Operation.PUT, json_value("x"), labels),
        ("a", 1, Operation.PUT, json_value("x"), labels),
        ("a", 0, Operation.DELETE, json_value("x"), labels),
        ("a", 0, Operation.PUT, json_value("y"), labels),
        ("a", 0, Operation.PUT, Value(Form.TEXT, '"x"'), labels),
        ("a", 0, Operation.PUT, Value(Form.DATA, b'"x"'), labels),
        ("a", 0, Operation.PUT, json_value("x"), (("t",), None, (), None)),
        ("a", 0, Operation.PUT, json_value("x"), ((), 0.5, (), None)),
        ("a", 0, Operation.PUT, json_value("x"), ((), None, ("t",), None)),
        ("a", 0, Operation.PUT, json_value("x"), ((), None, (), "0:01:00")),
    ]
    assert len({content_hash(*each) for each in kinds}) == len(kinds)
    assert content_hash(*kinds[0]) == content_hash("a", 0, Operation.PUT, json_value("x"), labels)


@LAW
@given(VOTERS, GROUPS, st.lists(st.sampled_from(Choice), max_size=5), st.none() | st.integers(1))
def test_a_poll_reads_back_as_it_was_written(
    voters: list[Voters], groups: Mapping[str, str], said: list[Choice], seconds: int | None
) -> None:
    electors = standings(groups).electors(Electorate(tuple(voters), group_cap=1.0))
    ballots = tuple(
        Ballot(each.agent, choice, number / 7, version=number + 1)
        for number, (each, choice) in enumerate(zip(electors, said, strict=False))
    )
    ttl = None if seconds is None else timedelta(microseconds=min(seconds, 10**15))
    poll = Poll(
        "é/x", Operation.DELETE, 3, "ada", "hash", electors, 1 / 3, True, 2, ttl,
        Outcome.REJECTED, ballots, "é/x/1-0/@ada@1", "why “so”\n", timedelta(days=1),
    )  # fmt: skip
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    entry = Entry(
        Kind.PROPOSAL, "é/x/1-0", 2, 9, ChangeType.DECIDED, None, "ada", moment,
        basis=poll_basis(poll),
    )  # fmt: skip

    assert poll_of(entry) == poll


def region(**electorate: object) -> boards_pb2.SetRegionRequest:
    terms = {"voters": [boards_pb2.Voters(name="ada")]} | electorate
    return boards_pb2.SetRegionRequest(
        board=BOARD_NAME,
        region=boards_pb2.Region(
            path="design",
            policy=boards_pb2.POLICY_QUORUM,
            electorate=boards_pb2.Electorate(**terms),  # type: ignore[arg-type]
        ),
    )


BAD = (math.nan, math.inf, -math.inf, -1.0, 1e308)


@pytest.mark.parametrize("number", BAD)
@pytest.mark.parametrize("name", ["approvals", "share", "group_cap"])
def test_terms_that_are_no_numbers_to_count_with_are_refused(name: str, number: float) -> None:
    with pytest.raises(Invalid) as refused:
        region_from_wire(region(**{name: number}), BOARD, limits=LIMITS)
    assert refused.value.field == f"region.electorate.{name}"


@pytest.mark.parametrize("number", [*BAD, 1e-4, 5e-324])
def test_weights_that_are_no_numbers_to_count_with_are_refused(number: float) -> None:
    voters = [boards_pb2.Voters(name="ada"), boards_pb2.Voters(name="bob", weight=number)]
    with pytest.raises(Invalid) as refused:
        region_from_wire(region(voters=voters), BOARD, limits=LIMITS)
    assert refused.value.field == "region.electorate.voters[1].weight"


def test_a_deadline_longer_than_a_month_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        region_from_wire(region(deadline=Duration(seconds=2_678_400)), BOARD, limits=LIMITS)
    assert refused.value.field == "region.electorate.deadline"


def test_approvals_and_a_share_together_are_refused() -> None:
    with pytest.raises(Invalid, match="give either approvals or share, not both"):
        region_from_wire(region(approvals=2, share=0.5), BOARD, limits=LIMITS)


@pytest.mark.parametrize("number", [math.nan, math.inf, -0.1, 1.1])
def test_a_confidence_that_is_none_is_refused(number: float) -> None:
    vote = consensus_pb2.VoteRequest(
        proposal_key="design/1",
        choice=consensus_pb2.CHOICE_ACCEPT,
        confidence=number,
        content_hash="x",
    )
    with pytest.raises(Invalid) as refused:
        vote_from_wire(vote, limits=Limits())
    assert refused.value.field == "confidence"
