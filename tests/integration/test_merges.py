"""Claims in the engine: what has no merge, what needs somebody to reconcile it, and what is learnt."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.entries import (
    Change,
    EntryId,
    Kind,
    Operation,
)
from lavagna_server.domain.errors import (
    Exhausted,
    Invalid,
    NotFound,
    NotMerged,
)
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.merging import MergeRules
from lavagna_server.domain.regions import Merging, Policy
from lavagna_server.engine.engine import EngineOptions
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.storage.ephemeral import EphemeralStore
from tests.claimants import Claimant, claimant, merge_of, text
from tests.desks import delete, in_one_group, json_value, note, put, running
from tests.integration.conftest import StartEngine


async def test_where_nothing_is_merged_there_is_nothing_to_claim(root: Claimant) -> None:
    ada = claimant(root.engine, "ada")
    for attempt in (ada.claim("notes", 1), ada.withdraw("notes"), root.resolve("notes", 1)):
        with pytest.raises(NotMerged, match="claims about notes are not merged"):
            await attempt


async def test_texts_are_merged_by_line_against_what_they_were_changed_from(
    root: Claimant,
) -> None:
    merging = Merging(MergeRules(text="lines"))
    await root.region("text", policy=Policy.WEIGHTED, owner="ceo", merging=merging)
    ceo, ada, bob = (claimant(root.engine, name) for name in ("ceo", "ada", "bob"))
    await ceo.claim("text", text("one\ntwo\nthree\n"))
    await ada.claim("text", text("ONE\ntwo\nthree\n"))
    await bob.claim("text", text("one\ntwo\nTHREE\n"))
    merged = await ceo.get("text")

    assert merged.value == text("ONE\ntwo\nTHREE\n")
    assert merge_of(merged)["conflicts"] == 0
    await bob.claim("text", text("uno\ntwo\nTHREE\n"))
    conflict = await ceo.get("text")
    assert merge_of(conflict)["conflicts"] == 1
    assert conflict.value is not None
    assert all(part in str(conflict.value.content) for part in ("ONE", "uno", "ada", "bob"))


async def test_a_reconciler_ends_an_open_merge_by_naming_all_claims(root: Claimant) -> None:
    merging = Merging(MergeRules(text="reconcile"), reconcilers=("eve",))
    await root.region("text", policy=Policy.WEIGHTED, owner="ceo", merging=merging)
    ada, bob, eve = (claimant(root.engine, name) for name in ("ada", "bob", "eve"))
    await eve.trigger("reconcile", "text", when="entry.basis.merge.open", own_writes=True)
    await ada.claim("text", text("one"))
    await bob.claim("text", text("two"))
    leased = await eve.acquire_one()
    sources = ("text/@ada@1", "text/@bob@1")
    done = Change(note("text"), Operation.PUT, text("one and two"), sources=sources)
    await eve.complete(leased, done)
    entry = await root.get("text")

    assert entry.value == text("one and two")
    assert merge_of(entry)["rule"] == "reconciled@1"
    assert merge_of(entry)["reconciled_by"] == "eve"
    assert merge_of(entry)["dissent"] == ["ada", "bob"]
    await ada.claim("text", text("three"))  # what was reconciled has changed
    assert merge_of(await root.get("text"))["open"] is True


async def test_somebody_else_cannot_reconcile(root: Claimant) -> None:
    merging = Merging(MergeRules(text="reconcile"), reconcilers=("eve",))
    await root.region("text", policy=Policy.WEIGHTED, owner="ceo", merging=merging)
    ada, bob = claimant(root.engine, "ada"), claimant(root.engine, "bob")
    await ada.claim("text", text("one"))
    await bob.claim("text", text("two"), sources=("text/@ada@1",))

    assert merge_of(await root.get("text"))["open"] is True


async def test_nobody_is_refused_because_of_what_others_claim(root: Claimant) -> None:
    """What has no merge is voted on whole, and the entry says why."""
    merging = Merging(MergeRules(number="sum"))
    await root.region("count", policy=Policy.WEIGHTED, owner="ceo", merging=merging)
    ada, bob = claimant(root.engine, "ada"), claimant(root.engine, "bob")
    await ada.claim("count", 2**63 - 1)
    merged = (await bob.claim("count", 1)).merged

    assert merged is not None
    assert (merged.value, merge_of(merged)["rule"]) == (json_value(1), "select@1")
    assert "does not fit in 64 bits" in merge_of(merged)["instead"]
    found = (await root.explain("count")).merge
    assert found is not None
    assert found.result.value == merged.value
    assert found.result.working[0].startswith("not by the region's rules: claims: their sum")


async def test_a_claim_that_is_wrong_by_itself_is_refused_and_changes_nothing(
    root: Claimant,
) -> None:
    merging = Merging(MergeRules(number="linear-pool"))
    await root.region("odds", policy=Policy.WEIGHTED, owner="ceo", merging=merging)
    ada, bob = claimant(root.engine, "ada"), claimant(root.engine, "bob")
    for _ in range(2):  # also where others' claims outweigh its type
        before = len(await root.commits())
        with pytest.raises(Invalid, match=r"claims\[bob\].value: a probability is from 0 to 1"):
            await bob.claim("odds", 5)
        assert len(await root.commits()) == before
        await ada.claim("odds", "no idea", confidence=1.0)


@pytest.mark.guarantee("S8")
async def test_a_claim_of_somebody_who_may_not_read_is_refused_for_itself_alone(
    root: Claimant,
) -> None:
    rules = MergeRules(number="linear-pool")
    await root.region(
        "odds",
        policy=Policy.WEIGHTED,
        readers=("ceo", "ada"),
        writers=("ada", "eve"),
        merging=Merging(rules),
    )
    ada, eve = claimant(root.engine, "ada"), claimant(root.engine, "eve")
    with pytest.raises(Invalid, match=r"claims\[eve\].value: a probability"):
        await eve.commit(put("odds", 5))
    await eve.commit(put("odds", 0.25))

    assert (await ada.claim("odds", 0.75)).merged.value == json_value(0.5)  # type: ignore[union-attr]


async def test_a_rule_that_changes_over_a_live_claim_holds_nobody_up(root: Claimant) -> None:
    await root.region("odds", policy=Policy.WEIGHTED, merging=Merging(MergeRules(number="mean")))
    ada, bob = claimant(root.engine, "ada"), claimant(root.engine, "bob")
    await bob.claim("odds", 5)
    pooled = Merging(MergeRules(number="linear-pool"))
    await root.region("odds", policy=Policy.WEIGHTED, merging=pooled)
    merged = (await ada.claim("odds", 0.5)).merged

    assert merged is not None
    assert (merged.value, merge_of(merged)["rule"]) == (json_value(0.5), "select@1")
    assert "claims[bob].value" in merge_of(merged)["instead"]
    await bob.claim("odds", 0.7)
    assert merge_of(await root.get("odds"))["rule"] == "linear-pool@1"


@pytest.mark.guarantee("S8")
async def test_who_may_not_read_can_still_take_its_own_claim_back(root: Claimant) -> None:
    readers, writers = ("ceo", "ada"), ("ada", "eve")
    await root.region("count", policy=Policy.WEIGHTED, readers=readers, writers=writers)
    ada, eve = claimant(root.engine, "ada"), claimant(root.engine, "eve")
    await ada.claim("count", 1)
    with pytest.raises(NotFound):
        await eve.withdraw("count")
    await eve.commit(put("count", 0))
    withdrawn = await eve.withdraw("count")

    assert withdrawn.merged is None
    assert (await ada.get("count")).value == json_value(1)
    await eve.commit(put("count", 0))
    assert len((await eve.commit(delete("count"))).plan.unseen) == 2
    with pytest.raises(NotFound):
        await eve.commit(delete("count"))


async def test_a_merge_that_breaks_the_schema_is_selected_in_its_place(root: Claimant) -> None:
    schema, merging = '{"type": "integer"}', Merging(MergeRules(number="mean"))
    await root.region("count", policy=Policy.WEIGHTED, schema_json=schema, merging=merging)
    ada, bob = claimant(root.engine, "ada"), claimant(root.engine, "bob")
    await ada.claim("count", 2)
    merged = (await bob.claim("count", 3)).merged

    assert merged is not None
    assert (merged.value, merge_of(merged)["rule"]) == (json_value(2), "select@1")
    assert "schema of region count" in merge_of(merged)["instead"]
    await bob.claim("count", 4)
    assert (await root.get("count")).value == json_value(3)


async def test_time_cannot_be_refused(root: Claimant, clock: ManualClock) -> None:
    """What is left when a claim expires may have no merge by the rule: then the weightiest is selected."""
    merging = Merging(MergeRules(number="sum"))
    await root.region("count", policy=Policy.WEIGHTED, owner="ceo", merging=merging)
    for agent, number in (("ada", 2**63 - 1), ("bob", -5), ("cyd", 5)):
        ttl = timedelta(minutes=1) if agent == "bob" else None
        await claimant(root.engine, agent).claim("count", number, ttl=ttl)
    await clock.advance(60)

    entry = await root.get("count")
    assert entry.value in (json_value(2**63 - 1), json_value(5))
    assert merge_of(entry)["rule"] == "select@1"


async def test_who_takes_a_claim_back_cannot_be_refused_either(root: Claimant) -> None:
    merging = Merging(MergeRules(number="sum"))
    await root.region("count", policy=Policy.WEIGHTED, owner="ceo", merging=merging)
    for agent, number in (("ada", 2**63 - 1), ("bob", -5), ("cyd", 5)):
        await claimant(root.engine, agent).claim("count", number)
    left = await claimant(root.engine, "bob").withdraw("count")

    assert left.merged is not None
    assert merge_of(left.merged)["rule"] == "select@1"


@pytest.mark.guarantee("S8")
async def test_who_may_claim_but_not_read_is_not_told_what_the_others_come_to(
    root: Claimant,
) -> None:
    merging = Merging(MergeRules(number="sum"))
    readers, writers = ("ceo", "ada"), ("ada", "eve")
    await root.region(
        "count", policy=Policy.WEIGHTED, readers=readers, writers=writers, merging=merging
    )
    ada, eve = claimant(root.engine, "ada"), claimant(root.engine, "eve")
    await ada.claim("count", 2**63 - 1)
    written = await eve.commit(put("count", 1))

    assert len(written.plan.unseen) == 2
    assert (await ada.get("count")).value in (json_value(2**63 - 1), json_value(1))


async def test_claims_merge_though_the_entry_itself_expires_in_that_moment(
    root: Claimant, clock: ManualClock
) -> None:
    ada, bob = claimant(root.engine, "ada"), claimant(root.engine, "bob")
    await ada.claim("effort", 9)
    await bob.claim("effort", 3, ttl=timedelta(minutes=1))
    await root.region("effort", policy=Policy.LATEST)
    await root.put("effort", "for a minute", ttl=timedelta(minutes=1))
    await root.region("effort", policy=Policy.WEIGHTED)
    await clock.advance(60)

    entry = await root.get("effort")
    assert (entry.value, entry.version) == (json_value(9), 4)


async def test_a_limit_that_was_lowered_refuses_new_claims_and_holds_up_no_old_one(
    start_engine: StartEngine, clock: ManualClock
) -> None:
    async with start_engine() as engine:
        await claimant(engine, "root", Role.ADMIN).region("effort", policy=Policy.WEIGHTED)
        for number in range(6):
            ttl = timedelta(minutes=1) if number == 5 else None
            await claimant(engine, f"a{number}").claim("effort", number, ttl=ttl)
    async with start_engine(EngineOptions(limits=Limits(claims_per_key_max=2))) as engine:
        with pytest.raises(Exhausted):
            await claimant(engine, "newcomer").claim("effort", 1)
        assert (await claimant(engine, "a1").claim("effort", 7)).merged is not None
        assert (await claimant(engine, "a0").withdraw("effort")).merged is not None
        await clock.advance(60)
        root = claimant(engine, "root", Role.ADMIN)
        left = await root.engine.claims.list(
            root.caller, "effort", point=ReadPoint(), after=None, size=10
        )
    assert [each.author for each in left.entries] == ["a1", "a2", "a3", "a4"]


async def test_claims_about_one_key_are_bounded(clock: ManualClock) -> None:
    options = EngineOptions(limits=Limits(claims_per_key_max=5))
    async with running(EphemeralStore(), clock, options=options) as engine:
        root = claimant(engine, "root", Role.ADMIN)
        await root.region("effort", policy=Policy.WEIGHTED)
        claims = [claimant(engine, f"a{number}").claim("effort", number) for number in range(6)]
        results = await in_one_group(engine, *claims)

    refused = [each for each in results if isinstance(each, BaseException)]
    assert [type(each) for each in refused] == [Exhausted]


async def test_votes_are_weighed_by_evidence_once_enough_is_known_of_all(root: Claimant) -> None:
    """Two who say 0.8 and mean it outvote three at 0.6, once each has shown what its word is worth."""
    ceo, engine = claimant(root.engine, "ceo"), root.engine
    crew = {"ada": 0.8, "bob": 0.8, "cyd": 0.6, "dee": 0.6, "eve": 0.6}
    for number in range(20):
        for agent, share in crew.items():
            said = number < 20 * share
            await claimant(engine, agent).claim("effort/known", said, confidence=share)
        before = merge_of(await root.get("effort/known"))["scale"]
        assert before == "probability"
        await ceo.resolve("effort/known", True)
    for agent, share in crew.items():
        answer = "yes" if share == 0.8 else "no"
        await claimant(engine, agent).claim("effort/next", answer, confidence=share)

    entry = await root.get("effort/next")
    assert (entry.value, merge_of(entry)["scale"]) == (json_value("yes"), "log odds")
    assert merge_of(entry)["dissent"] == ["cyd", "dee", "eve"]


async def test_the_schema_says_between_how_many_values_a_vote_is_cast(root: Claimant) -> None:
    schema = '{"enum": ["a", "b", "c", "d"]}'
    await root.region("effort/four", policy=Policy.WEIGHTED, owner="ceo", schema_json=schema)
    await claimant(root.engine, "ada").claim("effort/four", "a", confidence=0.5)

    with pytest.raises(Invalid):
        await claimant(root.engine, "bob").claim("effort/four", "e")
    assert (await root.get("effort/four")).value == json_value("a")


async def test_claims_fire_triggers_and_show_in_conditions(root: Claimant) -> None:
    ceo = claimant(root.engine, "ceo")
    await ceo.trigger("claims", "effort/{claim}", when="entry.kind == 'claim'")
    await claimant(root.engine, "ada").claim("effort", 5)
    leased = await ceo.acquire_one()

    assert leased.activation.bind == {"claim": "@ada"}


async def test_a_plain_entry_and_an_unknown_one_are_explained(root: Claimant) -> None:
    await root.put("notes", "free")
    found = await root.explain("notes")

    assert found.entry is not None
    assert (found.entry.id, found.merge, found.proposal) == (
        EntryId(Kind.NOTE, "notes"),
        None,
        None,
    )
    with pytest.raises(NotFound):
        await root.explain("nothing")


async def test_what_ended_with_its_last_claim_says_so(root: Claimant) -> None:
    ada = claimant(root.engine, "ada")
    await ada.claim("effort", 3)
    await ada.withdraw("effort")
    found = await root.explain("effort")

    assert found.entry is not None
    assert json.loads(found.entry.basis) == {"emptied": {"claim": "effort/@ada@2"}}
