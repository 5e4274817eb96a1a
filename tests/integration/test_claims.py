"""Claims in the engine: merged anew with each that comes, changes, goes or expires; weighed, resolved, and explained."""

from __future__ import annotations

import itertools
import json
from datetime import timedelta

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.consensus.claims import Merge, of_claim
from lavagna_server.domain.entries import (
    Change,
    ChangeType,
    Kind,
    Operation,
)
from lavagna_server.domain.errors import (
    NotFound,
    PermissionDenied,
    StaleVersion,
)
from lavagna_server.domain.merging import MergeRules
from lavagna_server.domain.regions import Merging, Policy
from lavagna_server.domain.standings import Standing
from lavagna_server.domain.values import Form, Value
from lavagna_server.engine.reading import ReadPoint
from tests.claimants import Claimant, claimant, merge_of
from tests.desks import delete, entries_of, json_value, note, put
from tests.integration.conftest import StartEngine


@pytest.mark.guarantee("C4")
async def test_the_entry_is_the_merge_of_all_live_claims_in_the_commit_of_each(
    root: Claimant,
) -> None:
    engine = root.engine
    for agent, days in (("ada", 3), ("bob", 5), ("cyd", 21)):
        claimed = await claimant(engine, agent).claim("effort", days, confidence=0.8)
        assert claimed.merged is not None
        assert claimed.merged.revision == claimed.claim.revision

    entry = await root.get("effort")
    assert (entry.value, entry.version, entry.author) == (json_value(5), 3, "cyd")
    assert merge_of(entry)["rule"] == "weighted-median@1"
    assert merge_of(entry)["dissent"] == ["ada", "cyd"]
    assert [each["version"] for each in merge_of(entry)["claims"]] == [1, 1, 1]


async def test_a_later_claim_of_the_same_agent_takes_the_place_of_the_earlier(
    root: Claimant,
) -> None:
    ada = claimant(root.engine, "ada")
    await ada.claim("effort", 3)
    again = await ada.claim("effort", 8)

    assert (again.claim.version, again.claim.key) == (2, "effort/@ada")
    assert (await root.get("effort")).value == json_value(8)


async def test_any_write_there_claims_and_a_deletion_withdraws(root: Claimant) -> None:
    ada, bob = claimant(root.engine, "ada"), claimant(root.engine, "bob")
    await ada.commit(put("effort", 3))
    written = await bob.commit(put("effort", 5), put("notes", "free"))
    withdrawn = await bob.commit(delete("effort"))

    assert written.plan.answers == 2
    assert [(each.kind, each.key) for each in entries_of(written)] == [
        (Kind.CLAIM, "effort/@bob"),
        (Kind.NOTE, "notes"),
        (Kind.NOTE, "effort"),
    ]
    assert entries_of(withdrawn)[0].change is ChangeType.DELETED
    assert (await root.get("effort")).value == json_value(3)
    with pytest.raises(NotFound):
        await bob.withdraw("effort")


async def test_without_any_claim_left_the_entry_ends(root: Claimant) -> None:
    ada = claimant(root.engine, "ada")
    await ada.claim("effort", 3)
    gone = await ada.withdraw("effort")

    assert gone.merged is None
    with pytest.raises(NotFound):
        await root.get("effort")
    assert (await ada.claim("effort", 4)).merged.version == 3  # type: ignore[union-attr]


async def test_a_claim_that_expires_leaves_the_merge_in_that_commit(
    root: Claimant, clock: ManualClock
) -> None:
    ada, bob = claimant(root.engine, "ada"), claimant(root.engine, "bob")
    await ada.claim("effort", 9)
    await bob.claim("effort", 3, ttl=timedelta(minutes=1))
    assert (await root.get("effort")).value == json_value(3)
    await clock.advance(60)

    entry = await root.get("effort")
    assert (entry.value, entry.author) == (json_value(9), "")
    last = (await root.commits())[-1]
    assert [(each.kind, each.change) for each in last.entries] == [
        (Kind.CLAIM, ChangeType.EXPIRED),
        (Kind.NOTE, ChangeType.UPDATED),
    ]


