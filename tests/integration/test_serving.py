"""The server as a process meets it: it says whether it serves, bounds what it holds, and ends in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import grpc.aio
import pytest
import structlog
from google.protobuf.duration_pb2 import Duration
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from structlog.testing import capture_logs

from lavagna.v1 import (
    activations_pb2,
    agents_pb2,
    boards_pb2,
    entries_pb2,
    errors_pb2,
    watch_pb2,
)
from lavagna.v1.watch_pb2_grpc import WatchStub
from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import SERVER_WIDE, Role
from lavagna_server.domain.limits import Limits
from lavagna_server.rpc.gates import Room
from lavagna_server.rpc.server import RpcOptions, build
from lavagna_server.storage.ephemeral import EphemeralStore
from tests.desks import running
from tests.integration.conftest import StartEngine
from tests.integration.cutting_proxy import cutting_proxy
from tests.integration.requests import BOARD
from tests.wire import METHODS, Outcome, Wire, connected, served, status_of

CODE = grpc.StatusCode
ALICE = (("lavagna-agent", "alice"),)
ACQUIRE = "/lavagna.v1.Activations/Acquire"
COMMIT = "/lavagna.v1.Entries/Commit"
PULL = "/lavagna.v1.Watch/Pull"


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A server that trusts names."""
    async with served() as wire:
        yield wire


async def put(wire: Wire, key: str, value: entries_pb2.Value, **more: Any) -> Outcome:
    """Stores a value for alice."""
    change = entries_pb2.Change(key=key, put=entries_pb2.Put(value=value), **more)
    request = entries_pb2.CommitRequest(board=BOARD, changes=[change])
    return await wire.call(COMMIT, request, agent="alice")


def text(content: str) -> entries_pb2.Value:
    """A text."""
    return entries_pb2.Value(text=content)


def watching(wire: Wire, **fields: Any) -> Any:
    """A watch of the whole board for alice."""
    request = watch_pb2.WatchRequest(board=BOARD, **fields)
    return WatchStub(wire.channel).Watch(request, metadata=ALICE)


async def test_health_says_serving_for_every_service_and_not_for_others(wire: Wire) -> None:
    health: Any = HealthStub(wire.channel)
    services = {"", *(method.containing_service.full_name for method in METHODS.values())}
    for service in services:
        answer = await health.Check(HealthCheckRequest(service=service))
        assert answer.status == HealthCheckResponse.SERVING
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await health.Check(HealthCheckRequest(service="other"))
    assert caught.value.code() is CODE.NOT_FOUND


async def test_health_answers_what_it_cannot_read(wire: Wire) -> None:
    check = wire.channel.unary_unary("/grpc.health.v1.Health/Check")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await check(b"\xff\xff")
    assert caught.value.code() is CODE.INVALID_ARGUMENT


async def test_reflection_shows_the_whole_contract(wire: Wire) -> None:
    reflection: Any = ServerReflectionStub(wire.channel)
    asked = iter([ServerReflectionRequest(list_services="")])
    answer = await anext(aiter(reflection.ServerReflectionInfo(asked)))
    listed = {service.name for service in answer.list_services_response.service}

    assert {method.containing_service.full_name for method in METHODS.values()} < listed
    assert "grpc.health.v1.Health" in listed


async def test_a_stop_tells_health_first_and_waits_for_no_stream() -> None:
    async with running(EphemeralStore(), ManualClock()) as engine, connected(engine) as wire:
        health: Any = HealthStub(wire.channel)
        told = aiter(health.Watch(HealthCheckRequest(service="")))
        assert (await anext(told)).status == HealthCheckResponse.SERVING
        watch = aiter(watching(wire))
        await anext(watch)
        acquiring = asyncio.ensure_future(
            wire.call(
                ACQUIRE,
                activations_pb2.AcquireRequest(board=BOARD, wait=Duration(seconds=60)),
                agent="alice",
            )
        )
        await wire.inside(ACQUIRE)
        async with asyncio.timeout(20):
            await wire.server.stop(grace_seconds=3_600)

        assert (await anext(told)).status == HealthCheckResponse.NOT_SERVING
        assert [message async for message in told] == []
        assert (await acquiring).code is CODE.OK


