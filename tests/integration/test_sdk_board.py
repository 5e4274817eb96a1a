"""A board in an agent's hands: entries, commits, history and private space, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

import lavagna
from lavagna import (
    Absent,
    Board,
    ChangeType,
    Delete,
    Exists,
    Occasion,
    Put,
    UnchangedSince,
    ValueIs,
    VersionIs,
    testing,
)
from lavagna.conditions import Condition
from lavagna.testing import LocalServer


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def board(server: LocalServer) -> AsyncGenerator[Board]:
    async with server.connect("ada") as each:
        yield each


async def test_an_entry_says_what_was_written_by_whom_and_when(
    server: LocalServer, board: Board
) -> None:
    await board.put("plan/1", {"a": [1]}, tags=["y", "x"], confidence=0.5, sources=["talk"])
    entry = await board.get("plan/1")
    assert (entry.key, entry.value, entry.version, entry.revision) == ("plan/1", {"a": [1]}, 1, 1)
    assert (entry.author, entry.change, entry.tags) == ("ada", ChangeType.CREATED, ("x", "y"))
    assert (entry.confidence, entry.sources, entry.cause) == (0.5, ("talk",), None)
    assert entry.committed_at == server.clock.now()


@pytest.mark.parametrize("value", ["text", b"\x00\xff", {"caf\u00e9": [1, None]}, None, 2**60, ""])
async def test_every_kind_of_value_comes_back(board: Board, value: object) -> None:
    await board.put("k", value)
    assert (await board.get("k")).value == value


async def test_what_is_not_there_is_not_found(board: Board) -> None:
    assert await board.find("nothing") is None
    with pytest.raises(lavagna.NotFound):
        await board.get("nothing")


async def test_changing_an_entry_unseen_is_refused_with_what_is_there(board: Board) -> None:
    await board.put("k", 1)
    with pytest.raises(lavagna.VersionRequired) as refused:
        await board.put("k", 2)
    (in_the_way,) = refused.value.failed
    assert in_the_way.current is not None
    assert (in_the_way.current.version, in_the_way.current.value) == (1, 1)
    assert (await board.put("k", 2, overwrite=True)).version == 2


@pytest.mark.guarantee("S1")
async def test_the_loser_of_a_race_is_told_the_version_value_and_author(board: Board) -> None:
    await board.put("k", "old")
    await board.as_agent("bob").put("k", "bobs", expected_version=1)
    with pytest.raises(lavagna.Conflict) as lost:
        await board.put("k", "mine", expected_version=1)
    current = lost.value.current
    assert current is not None
    assert (current.version, current.value, current.author) == (2, "bobs", "bob")


@pytest.mark.guarantee("S3")
@pytest.mark.field_report("F4")
async def test_a_version_from_before_a_deletion_never_matches(board: Board) -> None:
    await board.put("k", 1)
    assert (await board.delete("k", expected_version=1)).version == 2
    assert (await board.put("k", 3)).version == 3
    with pytest.raises(lavagna.Conflict):
        await board.put("k", 4, expected_version=1)
    assert [entry.version async for entry in board.history("k")] == [3, 2, 1]
    assert [entry.exists async for entry in board.history("k")] == [True, False, True]


@pytest.mark.guarantee("S1")
async def test_no_update_is_lost_however_many_race(server: LocalServer, board: Board) -> None:
    async def count(name: str) -> None:
        async with server.connect(name) as own:
            for _ in range(10):
                await own.update("counter", lambda value: (value or 0) + 1)

    async with asyncio.TaskGroup() as tasks:
        for number in range(8):
            tasks.create_task(count(f"counter-{number}"))
    entry = await board.get("counter")
    assert (entry.value, entry.version) == (80, 80)


async def test_an_update_that_loses_every_time_says_so(board: Board) -> None:
    await board.put("k", 0)
    rival = board.as_agent("bob")

    async def overtaken(value: int) -> int:
        await rival.put("k", value + 1, overwrite=True)
        return -1

    with pytest.raises(lavagna.Conflict):
        await board.update("k", overtaken, attempts=3)
    assert (await board.get("k")).value == 3


async def test_an_update_that_is_overtaken_while_making_an_entry_sees_it(board: Board) -> None:
    rival = board.as_agent("bob")

    async def joined(value: str | None) -> str:
        if value is None:
            await rival.put("k", "bob")
        return f"{value} and ada"

    assert (await board.update("k", joined)).version == 2
    assert (await board.get("k")).value == "bob and ada"


async def test_an_update_makes_an_entry_where_there_is_none_or_none_any_more(board: Board) -> None:
    assert (await board.update("k", lambda value: [value])).version == 1
    await board.delete("k", overwrite=True)
    assert (await board.update("k", lambda value: [value])).version == 3
    assert (await board.get("k")).value == [None]


async def test_appends_never_conflict_and_keep_their_order(board: Board) -> None:
    written = [await board.append("log", number) for number in range(12)]
    entries = [entry async for entry in board.entries("log/*")]
    assert [entry.value for entry in entries] == list(range(12))
    assert [entry.key for entry in entries] == [each.key for each in written]


async def test_a_patch_merges_into_what_is_there(board: Board) -> None:
    await board.put("k", {"a": 1, "b": {"c": 2}})
    await board.patch("k", {"a": None, "b": {"d": 3}}, expected_version=1)
    assert (await board.get("k")).value == {"b": {"c": 2, "d": 3}}


async def test_many_entries_are_got_at_once(board: Board) -> None:
    await board.commit(Put("a", 1), Put("b", 2))
    found = await board.batch_get(["b", "nothing", "a"])
    assert {key: entry.value for key, entry in found.items()} == {"a": 1, "b": 2}


@pytest.mark.guarantee("S4")
async def test_a_list_longer_than_a_page_is_of_one_revision(board: Board) -> None:
    for first in (0, 100, 200):
        await board.commit(*(Put(f"n/{number:03}", number) for number in range(first, first + 100)))
    listed: list[int] = []
    async for entry in board.entries("n/*"):
        if not listed:
            await board.put("n/zzz", "late")
        listed.append(entry.value)
    assert listed == list(range(300))


async def test_entries_are_chosen_by_pattern_and_tags(board: Board) -> None:
    await board.commit(
        Put("plan/1/status", "x", tags=["urgent", "ui"]), Put("plan/2/status", "y", tags=["ui"])
    )
    await board.put("plan/2", "z")
    assert [entry.key async for entry in board.entries("plan/*/status")] == [
        "plan/1/status",
        "plan/2/status",
    ]
    assert [entry.key async for entry in board.entries(tags=["ui", "urgent"])] == ["plan/1/status"]
    keys_only = [entry async for entry in board.entries("plan/*", keys_only=True)]
    assert [(entry.key, entry.value) for entry in keys_only] == [("plan/2", None)]


@pytest.mark.guarantee("S4")
async def test_the_past_is_read_as_it_was(board: Board) -> None:
    await board.put("k", "old")
    await board.put("k", "new", overwrite=True)
    await board.put("later", 1)
    assert (await board.get("k", at=1)).value == "old"
    assert [entry.key async for entry in board.entries(at=2)] == ["k"]
    assert await board.find("later", at=2) is None
    with pytest.raises(lavagna.FutureRevision):
        await board.get("k", at=4)


@pytest.mark.parametrize(
    "holds",
    [
        VersionIs("k", 2),
        VersionIs("never", 0),
        Exists("k"),
        Absent("gone"),
        ValueIs("k", {"a": 1}),
        UnchangedSince("k", 2),
    ],
)
async def test_a_commit_is_made_when_its_condition_holds(board: Board, holds: Condition) -> None:
    await board.commit(Put("k", 0), Put("gone", 0))
    await board.commit(Put("k", {"a": 1}, overwrite=True), Delete("gone", overwrite=True))
    committed = await board.commit(Put("made", 1), conditions=[holds])
    assert (committed.succeeded, committed.revision) == (True, 3)
    assert [(each.key, each.version) for each in committed.results] == [("made", 1)]


@pytest.mark.parametrize(
    "fails",
    [
        VersionIs("k", 1),
        Exists("gone"),
        Absent("k"),
        ValueIs("k", {"a": 2}),
        UnchangedSince("k", 1),
    ],
)
async def test_a_commit_whose_condition_fails_changes_nothing(
    board: Board, fails: Condition
) -> None:
    await board.commit(Put("k", 0), Put("gone", 0))
    await board.commit(Put("k", {"a": 1}, overwrite=True), Delete("gone", overwrite=True))
    with pytest.raises(lavagna.Conflict) as conflict:
        await board.commit(Put("made", 1), Put("too", 1), conditions=[fails])
    assert [each.key for each in conflict.value.failed] == [fails.key]
    assert await board.batch_get(["made", "too"]) == {}


async def test_a_failed_condition_is_a_result_when_there_is_an_otherwise(board: Board) -> None:
    await board.put("k", 1)
    committed = await board.commit(
        Put("k", 2), conditions=[Absent("k")], otherwise=[Put("seen", True)]
    )
    assert (committed.succeeded, [each.key for each in committed.results]) == (False, ["seen"])
    assert committed.failed[0].current is not None
    assert committed.failed[0].current.value == 1


async def test_a_diff_shows_what_changed_and_a_revert_brings_it_back(board: Board) -> None:
    await board.put("doc", {"a": 1, "b": 1})
    await board.put("doc", {"a": 2, "b": 1}, expected_version=1)
    await board.put("new", "x")
    changed, created = await board.diff("**", 1)
    assert (changed.key, changed.merge_json) == ("doc", '{"a":2}')
    assert (created.key, created.before) == ("new", None)
    assert (await board.revert("doc", 1, expected_version=2)).version == 3
    assert (await board.get("doc")).value == {"a": 1, "b": 1}


@pytest.mark.guarantee("S4")
async def test_what_was_compacted_is_said_with_the_oldest_revision(board: Board) -> None:
    for number in range(5):
        await board.put("k", number, overwrite=True)
    assert await board.compact(4) == 4
    assert (await board.get("k", at=4)).value == 3
    with pytest.raises(lavagna.Compacted) as gone:
        await board.get("k", at=3)
    assert gone.value.oldest_revision == 4


async def test_an_export_gives_every_commit(board: Board) -> None:
    for number in range(5):
        await board.put("k", number, overwrite=True)
    parts = [part async for part in board.export()]
    assert [commit.revision for part in parts for commit in part.commits] == [1, 2, 3, 4, 5]
    assert {part.last_revision for part in parts} == {5}
    later = [part async for part in board.export(after=3)]
    assert [commit.revision for part in later for commit in part.commits] == [4, 5]


async def test_an_export_after_a_compaction_begins_with_the_state(board: Board) -> None:
    for number in range(5):
        await board.put("k", number, overwrite=True)
    await board.compact(3)
    parts = [part async for part in board.export()]
    assert [entry.value for part in parts for entry in part.state] == [2]
    commits = [commit for part in parts for commit in part.commits]
    assert [commit.revision for commit in commits] == [4, 5, 6]
    assert commits[-1].occasion is Occasion.COMPACTION


@pytest.mark.guarantee("S8")
async def test_a_private_space_is_its_owners_alone(board: Board) -> None:
    await board.private.put("secret", 1)
    await board.private.put("secret", 2, overwrite=True)
    assert (await board.private.get("secret")).revision == 2
    bob = board.as_agent("bob")
    assert await bob.private.find("secret") is None
    assert await bob.find("secret") is None
    assert (await bob.put("k", 1)).revision == 1


@pytest.mark.guarantee("S7")
async def test_an_agent_writes_in_its_own_name(board: Board) -> None:
    await board.as_agent("bob").put("k", 1)
    assert (await board.get("k")).author == "bob"
    assert (board.agent_name, board.as_agent("bob").agent_name) == ("ada", "bob")


async def test_an_entry_expires_as_a_commit_of_its_own(server: LocalServer, board: Board) -> None:
    await board.put("k", 1, ttl=60)
    async with board.watch("k") as watch:
        await server.clock.advance(59)
        assert await board.find("k") is not None
        await server.clock.advance(1)
        assert await board.find("k") is None
        commit = await anext(watch)
    assert (commit.occasion, commit.entries[0].change) == (Occasion.EXPIRY, ChangeType.EXPIRED)


async def test_a_malformed_key_is_refused_by_the_name_of_its_field(board: Board) -> None:
    with pytest.raises(lavagna.Invalid) as refused:
        await board.commit(Put("fine", 1), Put("a//b", 1))
    assert [violation.field for violation in refused.value.violations] == ["changes[1].key"]
    assert await board.find("fine") is None


@pytest.mark.field_report("F17")
async def test_a_key_is_found_under_every_way_to_write_it(board: Board) -> None:
    written = await board.put("cafe\u0301", 1)
    assert written.key == "caf\u00e9"
    assert (await board.get("cafe\u0301")).key == "caf\u00e9"
