"""Diffs: everything that differs between two revisions, or a clear error."""

from __future__ import annotations

import pytest

from lavagna_server.domain.diffs import COMPARED_BYTES_MAX, Difference
from lavagna_server.domain.entries import Kind
from lavagna_server.domain.errors import Exhausted
from lavagna_server.domain.keys import parse_pattern
from lavagna_server.domain.limits import Limits
from lavagna_server.engine.engine import Engine
from tests.desks import Desk, delete, put

LIMITS = Limits()


async def diff(
    desk: Desk, first: int, second: int = 0, pattern: str = "**"
) -> tuple[Difference, ...]:
    """How the shared space differs between two revisions."""
    parsed = parse_pattern(pattern, field="pattern", limits=LIMITS)
    found = await desk.engine.reads.diff(
        desk.caller, desk.shared, Kind.NOTE, parsed, from_revision=first, to_revision=second
    )
    return found.differences


def kinds(differences: tuple[Difference, ...]) -> list[tuple[str, bool, bool]]:
    """Each key, with whether it was and whether it is there."""
    return [(each.key, each.before is not None, each.after is not None) for each in differences]


async def test_a_diff_tells_what_came_went_and_changed_and_nothing_else(alice: Desk) -> None:
    await alice.commit(put("a/kept", 1), put("a/changed", 1), put("a/gone", 1), put("b", 1))
    await alice.put("a/passing", 1)
    await alice.commit(delete("a/gone"), delete("a/passing"), put("a/new", 1))
    await alice.commit(put("a/changed", 2, overwrite=True), put("b", 2, overwrite=True))
    await alice.put("a/later", 1)

    assert kinds(await diff(alice, 1, 4, "a/**")) == [
        ("a/changed", True, True), ("a/gone", True, False), ("a/new", False, True),
    ]  # fmt: skip
    assert kinds(await diff(alice, 4, 1, "a/**")) == [
        ("a/changed", True, True), ("a/gone", False, True), ("a/new", True, False),
    ]  # fmt: skip
    assert kinds(await diff(alice, 0, 1, "a/**")) == [
        ("a/changed", False, True), ("a/gone", False, True), ("a/kept", False, True),
    ]  # fmt: skip
    assert kinds(await diff(alice, 4)) == [("a/later", False, True)]
    assert await diff(alice, 4, 4) == ()


async def test_a_diff_reaches_back_to_what_is_left_after_a_compaction(
    alice: Desk, engine: Engine
) -> None:
    for number in range(4):
        await alice.commit(put("a", number, overwrite=True), put(f"b/{number}", 1))
    await engine.boards.compact(alice.call(), alice.shared, 3)

    assert kinds(await diff(alice, 3, 4)) == [("a", True, True), ("b/3", False, True)]
    assert [key for key, *_ in kinds(await diff(alice, 0, 3))] == ["a", "b/0", "b/1", "b/2"]


@pytest.mark.guarantee("S8")
async def test_a_diff_shows_nothing_that_its_caller_may_not_read(alice: Desk, bob: Desk) -> None:
    await alice.region("secret", readers=("alice",))
    await alice.commit(put("secret/plan", 1), put("open", 1))

    assert [key for key, *_ in kinds(await diff(bob, 0))] == ["open"]


async def test_more_differences_than_a_response_holds_are_refused_and_none_is_left_out(
    alice: Desk,
) -> None:
    for first in range(0, 1_001, 91):
        await alice.commit(
            *(put(f"k/{number % 2}/{number:04}", 1) for number in range(first, first + 91))
        )

    with pytest.raises(Exhausted, match="narrower pattern") as exhausted:
        await diff(alice, 0)
    assert exhausted.value.maximum == 1_000
    assert len(await diff(alice, 0, pattern="k/0/*")) == 501


async def test_larger_differences_than_a_response_holds_are_refused(alice: Desk) -> None:
    for number in range(5):
        await alice.put(f"k/{number}", "x" * 1_000_000)

    with pytest.raises(Exhausted, match="narrower pattern") as exhausted:
        await diff(alice, 0)
    assert exhausted.value.maximum == LIMITS.commit_bytes_max


async def test_only_so_much_is_compared_line_by_line(alice: Desk) -> None:
    text = ["x" * 999] * 30
    for number in range(40):
        await alice.put(f"k/{number:02}", [*text, "one"])
    for number in range(40):
        await alice.put(f"k/{number:02}", [*text, "two"])

    found = await diff(alice, 40)

    assert len(found) == 40
    assert all(each.merge_json for each in found)
    compared = [each for each in found if each.unified]
    assert 0 < len(compared) * 60_000 <= COMPARED_BYTES_MAX
    assert '-  "one"\n+  "two"' in compared[0].unified
