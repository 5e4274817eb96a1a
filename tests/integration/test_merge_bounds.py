"""What bounds a merge: how much is looked at, what is kept for it, and that history is not needed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.consensus.claims import of_claim
from lavagna_server.domain.errors import Exhausted, NotFound
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.merging import MergeRules
from lavagna_server.domain.regions import Merging, Policy, Retention
from lavagna_server.engine.engine import EngineOptions
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.ports.store import Store
from tests.claimants import Claimant, claimant, merge_of, text
from tests.desks import json_value, put, running

LINES = Merging(MergeRules(text="lines"))
READERS, WRITERS = ("ceo", "ada", "bob"), ("ada", "bob", "eve")


async def test_a_merge_of_more_than_may_be_looked_at_is_refused_to_those_who_may_know(
    open_store: Callable[[], Store], clock: ManualClock
) -> None:
    options = EngineOptions(limits=Limits(claims_parts_max=8))
    async with running(open_store(), clock, options=options) as engine:
        root = claimant(engine, "root", Role.ADMIN)
        await root.region("plan", policy=Policy.WEIGHTED, readers=READERS, writers=WRITERS)
        ada, bob, eve = (claimant(engine, name) for name in ("ada", "bob", "eve"))
        await ada.claim("plan", {"a": 1, "b": 2, "c": 3})
        with pytest.raises(
            Exhausted, match="the claims about plan: claims_parts_max is limited to 8"
        ):
            await bob.claim("plan", {"a": 1, "b": 2, "c": 3, "d": 4})
        await bob.claim("plan", {"a": 3, "b": 4, "c": 5})
        with pytest.raises(Exhausted, match="claims_parts_max"):
            await eve.commit(put("plan", [1, 2, 3, 4, 5, 6, 7, 8]))  # alone too much
        assert len((await eve.commit(put("plan", {}))).plan.unseen) == 2

        entry = await ada.get("plan")
        assert merge_of(entry)["rule"] == "select-as-written@1"
        assert "claims_parts_max is limited to 8" in merge_of(entry)["instead"]
        found = (await ada.explain("plan")).merge
        assert found is not None
        assert (found.result.value, found.result.rule) == (entry.value, "select-as-written@1")
        # What makes the claims no larger is not held up, and in the end they are merged again.
        await bob.claim("plan", {"a": 3, "b": 4})
        assert merge_of(await ada.get("plan"))["rule"] == "fields@1"


async def test_bytes_of_all_claims_are_bounded_too(
    open_store: Callable[[], Store], clock: ManualClock
) -> None:
    options = EngineOptions(limits=Limits(claims_bytes_max=100))
    async with running(open_store(), clock, options=options) as engine:
        root = claimant(engine, "root", Role.ADMIN)
        await root.region("text", policy=Policy.WEIGHTED)
        ada, bob = claimant(engine, "ada"), claimant(engine, "bob")
        await ada.claim("text", text("a" * 60), ttl=timedelta(minutes=1))
        with pytest.raises(Exhausted, match="claims_bytes_max is limited to 100"):
            await bob.claim("text", text("b" * 60))
        await clock.advance(60)
        assert (await bob.claim("text", text("b" * 60))).merged.value == text("b" * 60)  # type: ignore[union-attr]


async def test_what_is_selected_whole_has_no_parts(
    open_store: Callable[[], Store], clock: ManualClock
) -> None:
    options = EngineOptions(limits=Limits(claims_parts_max=1))
    async with running(open_store(), clock, options=options) as engine:
        root = claimant(engine, "root", Role.ADMIN)
        merging = Merging(MergeRules(record="select"))
        await root.region("plan", policy=Policy.WEIGHTED, merging=merging)
        for agent in ("ada", "bob"):
            await claimant(engine, agent).claim("plan", {"a": 1, "b": [1, 2]})

        entry = await root.get("plan")
        assert (entry.value, merge_of(entry)["instead"]) == (json_value({"a": 1, "b": [1, 2]}), "")


async def test_all_merges_of_one_commit_are_bounded_together(
    open_store: Callable[[], Store], clock: ManualClock
) -> None:
    options = EngineOptions(limits=Limits(claims_parts_max=8, unread_claims_max=2))
    async with running(open_store(), clock, options=options) as engine:
        root = claimant(engine, "root", Role.ADMIN)
        await root.region("plan", policy=Policy.WEIGHTED)
        await root.region("box", policy=Policy.WEIGHTED, readers=READERS, writers=WRITERS)
        ada, eve = claimant(engine, "ada"), claimant(engine, "eve")
        keys = [f"plan/{number}" for number in range(3)]
        await ada.commit(*(put(key, [1, 2]) for key in keys[:2]))
        with pytest.raises(Exhausted, match="all that one commit merges: claims_parts_max"):
            await ada.commit(*(put(key, [1, 2]) for key in keys))
        with pytest.raises(Exhausted, match="one commit: unread_claims_max is limited to 2"):
            await eve.commit(*(put(f"box/{number}", 1) for number in range(3)))
        with pytest.raises(NotFound):
            await root.get("box/0")


async def test_claims_that_expire_together_are_merged_a_few_at_a_time(
    root: Claimant, clock: ManualClock
) -> None:
    for number in range(20):
        key = f"effort/{number}"
        await claimant(root.engine, "ada").claim(key, 1)
        await claimant(root.engine, "bob").claim(key, 0, ttl=timedelta(minutes=1))
    await clock.advance(60)

    assert [(await root.get(f"effort/{number}")).value for number in range(20)] == [
        json_value(1)
    ] * 20
    assert max(len(commit.entries) for commit in await root.commits()) == 16


@pytest.mark.guarantee("C4")
@pytest.mark.parametrize("compacts", [True, False])
async def test_texts_are_merged_by_line_though_history_no_longer_holds_what_they_were_changed_from(
    root: Claimant, clock: ManualClock, compacts: bool
) -> None:
    retention = Retention() if compacts else Retention(versions_max=1)
    await root.region("text", policy=Policy.WEIGHTED, merging=LINES, retention=retention)
    ceo, ada, bob = (claimant(root.engine, name) for name in ("ceo", "ada", "bob"))
    await ceo.claim("text", text("one\n\ntwo\n"))
    await ada.claim("text", text("ONE\n\ntwo\n"))
    if compacts:
        await root.engine.boards.compact(root.call(), root.shared, 2)
    else:
        await clock.advance(120)
    await bob.claim("text", text("one\n\nTWO\n"))
    entry = await root.get("text")

    assert entry.value == text("ONE\n\nTWO\n")
    assert (merge_of(entry)["conflicts"], merge_of(entry)["base_version"]) == (0, 1)
    found = (await root.explain("text")).merge
    assert found is not None
    assert (found.result.value, found.result.conflicts) == (entry.value, 0)
    assert found.result.working[-3] == "places changed from the base: 2, of them differently: 0"


async def test_a_text_that_is_too_long_to_keep_is_not_merged_by_line(
    open_store: Callable[[], Store], clock: ManualClock
) -> None:
    options = EngineOptions(limits=Limits(base_bytes_max=12))
    async with running(open_store(), clock, options=options) as engine:
        root = claimant(engine, "root", Role.ADMIN)
        await root.region("text", policy=Policy.WEIGHTED, merging=LINES)
        ada, bob = claimant(engine, "ada"), claimant(engine, "bob")
        await ada.claim("text", text("one\n\ntwo\n\nthree\n"))
        merged = (await bob.claim("text", text("one\n\nTWO\n\nthree\n"))).merged

        assert merged is not None
        assert merge_of(merged)["rule"] == "select@1"
        assert "base_bytes_max" in merge_of(merged)["instead"]
        point = ReadPoint()
        claim = await engine.reads.get(root.caller, root.shared, of_claim("text", "bob"), point)
        assert "one" not in claim.entry.basis


async def test_texts_among_which_a_stray_number_stands_are_still_merged_by_line(
    root: Claimant,
) -> None:
    await root.region("text", policy=Policy.WEIGHTED, merging=LINES)
    ceo, ada, bob, eve = (claimant(root.engine, name) for name in ("ceo", "ada", "bob", "eve"))
    await ceo.claim("text", text("one\n\ntwo\n"))
    await ada.claim("text", text("ONE\n\ntwo\n"))
    await eve.claim("text", 5)
    await bob.claim("text", text("one\n\nTWO\n"))

    assert merge_of(await root.get("text"))["rule"] == "lines@1 (mixed types)"
