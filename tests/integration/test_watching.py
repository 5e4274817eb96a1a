"""Watches: in order, once, whole, and provably complete."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from lavagna_server.domain.boards import Board
from lavagna_server.domain.errors import Compacted, EpochChanged, FilterMismatch, FutureRevision
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.watcher import Message, Watcher
from lavagna_server.engine.watches import Start
from tests.desks import Desk, delete, json_value, put, revisions
from tests.streams import check_chain


async def told(watcher: Watcher) -> list[Message]:
    """Everything that a watcher has to tell until it has caught up."""
    messages: list[Message] = []
    quiet = 0
    while quiet < 3:
        more = await watcher.ready()
        quiet = 0 if more else quiet + 1
        messages += more
    check_chain(messages)
    return messages


@pytest.mark.guarantee("W1")
@pytest.mark.guarantee("W2")
async def test_every_matching_commit_comes_once_and_in_order(alice: Desk) -> None:
    watcher = await alice.watch("a/**")
    for number in range(10):
        await alice.put(f"{'ab'[number % 2]}/{number}", number)

    assert revisions(await told(watcher)) == [1, 3, 5, 7, 9]
    watcher.close()


@pytest.mark.guarantee("W3")
async def test_a_commit_arrives_whole_or_in_marked_fragments(alice: Desk) -> None:
    watcher = await alice.watch()
    text = "x" * 600_000
    await alice.commit(*(put(f"big/{n}", text) for n in range(4)))

    messages = await told(watcher)

    parts = [each for message in messages for each in message.commits]
    assert [part.fragment for part in parts] == [(0, False), (1, False), (2, False), (3, True)]
    assert [entry.key for part in parts for entry in part.entries] == [f"big/{n}" for n in range(4)]
    assert [message.through for message in messages if message.commits] == [0, 0, 0, 1]
    again = await alice.watch(start=Start(token=messages[-2].token))
    assert [each.fragment for message in await told(again) for each in message.commits] == [
        (0, False), (1, False), (2, False), (3, True),
    ]  # fmt: skip
    watcher.close()
    again.close()


@pytest.mark.guarantee("W4")
async def test_what_the_filter_removed_is_covered_too(alice: Desk) -> None:
    watcher = await alice.watch("a/**")
    await told(watcher)
    for number in range(5):
        await alice.put(f"b/{number}", number)

    assert revisions(await told(watcher)) == []
    (bookmark,) = watcher.bookmarks()

    assert (bookmark.after, bookmark.through) == (0, 5)
    watcher.close()


@pytest.mark.guarantee("W5")
@pytest.mark.field_report("F13")
async def test_a_watch_resumes_with_its_token_and_never_silently_from_now(
    start_engine: Callable[[], AbstractAsyncContextManager[Engine]],
) -> None:
    async with start_engine() as engine:
        alice = Desk(engine, "alice")
        for number in range(10):
            await alice.put(f"a/{number}", number)
        watcher = await alice.watch(start=Start(after=0))
        token = (await told(watcher))[-1].token
        watcher.close()
        for number in range(10, 60):
            await alice.put(f"a/{number}", number)
        resumed = await alice.watch(start=Start(token=token))
        messages = await told(resumed)
        assert revisions(messages) == list(range(11, 61))
        resumed.close()
        newest = messages[-1].token

    async with start_engine() as engine:
        alice = Desk(engine, "alice")
        await alice.put("a/more", 1)
        resumed = await alice.watch(start=Start(token=newest))
        assert revisions(await told(resumed)) == [61]
        resumed.close()

        await engine.boards.compact(alice.call(), alice.shared, 40)
        with pytest.raises(Compacted) as compacted:
            await alice.watch(start=Start(token=token))
        assert compacted.value.oldest == 40
        with pytest.raises(FilterMismatch):
            await alice.watch("a/**", start=Start(token=newest))
        await engine.boards.delete(alice.call())
        await engine.boards.create(alice.call(), Board("main", ""))
        with pytest.raises(EpochChanged):
            await alice.watch(start=Start(token=newest))


@pytest.mark.guarantee("W6")
async def test_a_snapshot_and_the_stream_after_it_leave_no_gap_and_no_overlap(alice: Desk) -> None:
    for first in range(0, 2_500, 125):
        await alice.commit(
            *(put(f"a/{number:04d}", number) for number in range(first, first + 125))
        )
    await alice.commit(delete("a/0000"))
    watcher = await alice.watch("a/**", start=Start(initial_state=True))
    begun = await watcher.ready()
    await alice.put("a/0001", "changed meanwhile")
    messages = begun + await told(watcher)
    check_chain(messages)

    state = [entry for message in messages for entry in message.state]
    assert [entry.key for entry in state] == [f"a/{number:04d}" for number in range(1, 2_500)]
    assert state[0].value == json_value(1)
    assert [message.synced for message in messages if message.state] == [False, False, True]
    assert revisions(messages) == [22]

    again = await alice.watch("a/**", start=Start(token=begun[0].token))
    rest = await told(again)
    assert [entry.key for message in rest for entry in message.state] == [
        entry.key for entry in state[1_000:]
    ]
    assert revisions(rest) == [22]
    watcher.close()
    again.close()


@pytest.mark.guarantee("W7")
async def test_an_idle_stream_says_that_it_lives_and_moves_its_token_on(alice: Desk) -> None:
    watcher = await alice.watch("a/**")
    await told(watcher)
    await alice.put("b", 1)
    (bookmark,) = watcher.bookmarks()
    watcher.close()

    resumed = await alice.watch("a/**", start=Start(token=bookmark.token))
    await alice.put("a/1", 1)
    messages = await told(resumed)
    assert (messages[0].after, revisions(messages)) == (1, [2])
    resumed.close()


@pytest.mark.guarantee("W8")
async def test_a_watcher_that_does_not_read_keeps_little_alive_and_catches_up_from_the_log(
    alice: Desk,
) -> None:
    stalled = await alice.watch()
    healthy = await alice.watch()
    await told(stalled)
    await told(healthy)
    seen: list[int] = []
    for number in range(1_500):
        await alice.put("a", number)
        if number % 500 == 0:
            seen += revisions(await told(healthy))

    assert stalled.pending_commits <= 1_024
    assert seen + revisions(await told(healthy)) == list(range(1, 1_501))
    assert revisions(await told(stalled)) == list(range(1, 1_501))
    stalled.close()
    healthy.close()


@pytest.mark.guarantee("W9")
async def test_a_watch_that_starts_in_the_future_is_refused(alice: Desk) -> None:
    await alice.put("a", 1)
    with pytest.raises(FutureRevision):
        await alice.watch(start=Start(after=2))


@pytest.mark.guarantee("S8")
async def test_a_watcher_is_told_nothing_of_what_it_may_not_read(alice: Desk, bob: Desk) -> None:
    await alice.region("secret", readers=("alice",))
    watcher = await bob.watch("secret/**", start=Start(initial_state=True))
    await alice.put("secret/plan", 1)

    messages = await told(watcher)
    assert revisions(messages) == []
    assert not any(message.state for message in messages)
    watcher.close()
