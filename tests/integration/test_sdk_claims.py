"""Claims through the SDK, on a real server: what they are merged into, and what is learnt from them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from lavagna import Board, Conflict, Kind, NotFound, Policy, Region, Standing, testing
from lavagna.testing import LocalServer


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def board(server: LocalServer) -> AsyncGenerator[Board]:
    async with server.connect("ada") as each:
        yield each


@pytest.fixture
async def merged(board: Board) -> Board:
    """A board whose estimates are merged, as one of the estimators sees it."""
    await board.regions.set(Region("effort", policy=Policy.WEIGHTED, owner="ada"))
    return board


async def test_a_standing_is_changed_only_as_it_was_seen(board: Board) -> None:
    assert await board.agents.standing("bob") == Standing("bob")
    said = await board.agents.set_standing(Standing("bob", trust=0.0, group="small-model"))
    assert said == Standing("bob", 0.0, "small-model", version=1)
    later = await board.agents.set_standing(replace(said, trust=0.5))
    assert await board.agents.standing("bob") == later
    with pytest.raises(Conflict):
        await board.agents.set_standing(replace(said, trust=1.0))


async def test_claims_are_merged_withdrawn_and_explained(merged: Board) -> None:
    bob, eve = merged.as_agent("bob"), merged.as_agent("eve")
    first = await merged.claim("effort", 3, confidence=0.8, sources=["my gut"])
    assert (first.claim.key, first.claim.kind) == ("effort/@ada", Kind.CLAIM)
    assert (first.claim.sources, first.merged.value) == (("my gut",), 3)
    await bob.claim("effort", 5)
    written = await eve.put("effort", 40, confidence=0.2)
    assert (written.kind, written.key) == (Kind.CLAIM, "effort/@eve")

    entry = await merged.get("effort")
    assert (entry.value, entry.basis["merge"]["rule"]) == (5, "weighted-median@1")
    told = await merged.explain("effort")
    assert told.entry == entry
    assert (told.policy, told.rule, told.open, told.conflicts) == (
        Policy.WEIGHTED,
        "weighted-median@1",
        False,
        0,
    )
    assert [(each.agent, each.confidence) for each in told.contributions] == [
        ("ada", 0.8),
        ("bob", 1.0),
        ("eve", 0.2),
    ]
    assert told.contributions[0].claim == first.claim
    assert "eve" in told.dissent
    assert "weighted-median@1" in " ".join(told.lines)
    assert (await merged.explain("effort", at=first.claim.revision)).dissent == ()

    assert [each.author async for each in merged.claims.list("effort")] == ["ada", "bob", "eve"]
    without = await eve.withdraw("effort")
    assert without is not None
    assert [each.author async for each in merged.claims.list("effort")] == ["ada", "bob"]
    assert without == await merged.get("effort")
    await bob.withdraw("effort")
    assert await merged.withdraw("effort") is None
    assert await merged.find("effort") is None
    with pytest.raises(NotFound):
        await merged.withdraw("effort")


async def test_a_claim_that_expires_leaves_the_merge(server: LocalServer, merged: Board) -> None:
    await merged.claim("effort", 3)
    await merged.as_agent("bob").claim("effort", 9, confidence=0.9, ttl=60)
    await server.clock.advance(60)
    assert (await merged.get("effort")).value == 3


async def test_who_was_right_is_learnt_and_shown(merged: Board) -> None:
    bob = merged.as_agent("bob")
    await merged.claim("effort", 3.2, confidence=0.9)
    await bob.claim("effort", 8, confidence=0.9)
    resolved = await merged.claims.resolve("effort", 3, tolerance=0.5)
    assert (resolved.right, resolved.wrong) == (("ada",), ("bob",))
    assert (resolved.entry.value, resolved.entry.basis["resolution"]["tolerance"]) == (3, 0.5)
    told = await bob.explain("effort")
    ada, other = told.judgements
    assert (ada.agent, ada.calibration[0].claims, ada.calibration[0].seen) == ("ada", 1, 1.0)
    assert (other.agent, other.calibration[0].seen, other.reliability) == ("bob", 0.0, None)