async def test_a_patch_is_one_of_the_own_claim(root: Claimant) -> None:
    ada, bob = claimant(root.engine, "ada"), claimant(root.engine, "bob")
    await bob.claim("effort", {"days": 9, "people": 2})
    await ada.claim("effort", {"days": 3, "people": 1})
    patch = Change(note("effort"), Operation.PATCH, Value(Form.JSON, '{"days": 5}'))
    await ada.commit(patch)
    claim = await root.engine.reads.get(
        root.caller, root.shared, of_claim("effort", "ada"), ReadPoint()
    )

    assert json.loads(str(claim.entry.value.content)) == {"days": 5, "people": 1}  # type: ignore[union-attr]


async def test_an_expected_version_is_that_of_the_merged_entry(root: Claimant) -> None:
    ada, bob = claimant(root.engine, "ada"), claimant(root.engine, "bob")
    await ada.claim("effort", 3)

    with pytest.raises(StaleVersion):
        await bob.claim("effort", 5, expected_version=0)
    await bob.claim("effort", 5, expected_version=1)


async def test_trust_calibration_and_caps_decide_what_a_word_weighs(root: Claimant) -> None:
    engine = root.engine
    for name in ("bot1", "bot2", "bot3"):
        standing = Standing(root.board, name, group="bots", version=0)
        await engine.agents.set_standing(root.call(), standing, expected_version=0)
    half = Standing(root.board, "cyd", trust=0.5, version=0)
    await engine.agents.set_standing(root.call(), half, expected_version=0)
    merging = Merging(group_cap=1.0)
    await root.region("effort", policy=Policy.WEIGHTED, owner="ceo", merging=merging)
    for agent, answer in (
        ("bot1", "no"), ("bot2", "no"), ("bot3", "no"), ("ada", "yes"), ("cyd", "yes")
    ):  # fmt: skip
        await claimant(engine, agent).claim("effort/possible", answer, confidence=0.9)

    entry = await root.get("effort/possible")
    weights = {
        each["weight"]["agent"]: each["weight"]["after_cap"] for each in merge_of(entry)["claims"]
    }
    assert entry.value == json_value("yes")
    assert weights["bot1"] == pytest.approx(weights["ada"] / 3)
    assert weights["cyd"] == pytest.approx(weights["ada"] / 2)
    assert merge_of(entry)["dissent"] == ["bot1", "bot2", "bot3"]


@pytest.mark.guarantee("C4")
async def test_every_order_of_the_same_claims_gives_the_same_bytes(root: Claimant) -> None:
    claims = {"ada": 0.1, "bob": 0.7, "cyd": 0.2, "dee": 3}
    merging = Merging(MergeRules(number="mean"))
    await root.region("effort", policy=Policy.WEIGHTED, owner="ceo", merging=merging)
    results: set[tuple[object, ...]] = set()
    for number, order in enumerate(itertools.permutations(claims)):
        key = f"effort/{number}"
        for agent in order:
            await claimant(root.engine, agent).claim(key, claims[agent], confidence=0.3)
        entry = await root.get(key)
        assert entry.value is not None
        merge = merge_of(entry)
        results.add((entry.value.content, entry.confidence, json.dumps(merge)))

    assert len(results) == 1


@pytest.mark.guarantee("C4")
async def test_a_merge_is_computed_again_from_history_whatever_rules_and_standings_say_since(
    root: Claimant,
) -> None:
    engine = root.engine
    ada, bob = claimant(engine, "ada"), claimant(engine, "bob")
    await ada.claim("effort", 0.1, confidence=0.3)
    await bob.claim("effort", 0.7, confidence=0.9)
    await ada.claim("effort", 0.4)
    entries = [await root.get("effort", at=revision) for revision in (1, 2, 3)]
    none = Standing(root.board, "bob", trust=0.0, version=0)
    await engine.agents.set_standing(root.call(), none, expected_version=0)
    merging = Merging(MergeRules(number="max"))
    await root.region("effort", policy=Policy.WEIGHTED, owner="ceo", merging=merging)

    for revision, entry in enumerate(entries, 1):
        merge = (await root.explain("effort", at=revision)).merge
        assert isinstance(merge, Merge)
        assert (merge.result.value, merge.result.confidence) == (entry.value, entry.confidence)