@pytest.mark.guarantee("W7")
@pytest.mark.guarantee("W5")
async def test_a_watch_gets_a_last_bookmark_and_goes_on_at_the_next_server(
    start_engine: StartEngine,
) -> None:
    async with start_engine() as engine, connected(engine) as wire:
        watch = aiter(watching(wire, after_revision=0))
        assert (await anext(watch)).covers.through == 0
        await put(wire, "plan", text("one"))
        assert [commit.revision for commit in (await anext(watch)).commits] == [1]
        await wire.server.stop(grace_seconds=5)
        last = await anext(watch)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await anext(watch)
    assert (last.covers.after, last.covers.through) == (1, 1)
    assert caught.value.code() is CODE.UNAVAILABLE

    async with start_engine() as engine, connected(engine) as wire:
        resumed = aiter(watching(wire, token=last.token))
        assert (await anext(resumed)).covers.after == 1
        await put(wire, "plan", text("two"), overwrite=True)
        assert [commit.revision for commit in (await anext(resumed)).commits] == [2]


async def test_a_second_server_on_the_same_port_does_not_start(wire: Wire) -> None:
    second = build(wire.engine, RpcOptions(listen=f"127.0.0.1:{wire.server.port}"))

    with pytest.raises(RuntimeError):
        await second.start()


class Overheard:
    """The log, and an event for the first line about a call that ended in a certain way."""

    def __init__(self, outcome: str) -> None:
        self._outcome = outcome
        self.heard = asyncio.Event()

    def __call__(self, _logger: Any, _name: str, event: Any) -> Any:
        if event.get("outcome") == self._outcome:
            self.heard.set()
        raise structlog.DropEvent


@pytest.fixture
def slow_consumer() -> Iterator[Overheard]:
    """Hears when a stream is ended because its client takes nothing."""
    before = structlog.get_config()
    overheard = Overheard("SLOW_CONSUMER")
    structlog.configure(processors=[overheard])
    yield overheard
    structlog.configure(**before)


@pytest.mark.guarantee("W8")
async def test_a_watcher_that_takes_nothing_is_ended_with_a_token_and_can_catch_up(
    slow_consumer: Overheard,
) -> None:
    commits = 40
    async with served(stall_seconds=0.3) as wire:
        healthy = aiter(watching(wire))
        await anext(healthy)
        narrow = [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_536)]
        async with grpc.aio.insecure_channel(
            f"127.0.0.1:{wire.server.port}", options=narrow
        ) as channel:
            stalled: Any = WatchStub(channel).Watch(
                watch_pb2.WatchRequest(board=BOARD), metadata=ALICE
            )
            messages = aiter(stalled)
            taken = [await anext(messages)]
            seen = 0
            for number in range(commits):
                await put(wire, f"k/{number}", entries_pb2.Value(data=b"x" * 50_000))
                while seen <= number:
                    seen += len((await anext(healthy)).commits)
            await slow_consumer.heard.wait()

            error = await rest_of(messages, taken)
        resume = Outcome(error.code(), status=status_of(error)).detail(errors_pb2.ResumeDetail)
        assert error.code() is CODE.RESOURCE_EXHAUSTED
        assert resume.token in {message.token for message in taken}
        assert seen == commits

        revisions = [commit.revision for message in taken for commit in message.commits]
        last = taken[-1].token
        caught_up = aiter(watching(wire, token=last))
        while len(revisions) < commits:
            revisions += [commit.revision for commit in (await anext(caught_up)).commits]
        assert revisions == list(range(1, commits + 1))


async def rest_of(messages: Any, taken: list[Any]) -> grpc.aio.AioRpcError:
    """Takes the messages of a stream until it ends, and gives the error that it ends with."""
    try:
        async for message in messages:
            taken.append(message)  # noqa: PERF401 (what came before the error is kept)
    except grpc.aio.AioRpcError as error:
        return error
    raise AssertionError("the stream ended well")


