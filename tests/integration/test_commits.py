"""Commits: one revision each, nothing lost, nothing doubled, nothing guessed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.chain import chain_digest, content_digest
from lavagna_server.domain.entries import (
    Change,
    ChangeType,
    Condition,
    Occasion,
    Operation,
    Request,
    Requirement,
)
from lavagna_server.domain.errors import (
    AlreadyExists,
    Compacted,
    ConditionFailed,
    FutureRevision,
    Invalid,
    LeaseLost,
    NotAWriter,
    NotFound,
    RequestReused,
    StaleVersion,
    VersionRequired,
)
from lavagna_server.domain.regions import Policy, Retention
from lavagna_server.domain.values import Form, Value
from lavagna_server.engine.calls import Call
from lavagna_server.engine.commits import Written
from lavagna_server.engine.engine import Engine
from tests.desks import Desk, delete, entries_of, json_value, note, put


@pytest.mark.guarantee("S1")
async def test_every_acknowledged_change_has_one_revision_and_none_is_skipped(
    alice: Desk, bob: Desk
) -> None:
    results = await asyncio.gather(
        *(desk.put(f"{desk.agent}/{n}", n) for n in range(50) for desk in (alice, bob))
    )

    assert sorted(entry.revision for entry in results) == list(range(1, 101))
    assert [commit.revision for commit in await alice.commits()] == list(range(1, 101))


@pytest.mark.guarantee("S1")
@pytest.mark.field_report("F1")
async def test_no_increment_is_lost_and_each_loser_learns_what_stands_there(alice: Desk) -> None:
    await alice.put("counter", 0)
    told: list[tuple[int, str]] = []

    async def client(desk: Desk) -> int:
        acknowledged = 0
        while acknowledged < 50:
            seen = await desk.get("counter")
            assert seen.value is not None
            try:
                await desk.put("counter", seen.value.decoded() + 1, expected=seen.version)
            except StaleVersion as stale:
                current = stale.failed[0].current
                assert current is not None
                assert current.version > seen.version
                assert current.value is not None
                told.append((current.value.decoded(), current.author))
            else:
                acknowledged += 1
        return acknowledged

    done = await asyncio.gather(*(client(Desk(alice.engine, f"client-{n}")) for n in range(20)))

    final = await alice.get("counter")
    assert final.value is not None
    assert final.value.decoded() == sum(done) == 1_000
    assert told
    assert all(author.startswith("client-") or value == 0 for value, author in told)


@pytest.mark.guarantee("S3")
@pytest.mark.field_report("F4")
@pytest.mark.parametrize("end", ["delete", "expire"])
async def test_versions_never_restart_so_an_old_one_cannot_match_by_accident(
    alice: Desk, clock: ManualClock, end: str
) -> None:
    if end == "delete":
        await alice.put("key", "first")
        await alice.commit(delete("key"))
    else:
        await alice.put("key", "first", ttl=timedelta(seconds=5))
        await clock.advance(5)
    with pytest.raises(NotFound):
        await alice.get("key")
    recreated = await alice.put("key", "second")

    assert recreated.version == 3
    assert recreated.change is ChangeType.CREATED
    with pytest.raises(StaleVersion):
        await alice.put("key", "third", expected=1)


async def test_expiry_is_an_ordinary_commit_of_the_servers_own(
    alice: Desk, clock: ManualClock
) -> None:
    await alice.put("a", 1, ttl=timedelta(seconds=5))
    await alice.put("b", 1, ttl=timedelta(seconds=5))
    await clock.advance(4.9)
    assert (await alice.get("a")).value == json_value(1)
    await clock.advance(0.1)

    last = (await alice.commits())[-1]
    assert (last.occasion, last.author) == (Occasion.EXPIRY, "")
    assert {(entry.key, entry.change) for entry in last.entries} == {
        ("a", ChangeType.EXPIRED),
        ("b", ChangeType.EXPIRED),
    }


@pytest.mark.guarantee("S4")
async def test_a_read_at_a_revision_gives_exactly_that_or_fails(alice: Desk) -> None:
    for number in range(5):
        await alice.put("a", number)
    await alice.commit(delete("a"))

    for number in range(5):
        assert (await alice.get("a", at=number + 1)).value == json_value(number)
    with pytest.raises(NotFound):
        await alice.get("a", at=6)
    with pytest.raises(FutureRevision):
        await alice.get("a", at=7)
    await alice.engine.boards.compact(alice.call(), alice.shared, 4)
    assert (await alice.get("a", at=4)).value == json_value(3)
    with pytest.raises(Compacted) as compacted:
        await alice.get("a", at=3)
    assert compacted.value.oldest == 4


def recorded(desk: Desk, request_id: str, content: bytes) -> Call[Written, int]:
    """A call whose response is the revision, which can be decoded again."""
    return Call(
        desk.caller,
        request_id,
        content,
        lambda w: w.space.head,
        lambda r: b"%d" % r,
        int,
    )


@pytest.mark.guarantee("S6")
@pytest.mark.field_report("F5")
async def test_a_request_has_one_effect_and_its_retry_the_original_response(
    start_engine: Callable[[], AbstractAsyncContextManager[Engine]], clock: ManualClock
) -> None:
    async with start_engine() as engine:
        alice = Desk(engine, "alice")
        request = Request(alice.shared, (put("a", 1),), request_id="once")
        first = await engine.commits.commit(recorded(alice, "once", b"1"), request, token="")
        await alice.put("b", 1)
        again = await engine.commits.commit(recorded(alice, "once", b"1"), request, token="")
        assert (first, again) == (1, 1)

    async with start_engine() as engine:
        alice, bob = Desk(engine, "alice"), Desk(engine, "bob")
        await clock.advance(23 * 3_600)
        assert await engine.commits.commit(recorded(alice, "once", b"1"), request, token="") == 1
        assert (await alice.get("a")).version == 1
        with pytest.raises(RequestReused):
            await engine.commits.commit(recorded(alice, "once", b"2"), request, token="")
        with pytest.raises(VersionRequired):
            await engine.commits.commit(recorded(bob, "once", b"1"), request, token="")


@pytest.mark.guarantee("S7")
async def test_author_time_and_cause_are_the_servers(alice: Desk, clock: ManualClock) -> None:
    entry = await alice.put("a", 1, sources=("forged",))

    assert (entry.author, entry.committed_at, entry.cause) == ("alice", clock.now(), None)


@pytest.mark.guarantee("S8")
async def test_a_private_store_shows_in_nobody_elses_reads_counts_or_revisions(
    alice: Desk, bob: Desk
) -> None:
    await alice.put("diary", "secret", space=alice.private)
    await bob.put("shared", 1)

    assert (await bob.get("shared")).revision == 1
    with pytest.raises(NotFound):
        await bob.get("diary", space=bob.private)
    with pytest.raises(NotFound):
        await bob.get("diary", space=alice.private)
    mine = await bob.put("diary", 1, space=bob.private)
    assert (mine.revision, mine.version) == (1, 1)


async def test_changing_what_exists_takes_the_version_that_was_seen_or_saying_overwrite(
    alice: Desk,
) -> None:
    await alice.put("a", 1)

    with pytest.raises(VersionRequired) as refused:
        await alice.commit(put("a", 2))
    assert refused.value.failed[0].current == await alice.get("a")
    with pytest.raises(VersionRequired):
        await alice.commit(delete("a", overwrite=False))
    assert (await alice.put("a", 2, expected=1)).version == 2
    assert (await alice.put("a", 3, overwrite=True)).version == 3


async def test_a_failed_condition_is_a_result_when_there_is_something_else_to_do(
    alice: Desk,
) -> None:
    await alice.put("lock", "bob")
    absent = Condition(note("lock"), Requirement.EXISTS, 0)

    with pytest.raises(ConditionFailed):
        await alice.commit(put("a", 1), conditions=[absent])
    written = await alice.commit(
        put("a", 1), conditions=[absent], otherwise=[put("waiting/alice", 1)]
    )

    assert not written.plan.succeeded
    assert [entry.key for entry in entries_of(written)] == ["waiting/alice"]
    assert written.plan.failed[0].current is not None


async def test_a_commit_takes_effect_whole_or_not_at_all(alice: Desk) -> None:
    await alice.put("a", 1)

    with pytest.raises(VersionRequired):
        await alice.commit(put("b", 1), put("a", 2), put("c", 1))

    assert [commit.revision for commit in await alice.commits()] == [1]
    with pytest.raises(NotFound):
        await alice.get("b")


async def test_one_failed_commit_never_fails_its_neighbours(alice: Desk) -> None:
    await alice.put("a", 1)

    outcomes = await asyncio.gather(
        *(alice.commit(put("a" if n % 2 else f"b/{n}", n)) for n in range(20)),
        return_exceptions=True,
    )

    assert [isinstance(outcome, VersionRequired) for outcome in outcomes] == [
        bool(n % 2) for n in range(20)
    ]
    assert len(await alice.commits()) == 11


async def test_appended_entries_never_conflict_and_sort_in_commit_order(alice: Desk) -> None:
    def append(value: int) -> Change:
        return Change(note("log"), Operation.APPEND, json_value(value))

    await asyncio.gather(*(alice.commit(append(n), append(n)) for n in range(12)))

    commits = await alice.commits()
    keys = [entry.key for commit in commits for entry in commit.entries]
    assert len(set(keys)) == 24
    assert keys == sorted(keys)


async def test_a_patch_merges_and_a_patch_of_text_is_refused(alice: Desk) -> None:
    await alice.put("a", {"x": 1, "y": {"z": 2}})
    patch = Change(
        note("a"), Operation.PATCH, json_value({"x": None, "y": {"w": 3}}), expected_version=1
    )

    await alice.commit(patch)

    assert (await alice.get("a")).value == Value(Form.JSON, '{"y":{"z":2,"w":3}}')


async def test_reverting_writes_an_older_version_again(alice: Desk) -> None:
    await alice.put("a", "first", tags=("kept",))
    await alice.put("a", "second")

    await alice.engine.commits.revert(
        alice.call(),
        alice.shared,
        note("a"),
        version=1,
        expected_version=2,
        overwrite=False,
        token="",
    )

    entry = await alice.get("a")
    assert (entry.version, entry.value, entry.tags) == (3, json_value("first"), ("kept",))
    with pytest.raises(NotFound):
        await alice.engine.commits.revert(
            alice.call(),
            alice.shared,
            note("a"),
            version=9,
            expected_version=3,
            overwrite=False,
            token="",
        )


@pytest.mark.guarantee("C5")
@pytest.mark.field_report("F17")
async def test_writers_are_checked_by_whole_segments(alice: Desk) -> None:
    worker = Desk(alice.engine, "worker", role=Role.AGENT)
    await alice.region("task", writers=("nobody",))
    await alice.region("task/1", writers=("worker",))

    await worker.put("task/1", "mine")
    await worker.put("task/1/notes", "mine")
    for key in ("task/10", "task/2", "task"):
        with pytest.raises(NotAWriter):
            await worker.put(key, "theirs")


async def test_a_region_may_take_the_newest_write_or_demand_a_schema(alice: Desk) -> None:
    await alice.region("status", policy=Policy.LATEST)
    await alice.region("plan", schema_json='{"type": "object", "required": ["title"]}')

    await alice.commit(put("status/a", 1))
    await alice.commit(put("status/a", 2))
    assert (await alice.get("status/a")).version == 2
    with pytest.raises(StaleVersion):
        await alice.put("status/a", 3, expected=1)
    await alice.put("plan/1", {"title": "ok"})
    with pytest.raises(Invalid) as refused:
        await alice.put("plan/2", {})
    assert "title" in str(refused.value)
    for form, content in ((Form.TEXT, '{"title": "ok"}'), (Form.DATA, b"{}")):
        change = Change(note("plan/2"), Operation.PUT, Value(form, content))
        with pytest.raises(Invalid, match=f"this is {form.value}; only JSON satisfies the schema"):
            await alice.commit(change)


@pytest.mark.guarantee("S3")
async def test_retention_gives_history_up_as_a_logged_compaction(
    alice: Desk, clock: ManualClock
) -> None:
    await alice.region("log", retention=Retention(versions_max=2))
    await alice.put("other", "kept")
    for number in range(5):
        await alice.put("log/a", number)
    await clock.advance(60)

    last = (await alice.commits())[-1]
    assert (last.occasion, last.compacted_path, last.compacted_to) == (
        Occasion.COMPACTION,
        "log",
        5,
    )
    assert (await alice.get("log/a", at=5)).value == json_value(3)
    with pytest.raises(Compacted):
        await alice.get("log/a", at=4)
    assert (await alice.get("other", at=1)).value == json_value("kept")


async def test_the_log_is_chained_by_hashes(alice: Desk) -> None:
    for number in range(3):
        await alice.put("a", number)

    previous = b""
    for commit in await alice.commits():
        assert commit.content_digest == content_digest(commit.entries)
        assert commit.digest == chain_digest(commit, commit.content_digest, previous)
        previous = commit.digest


async def test_a_board_is_gone_with_everything_on_it(alice: Desk, bob: Desk) -> None:
    await alice.trigger("build", "a")
    await bob.put("a", 1)
    (leased,) = await alice.acquire()
    await alice.engine.boards.delete(alice.call())

    with pytest.raises(NotFound):
        await alice.get("a")
    await alice.engine.boards.create(alice.call(), Board("main", ""))
    with pytest.raises(AlreadyExists):
        await alice.engine.boards.create(alice.call(), Board("main", ""))
    assert await alice.commits() == []
    assert await alice.activations() == []
    with pytest.raises(LeaseLost):
        await alice.complete(leased)
