"""Exports: the whole log or a clear error, never a log with holes."""

from __future__ import annotations

from collections import Counter

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.consensus.polls import Outcome, poll_of
from lavagna_server.domain.entries import ChangeType, Kind, Occasion
from lavagna_server.domain.errors import Compacted, FutureRevision
from lavagna_server.domain.regions import Policy, Retention
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.engine.reads import ExportPart
from lavagna_server.engine.watches import Start
from tests.claimants import claimant
from tests.desks import Desk, json_value, revisions
from tests.voters import Voter, electorate, stand, voter


async def exported(desk: Desk, after: int = 0) -> list[ExportPart]:
    """All parts of an export of the shared space."""
    return [part async for part in desk.engine.reads.export(desk.caller, desk.shared, after)]


def exported_revisions(parts: list[ExportPart]) -> list[int]:
    """The revisions of the commits that an export gives."""
    return [seen.commit.revision for part in parts for seen in part.commits]


async def fill(desk: Desk, count: int = 4) -> None:
    """Writes an entry some times, a page of the log each."""
    for number in range(count):
        await desk.put("a", f"{number}" * 1_000_000)


@pytest.mark.guarantee("S4")
async def test_an_export_ends_with_an_error_when_what_comes_next_is_compacted_meanwhile(
    alice: Desk, engine: Engine
) -> None:
    await fill(alice)
    parts = engine.reads.export(alice.caller, alice.shared, 0)
    assert exported_revisions([await anext(parts)]) == [1]
    await engine.boards.compact(alice.call(), alice.shared, 4)

    with pytest.raises(Compacted) as compacted:
        async for _ in parts:
            pass
    assert compacted.value.oldest == 4


@pytest.mark.guarantee("S4")
async def test_an_export_ends_with_an_error_when_a_region_gives_up_what_comes_next(
    alice: Desk, engine: Engine, clock: ManualClock
) -> None:
    await alice.region("a", retention=Retention(versions_max=1))
    await fill(alice)
    parts = engine.reads.export(alice.caller, alice.shared, 0)
    assert exported_revisions([await anext(parts)]) == [1]
    await clock.advance(60)

    with pytest.raises(Compacted):
        async for _ in parts:
            pass


async def test_an_export_ends_where_the_log_stood_when_it_began(
    alice: Desk, engine: Engine
) -> None:
    await fill(alice)
    parts = engine.reads.export(alice.caller, alice.shared, 1)
    given = [await anext(parts)]
    await fill(alice)
    given += [part async for part in parts]

    assert exported_revisions(given) == [2, 3, 4]
    assert {part.space.head for part in given} == {4}


async def test_an_export_of_nothing_new_says_where_the_log_stands(alice: Desk) -> None:
    assert [part.space.head for part in await exported(alice)] == [0]
    await alice.put("a", 1)
    (part,) = await exported(alice, after=1)
    assert (part.space.head, part.commits) == (1, ())


@pytest.mark.guarantee("W9")
async def test_an_export_that_starts_in_the_future_is_refused(alice: Desk) -> None:
    await alice.put("a", 1)
    with pytest.raises(FutureRevision):
        await exported(alice, after=2)


@pytest.mark.guarantee("S8")
async def test_retention_never_uncovers_that_something_hidden_was_written(
    alice: Desk, bob: Desk, clock: ManualClock
) -> None:
    await alice.region("secret", readers=("alice",), retention=Retention(versions_max=1))
    for number in range(3):
        await alice.put("secret/plan", number)
    await bob.put("open", 1)
    await clock.advance(60)
    assert [commit.occasion for commit in await alice.commits() if not commit.entries] == [
        Occasion.WRITE, Occasion.WRITE, Occasion.COMPACTION,
    ]  # fmt: skip

    watcher = await bob.watch(start=Start(after=0))
    messages = await watcher.ready()

    assert revisions(messages) == [4, 5]
    assert [message.through for message in messages] == [5]
    assert exported_revisions(await exported(bob)) == [4, 5]
    watcher.close()


@pytest.fixture
async def council(engine: Engine) -> Voter:
    """Ada, on a board on which something was decided, something waits for votes, and something is claimed."""
    root, ada = voter(engine, "root", Role.ADMIN), voter(engine, "ada")
    await root.region("design", policy=Policy.QUORUM, electorate=electorate("ada", "bob", "cyd"))
    await root.region("effort", policy=Policy.WEIGHTED)
    await voter(engine, "bob").vote(await ada.propose("design", "log"))
    await ada.propose("design", "tree")
    await claimant(engine, "ada").claim("effort", 3)
    return ada


ALIVE = {
    (Kind.NOTE, "design"),
    (Kind.BALLOT, "design/000000000001-000/@ada"),
    (Kind.BALLOT, "design/000000000001-000/@bob"),
    (Kind.PROPOSAL, "design/000000000003-000"),
    (Kind.BALLOT, "design/000000000003-000/@ada"),
    (Kind.CLAIM, "effort/@ada"),
    (Kind.NOTE, "effort"),
}
"""What there is on that board; the decided proposal has ended."""


async def test_an_export_has_proposals_ballots_decisions_claims_and_what_they_came_to(
    council: Voter,
) -> None:
    seen = [each for part in await exported(council) for each in part.commits]
    told = [(entry.kind, entry.change) for each in seen for entry in each.entries]

    assert Counter(told) == {
        (Kind.PROPOSAL, ChangeType.PROPOSED): 2,
        (Kind.PROPOSAL, ChangeType.DECIDED): 1,
        (Kind.BALLOT, ChangeType.CREATED): 3,
        (Kind.NOTE, ChangeType.CREATED): 2,
        (Kind.CLAIM, ChangeType.CREATED): 1,
    }
    assert all(
        entry.basis for each in seen for entry in each.entries if entry.kind is not Kind.BALLOT
    )


async def test_after_a_compaction_an_export_begins_with_what_still_waits_and_what_is_claimed(
    council: Voter, engine: Engine
) -> None:
    root = voter(engine, "root", Role.ADMIN)
    await engine.boards.compact(root.call(), root.shared, 4)
    parts = await exported(council)

    assert {(entry.kind, entry.key) for part in parts for entry in part.state} == ALIVE
    (proposal,) = (each for part in parts for each in part.state if each.kind is Kind.PROPOSAL)
    assert poll_of(proposal).outcome is Outcome.OPEN


@pytest.mark.guarantee("C1")
async def test_a_vote_goes_on_after_a_compaction_and_a_watch_begins_with_what_there_is(
    council: Voter, engine: Engine
) -> None:
    root, bob = voter(engine, "root", Role.ADMIN), voter(engine, "bob")
    waiting = await engine.consensus.get(council.caller, "design/000000000003-000", ReadPoint())
    await engine.boards.compact(root.call(), root.shared, 4)
    watcher = await council.watch(start=Start(initial_state=True))
    messages = await watcher.ready()
    decided = await bob.vote(waiting.proposal)
    later = await watcher.ready()

    assert {(entry.kind, entry.key) for each in messages for entry in each.state} == ALIVE
    assert stand(decided).outcome is Outcome.ACCEPTED
    assert revisions(later) == [decided.newest.revision]
    assert (await council.get("design")).value == json_value("tree")
    resumed = await council.watch(start=Start(token=messages[-1].token))
    assert revisions(await resumed.ready()) == [decided.newest.revision]
    watcher.close()
    resumed.close()