@pytest.mark.guarantee("C4")
async def test_a_merge_survives_a_restart(start_engine: StartEngine) -> None:
    async with start_engine() as engine:
        root = claimant(engine, "root", Role.ADMIN)
        merging = Merging(MergeRules(number="mean", fields={"a/b": "max"}), 2.0, ("team:x",))
        await root.region("effort", policy=Policy.WEIGHTED, merging=merging)
        await claimant(engine, "ada").claim("effort", 0.1, confidence=0.3)
        before = await root.get("effort")
    async with start_engine() as engine:
        root = claimant(engine, "root", Role.ADMIN)
        assert await root.get("effort") == before
        merged = (await claimant(engine, "ada").claim("effort", 0.1, confidence=0.3)).merged
        assert merged is not None
        assert (merged.value, merged.confidence) == (before.value, before.confidence)


async def test_what_is_true_ends_the_claims_and_teaches_the_calibration(root: Claimant) -> None:
    engine = root.engine
    ceo = claimant(engine, "ceo")
    ada, bob = claimant(engine, "ada"), claimant(engine, "bob")
    await ada.claim("effort", 5, confidence=0.9)
    await bob.claim("effort", 9, confidence=0.9)
    resolved = await ceo.resolve("effort", 4, tolerance=1)

    assert (resolved.right, resolved.wrong) == (("ada",), ("bob",))
    entry = await root.get("effort")
    assert (entry.value, entry.author, entry.confidence) == (json_value(4), "ceo", 1.0)
    assert json.loads(entry.basis)["resolution"]["right"] == ["ada"]
    standings = {
        agent: await engine.agents.standing(root.caller, agent) for agent in ("ada", "bob", "cyd")
    }
    worth = {
        agent: standing.calibration_in("effort").probability(0.9)
        for agent, standing in standings.items()
    }
    assert worth["bob"] < worth["cyd"] == 0.9 < worth["ada"]
    assert [standing.version for standing in standings.values()] == [0, 0, 0]
    with pytest.raises(NotFound, match="claims about effort"):
        await ceo.resolve("effort", 4)
    # A claim after that starts anew.
    assert (await bob.claim("effort", 6)).merged.value == json_value(6)  # type: ignore[union-attr]


@pytest.mark.guarantee("S8")
async def test_what_was_resolved_where_one_may_not_read_shows_nowhere_else(root: Claimant) -> None:
    engine = root.engine
    await root.region("secret", policy=Policy.WEIGHTED, owner="ceo", readers=("ada",))
    ceo, ada, cyd = (claimant(engine, name) for name in ("ceo", "ada", "cyd"))
    await ada.claim("effort", 5, confidence=0.9)
    before = await cyd.explain("effort")
    for _ in range(3):
        await ada.claim("secret", 1, confidence=0.9)
        await ceo.resolve("secret", 2)
    await ada.claim("effort", 5, confidence=0.9)
    after = await cyd.explain("effort")

    assert after.judgements == before.judgements
    assert after.merge is not None
    assert before.merge is not None
    assert after.merge.weights == before.merge.weights


async def test_only_the_owner_and_administrators_say_what_is_true(root: Claimant) -> None:
    ada = claimant(root.engine, "ada")
    await ada.claim("effort", 5)

    with pytest.raises(PermissionDenied, match="the region's owner or an administrator"):
        await ada.resolve("effort", 5)


async def test_a_tolerance_is_the_decimal_that_it_says(root: Claimant) -> None:
    ceo = claimant(root.engine, "ceo")
    await claimant(root.engine, "ada").claim("effort", 1.0)
    await claimant(root.engine, "bob").claim("effort", 1.0000001)
    await claimant(root.engine, "cyd").claim("effort", 0.9999999)
    resolved = await ceo.resolve("effort", 1.1, tolerance=0.1)

    assert (resolved.right, resolved.wrong) == (("ada", "bob"), ("cyd",))
