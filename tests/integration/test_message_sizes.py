"""Messages and pages stay small enough for every client, whatever their bytes are made of."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc.aio
import pytest

from lavagna.v1 import boards_pb2, entries_pb2, watch_pb2
from lavagna.v1.boards_pb2_grpc import BoardsStub
from lavagna.v1.watch_pb2_grpc import WatchStub
from lavagna_server.domain.entries import Change, Operation
from lavagna_server.domain.keys import EVERYTHING
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.positions import Target
from lavagna_server.domain.values import Form, Value
from lavagna_server.engine.watches import Start
from lavagna_server.rpc.codec.watch import export_response, watch_response
from tests.desks import Desk, note, put, revisions
from tests.integration.requests import BOARD
from tests.wire import Wire, connected, served

LONG_KEY = "/".join(["k" * 50] * 4)
TAGS = tuple(f"{number:02}".ljust(120, "t") for number in range(32))
SOURCES = tuple(f"{number:02}".ljust(500, "s") for number in range(64))
CLIENT_BYTES_MAX = 4 << 20
"""What gRPC clients take when nobody tells them otherwise."""
PAGE_BYTES_MAX = Limits().page_bytes_max


def labelled(key: str) -> Change:
    """A small value with as many labels and sources as are allowed."""
    value = Value(Form.JSON, "1")
    return Change(note(key), Operation.PUT, value, overwrite=True, tags=TAGS, sources=SOURCES)


async def many_small_entries(desk: Desk) -> None:
    """Commits of as many entries as are allowed, with long keys and hardly any value."""
    for commit in range(40):
        await desk.commit(
            *(put(f"{LONG_KEY}/{number:03}", commit, overwrite=True) for number in range(128))
        )


@pytest.mark.guarantee("W3")
@pytest.mark.guarantee("W5")
async def test_keys_count_in_the_messages_of_a_watch(alice: Desk) -> None:
    await many_small_entries(alice)
    watcher = await alice.watch(start=Start(after=0))
    messages = [message for _ in range(40) for message in await watcher.ready()]

    assert revisions(messages) == list(range(1, 41))
    assert max(watch_response(message).ByteSize() for message in messages) <= PAGE_BYTES_MAX
    watcher.close()


@pytest.mark.guarantee("W3")
async def test_labels_count_in_the_messages_of_a_watch(alice: Desk) -> None:
    live = await alice.watch()
    await live.ready()
    await alice.commit(*(labelled(f"k/{number:03}") for number in range(100)))
    behind = await alice.watch(start=Start(after=0))
    state = await alice.watch(start=Start(initial_state=True))

    for watcher in (live, behind, state):
        messages = [message for _ in range(9) for message in await watcher.ready()]
        given = [
            entry
            for message in messages
            for entry in [*message.state, *(e for seen in message.commits for e in seen.entries)]
        ]
        assert [entry.key for entry in given] == [f"k/{number:03}" for number in range(100)]
        assert max(watch_response(message).ByteSize() for message in messages) <= PAGE_BYTES_MAX
        watcher.close()


@pytest.mark.guarantee("W8")
async def test_labels_count_in_what_a_stalled_watcher_keeps_alive(alice: Desk) -> None:
    stalled = await alice.watch()
    await stalled.ready()
    for number in range(200):
        await alice.commit(labelled(f"k/{number}"))

    assert stalled.pending_commits * 36_000 <= 4 << 20
    stalled.close()


@pytest.mark.guarantee("W5")
async def test_a_pull_takes_as_much_as_fits_and_goes_on_with_its_token(alice: Desk) -> None:
    for number in range(6):
        await alice.put(f"k/{number}", "x" * 400_000)
    await alice.commit(*(put(f"l/{number}", "x" * 600_000) for number in range(3)))
    targets = (Target(alice.shared, EVERYTHING),)
    start, told, sizes = Start(after=0), list[tuple[int, int]](), list[int]()
    while not told or told[-1] != (7, 2):
        messages = await alice.engine.watches.pull(alice.caller, targets, start, 0)
        start = Start(token=messages[-1].token)
        sizes.append(sum(watch_response(message).ByteSize() for message in messages))
        told += [
            (seen.commit.revision, seen.fragment[0] if seen.fragment else 0)
            for message in messages
            for seen in message.commits
        ]

    assert told == [(revision, 0) for revision in range(1, 7)] + [(7, 0), (7, 1), (7, 2)]
    assert max(sizes[:-1]) <= PAGE_BYTES_MAX


async def test_an_export_gives_large_commits_in_parts(alice: Desk) -> None:
    await alice.commit(*(put(f"k/{number}", "x" * 600_000) for number in range(5)))
    await alice.put("after", 1)

    parts = [part async for part in alice.engine.reads.export(alice.caller, alice.shared, 0)]

    assert [[(seen.commit.revision, seen.fragment) for seen in part.commits] for part in parts] == [
        [(1, (0, False))], [(1, (1, False))], [(1, (2, False))], [(1, (3, False))],
        [(1, (4, True))], [(2, None)],
    ]  # fmt: skip
    assert max(export_response(part).ByteSize() for part in parts) <= PAGE_BYTES_MAX


@pytest.mark.parametrize("values", [False, True], ids=["keys", "values"])
async def test_keys_and_labels_count_in_the_pages_of_a_list(alice: Desk, values: bool) -> None:
    async with connected(alice.engine) as wire:
        for first in range(0, 600, 100):
            await alice.commit(*(labelled(f"{number:03}") for number in range(first, first + 100)))
        request = entries_pb2.ListRequest(
            board=BOARD, pattern="**", page_size=1_000, keys_only=not values
        )
        outcome = await wire.call("/lavagna.v1.Entries/List", request, agent="alice")

    assert 0 < len(outcome.response.entries) < 600
    assert outcome.response.ByteSize() <= PAGE_BYTES_MAX


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with served() as wire:
        yield wire


async def test_a_client_with_no_settings_of_its_own_reads_the_largest_commits(wire: Wire) -> None:
    desk = Desk(wire.engine, "alice")
    await desk.commit(*(put(f"k/{number}", "x" * 1_000_000) for number in range(4)), labelled("l"))
    metadata = (("lavagna-agent", "alice"),)

    async with grpc.aio.insecure_channel(f"127.0.0.1:{wire.server.port}") as channel:
        export = BoardsStub(channel).Export(
            boards_pb2.ExportRequest(board=BOARD), metadata=metadata
        )
        exported = [entry.key async for part in export for c in part.commits for entry in c.entries]
        pull = watch_pb2.PullRequest(board=BOARD, after_revision=0)
        pulled = await WatchStub(channel).Pull(pull, metadata=metadata)

    assert exported == ["k/0", "k/1", "k/2", "k/3", "l"]
    assert pulled.ByteSize() <= CLIENT_BYTES_MAX
