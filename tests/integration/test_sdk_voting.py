"""Agents that vote, on a real server: woken by what they may vote on, once each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

import lavagna
from lavagna import (
    ActivationState,
    Agent,
    Board,
    ChangeType,
    Choice,
    Electorate,
    Invalid,
    Kind,
    Limits,
    Outcome,
    Policy,
    Put,
    Region,
    Source,
    Work,
    testing,
)
from lavagna.testing import LocalServer
from tests.integration.agenda_looks import settled

sdk: Any = lavagna
"""The SDK as programs without types use it."""


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def board(server: LocalServer) -> AsyncGenerator[Board]:
    """A board whose design is decided by two of three, as the first of them sees it."""
    electorate = Electorate(["ada", "bob", "eve"], approvals=2)
    async with server.connect("ada") as each:
        await each.regions.set(Region("design", policy=Policy.QUORUM, electorate=electorate))
        yield each


async def test_an_agent_votes_with_its_reasons_and_the_ballot_says_what_caused_it(
    board: Board,
) -> None:
    judge = Agent("bob")

    @judge.votes_on("design/*")
    async def weigh(work: Work) -> tuple[Choice, float, str]:
        assert work.proposal is not None
        assert (work.proposal.author, work.proposal.target) == ("ada", "design/store")
        assert work.bind["proposal"] == work.proposal.key.rpartition("/")[2]
        return Choice.ACCEPT, 0.7, f"{work.proposal.value} is fast"

    async with judge.joined(board):
        proposal = await board.propose("design/store", "log")
        decided = await board.proposals.wait(proposal, timeout=20)
        (done,) = await settled(board, state=ActivationState.COMPLETED)
    assert decided.outcome is Outcome.ACCEPTED
    ballot = decided.ballot("bob")
    assert ballot is not None
    assert (ballot.confidence, ballot.reason) == (0.7, "log is fast")
    entry = await board.get(f"{proposal.key}/@bob", kind=Kind.BALLOT)
    assert entry.cause is not None
    assert (entry.cause.trigger_id, entry.cause.activation_id) == ("bob.weigh", done.id)
    assert (await board.get("design/store")).cause == entry.cause


async def test_words_do_for_choices_and_the_condition_sees_what_is_proposed(board: Board) -> None:
    judge = Agent("bob", concurrency=3)

    @judge.votes_on("**", when="entry.value.cost > 5", name="bob.thrift")
    async def refuse(work: Work) -> Any:
        return "reject"

    @judge.votes_on("design/{part}", when="entry.value.cost <= 5 && entry.author == 'ada'")
    async def accept(work: Work) -> Any:
        assert work.bind["part"] in {"a", "b"}
        return "accept", None, ""

    async with judge.joined(board):
        cheap = await board.propose("design/a", {"cost": 1})
        dear = await board.propose("design/b", {"cost": 9})
        assert (await board.proposals.wait(cheap, timeout=20)).outcome is Outcome.ACCEPTED
        await settled(board, state=ActivationState.COMPLETED, count=2)
    ballot = (await board.proposals.get(dear.key)).ballot("bob")
    assert ballot is not None
    assert ballot.choice is Choice.REJECT


async def test_who_joins_late_votes_on_what_is_open_and_not_on_its_own(board: Board) -> None:
    bob = board.as_agent("bob")
    own = await bob.propose("design/own", 1)
    voted_by_hand = await board.propose("design/voted", 2)
    await bob.vote(voted_by_hand, Choice.REJECT)
    decided = await board.propose("design/decided", 3)
    await board.as_agent("eve").vote(decided, Choice.ACCEPT)
    waiting = await board.propose("design/waiting", 4)
    asked: list[str] = []
    judge = Agent("bob")

    @judge.votes_on("design/**")
    async def weigh(work: Work) -> Choice:
        assert work.proposal is not None
        asked.append(work.proposal.target)
        return Choice.ACCEPT

    async with judge.joined(board):
        await board.proposals.wait(waiting, timeout=20)
        await bob.propose("design/own-again", 5)
        done = await settled(board, state=ActivationState.COMPLETED, count=3)
    assert asked == ["design/waiting"]
    assert {each.key for each in done} == {own.key, voted_by_hand.key, waiting.key}
    ballot = (await board.proposals.get(voted_by_hand.key)).ballot("bob")
    assert ballot is not None
    assert (ballot.choice, ballot.version) == (Choice.REJECT, 1)


async def test_who_has_no_vote_is_not_asked(board: Board) -> None:
    stranger = Agent("mia")

    @stranger.votes_on("design")
    async def weigh(work: Work) -> Choice:
        raise AssertionError("it has no vote")

    async with stranger.joined(board):
        await board.propose("design", "log")
        await settled(board, state=ActivationState.COMPLETED)


@pytest.mark.guarantee("C1")
async def test_a_ballot_that_comes_too_late_is_passed_over_quietly(board: Board) -> None:
    judge = Agent("bob")
    looked, decided = asyncio.Event(), asyncio.Event()

    @judge.votes_on("design")
    async def ponder(work: Work) -> Choice:
        looked.set()
        await decided.wait()
        return Choice.REJECT

    async with judge.joined(board):
        proposal = await board.propose("design", "log")
        await looked.wait()
        await board.as_agent("eve").vote(proposal, Choice.ACCEPT)
        decided.set()
        (done,) = await settled(board, state=ActivationState.COMPLETED)
    assert (done.attempt, done.reason) == (1, "")
    ended = await board.proposals.get(proposal.key)
    assert (ended.outcome, ended.ballot("bob")) == (Outcome.ACCEPTED, None)


async def test_what_is_decided_before_it_is_looked_at_is_not_offered(board: Board) -> None:
    judge = Agent("bob")

    @judge.votes_on("design")
    async def weigh(work: Work) -> Choice:
        raise AssertionError("it is decided")

    async with judge.joined(board):
        pass
    proposal = await board.propose("design", "log")
    await board.as_agent("eve").vote(proposal, Choice.ACCEPT)
    (gone,) = await settled(board, state=ActivationState.OBVIATED)
    assert gone.key == proposal.key


async def test_no_choice_casts_no_ballot_and_the_function_may_settle_itself(board: Board) -> None:
    judge = Agent("bob", concurrency=2)

    @judge.votes_on("design/a")
    async def pass_over(work: Work) -> None:
        return None

    @judge.votes_on("design/b")
    async def give_up(work: Work) -> Choice:
        await work.fail("no idea", final=True)
        return Choice.ACCEPT

    async with judge.joined(board):
        await board.commit(Put("design/a", 1), Put("design/b", 2))
        await settled(board, state=ActivationState.COMPLETED)
        (dead,) = await settled(board, state=ActivationState.DEAD)
    assert dead.reason == "no idea"
    assert [
        each.ballot("bob") async for each in board.proposals.list() if each.target == "design/b"
    ] == [None]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (True, "ballot: expected a choice, or (choice, confidence, reason), not True (bool)"),
        ("yes", "ballot: expected one of accept, reject, abstain, not 'yes'"),
        ("unknown", "choice: expected one of accept, reject, abstain, not 'unknown'"),
        (("accept", 0.5), "ballot: expected a choice, or (choice, confidence, reason)"),
        (("accept", "high", ""), "confidence: expected a finite number, not str"),
        (("accept", 0.5, None), "reason: expected text, not NoneType"),
    ],
)
async def test_a_ballot_that_is_none_fails_the_attempt(
    board: Board, said: Any, reason: str
) -> None:
    judge = Agent("bob")

    @judge.votes_on("design", limits=Limits(attempts_max=1))
    async def weigh(work: Work) -> Any:
        return said

    async with judge.joined(board):
        await board.propose("design", "log")
        (dead,) = await settled(board, state=ActivationState.DEAD)
    assert dead.reason == f"Invalid: {reason}"


async def test_the_owner_decides_what_others_propose(board: Board) -> None:
    await board.regions.set(Region("goal", policy=Policy.OWNER, owner="ceo"))
    ceo = Agent("ceo")

    @ceo.votes_on("goal")
    async def decide(work: Work) -> Choice:
        assert work.proposal is not None
        return Choice.ACCEPT if work.proposal.value == "a better game" else Choice.REJECT

    async with ceo.joined(board):
        better = await board.propose("goal", "a better game")
        assert (await board.proposals.wait(better, timeout=20)).outcome is Outcome.ACCEPTED
        worse = await board.propose("goal", "no game", expected_version=1)
        assert (await board.proposals.wait(worse, timeout=20)).outcome is Outcome.REJECTED
    assert (await board.get("goal")).value == "a better game"


async def test_ballots_and_claims_wake_only_who_asks_for_them(board: Board) -> None:
    reader = Agent("reader", concurrency=4)
    notes: list[str] = []
    ended: list[str] = []

    @reader.on("design/**", mode="every")
    async def read(work: Work) -> None:
        notes.append(work.activation.key)

    @reader.on(
        Source("design/*", kinds=[Kind.PROPOSAL], changes=[ChangeType.DECIDED]), mode="every"
    )
    async def follow(work: Work) -> None:
        assert work.entry is not None
        ended.append(work.entry.basis["poll"]["outcome"])

    async with reader.joined(board):
        proposal = await board.propose("design", "log")
        await board.as_agent("eve").vote(proposal, Choice.ACCEPT)
        await settled(board, state=ActivationState.COMPLETED, count=2)
    assert (notes, ended) == (["design"], ["accepted"])


def test_what_cannot_wake_a_voter_is_refused_by_its_name() -> None:
    judge = sdk.Agent("bob")
    with pytest.raises(Invalid, match=r"patterns: name the entries that would change, without"):
        judge.votes_on("design/{proposal}")
    with pytest.raises(Invalid, match="patterns: expected text, not 5"):
        judge.votes_on(5)
    with pytest.raises(Invalid, match="changes: a note is never proposed or decided"):
        judge.on("design/*", changes=[ChangeType.PROPOSED])
    with pytest.raises(TypeError, match="plain is not a coroutine function"):
        judge.votes_on("design")(plain)


def plain(work: Work) -> Choice:
    """A function that nothing can await."""
    return Choice.ACCEPT