async def test_calls_of_one_class_leave_room_for_the_others() -> None:
    async with served(rpc=RpcOptions(room=Room(waits=1))) as wire:
        long = watch_pb2.PullRequest(board=BOARD, wait=Duration(seconds=60))
        waiting = asyncio.ensure_future(wire.call(PULL, long, agent="alice"))
        await wire.inside(PULL)
        refused = await wire.call(PULL, long, agent="bob")
        written = await put(wire, "plan", text("one"))
        pulled = await waiting

    assert (refused.code, refused.reason) == (CODE.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
    assert dict(refused.info.metadata)["limit"] == "waits at once"
    assert refused.detail(errors_pb2.RetryInfo).retry_delay.ToMilliseconds() == 500
    assert written.code is pulled.code is CODE.OK


async def test_a_caller_that_leaves_gives_its_place_back() -> None:
    async with served(rpc=RpcOptions(room=Room(streams=1))) as wire:
        for _ in range(3):
            stream = watching(wire)
            await anext(aiter(stream))
            await wire.inside("/lavagna.v1.Watch/Watch")
            stream.cancel()
            await wire.inside("/lavagna.v1.Watch/Watch", 0)


async def test_a_connection_that_breaks_in_the_middle_of_a_message_is_no_fault(wire: Wire) -> None:
    watch = "/lavagna.v1.Watch/Watch"
    async with (
        cutting_proxy(f"127.0.0.1:{wire.server.port}") as proxy,
        grpc.aio.insecure_channel(proxy.address) as channel,
    ):
        stream: Any = WatchStub(channel).Watch(watch_pb2.WatchRequest(board=BOARD), metadata=ALICE)
        await anext(aiter(stream))
        with capture_logs() as events:
            for number in range(20):  # more than all buffers on the way take
                await put(wire, f"k/{number}", entries_pb2.Value(data=b"x" * 500_000))
            proxy.cut()
            await wire.inside(watch, 0)

    labels = {"method": watch, "outcome": "CANCELLED"}
    assert wire.registry.get_sample_value("lavagna_calls_total", labels) == 1
    assert not [event for event in events if event["event"] == "call failed"]


async def test_an_agent_holds_no_more_watches_than_its_quota() -> None:
    async with served(limits=Limits(watches_per_agent_max=1)) as wire:
        await anext(aiter(watching(wire)))
        refused = await wire.call(
            "/lavagna.v1.Watch/Watch", watch_pb2.WatchRequest(board=BOARD), agent="alice"
        )
        other = await wire.call(
            "/lavagna.v1.Watch/Watch", watch_pb2.WatchRequest(board=BOARD), agent="bob"
        )

    assert (refused.code, other.code) == (CODE.RESOURCE_EXHAUSTED, CODE.OK)
    (violation,) = refused.detail(errors_pb2.QuotaFailure).violations
    assert (violation.subject, violation.description) == ("alice", "watches_per_agent_max: 1")


@pytest.mark.guarantee("S6")
@pytest.mark.field_report("F5")
async def test_a_retry_gets_the_original_response_and_other_content_none(wire: Wire) -> None:
    change = entries_pb2.Change(key="plan", put=entries_pb2.Put(value=text("one")))
    request = entries_pb2.CommitRequest(board=BOARD, request_id="r-1", changes=[change])
    first = await wire.call(COMMIT, request, agent="alice")
    again = await wire.call(COMMIT, request, agent="alice")
    request.changes[0].put.value.text = "two"
    other = await wire.call(COMMIT, request, agent="alice")
    somebody = await wire.call(COMMIT, request, agent="bob")

    assert first.response == again.response
    assert (other.code, other.reason) == (CODE.INVALID_ARGUMENT, "REQUEST_ID_REUSED")
    assert other.fields == ["request_id"]
    assert somebody.reason == "VERSION_REQUIRED"  # another agent's ids are its own


async def test_a_retry_by_a_token_or_on_a_board_that_the_request_ended_says_so() -> None:
    async with served(trust_names=False) as wire:
        await wire.create_board("other")
        token = await wire.register("ada")
        own = await wire.register("admin", Role.ADMIN, board="other")
        root = await wire.register("root", Role.ADMIN, board=SERVER_WIDE)
        rotate = agents_pb2.RotateTokenRequest(name="boards/main/agents/ada", request_id="r")
        delete = boards_pb2.DeleteBoardRequest(name="boards/other", request_id="r")
        rotated = [
            await wire.call("/lavagna.v1.Agents/RotateToken", rotate, token=token) for _ in range(2)
        ]
        deleted = [
            await wire.call("/lavagna.v1.Boards/DeleteBoard", delete, token=each)
            for each in (root, root, own)
        ]

    assert [each.code for each in rotated] == [CODE.OK, CODE.UNAUTHENTICATED]
    assert [each.code for each in deleted] == [CODE.OK, CODE.NOT_FOUND, CODE.UNAUTHENTICATED]


@pytest.mark.guarantee("S1")
@pytest.mark.parametrize("keys", [1, 128])
async def test_a_conflict_of_any_size_reaches_the_loser(wire: Wire, keys: int) -> None:
    names = [f"{'ключ' * 60}/{number}" for number in range(keys)]
    for name in names:
        await put(wire, name, text("x" * 2_000))
    request = entries_pb2.CommitRequest(
        board=BOARD,
        changes=[
            entries_pb2.Change(
                key=name, put=entries_pb2.Put(value=text("mine")), expected_version=7
            )
            for name in names
        ],
    )
    outcome = await wire.call(COMMIT, request, agent="bob")

    assert (outcome.code, outcome.reason) == (CODE.ABORTED, "STALE_VERSION")
    assert dict(outcome.info.metadata) | {"version": "1", "author": "alice"} == dict(
        outcome.info.metadata
    )
    current = outcome.detail(errors_pb2.ConflictDetail).failed_conditions[0].current
    assert (current.key, current.version, current.author) == (names[0], 1, "alice")


async def test_a_list_goes_on_where_the_last_page_ended_and_at_its_revision(wire: Wire) -> None:
    for number in range(7):
        await put(wire, f"k/{number}", text("x"), sources=["s" * 500])
    request = entries_pb2.ListRequest(board=BOARD, pattern="k/*", page_size=3)
    keys: list[str] = []
    revisions: set[int] = set()
    while True:
        page = (await wire.call("/lavagna.v1.Entries/List", request, agent="bob")).response
        keys += [entry.key for entry in page.entries]
        revisions.add(page.header.revision)
        await put(wire, f"k/{len(keys)}x", text("later"))
        request.page_token = page.next_page_token
        if not page.next_page_token:
            break

    assert keys == [f"k/{number}" for number in range(7)]
    assert revisions == {7}


async def test_a_page_counts_labels_and_sources_as_bytes_too() -> None:
    async with served(limits=Limits(page_bytes_max=10_000)) as wire:
        for number in range(5):
            await put(wire, f"k/{number}", text("x"), sources=["s" * 500] * 8)
        request = entries_pb2.ListRequest(board=BOARD)
        page = (await wire.call("/lavagna.v1.Entries/List", request, agent="bob")).response
        request.page_token = page.next_page_token
        rest = (await wire.call("/lavagna.v1.Entries/List", request, agent="bob")).response

    assert [entry.key for entry in page.entries] == ["k/0", "k/1"]
    assert [entry.key for entry in rest.entries] == ["k/2", "k/3"]


async def test_an_answer_that_is_too_large_for_one_message_is_refused_with_its_limit() -> None:
    async with served(limits=Limits(commit_bytes_max=100_000)) as wire:
        for number in range(3):
            await put(wire, f"k/{number}", text("x" * 50_000))
        keys = [f"k/{number}" for number in range(3)]
        batch = entries_pb2.BatchGetRequest(board=BOARD, keys=keys)
        outcome = await wire.call("/lavagna.v1.Entries/BatchGet", batch, agent="bob")

    assert outcome.code is CODE.RESOURCE_EXHAUSTED
    assert outcome.info.metadata["maximum"] == "100000"


async def test_calls_are_counted_as_they_end(wire: Wire) -> None:
    await put(wire, "plan", text("one"))
    await put(wire, "plan", text("two"))

    def count(outcome: str) -> float | None:
        labels = {"method": COMMIT, "outcome": outcome}
        return wire.registry.get_sample_value("lavagna_calls_total", labels)

    assert (count("OK"), count("VERSION_REQUIRED")) == (1, 1)
