"""Malformed input for every method, walked from the contract: always a typed error, never INTERNAL, never a hang."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from lavagna.v1 import activations_pb2, entries_pb2, triggers_pb2, watch_pb2
from lavagna_server.clocks import ManualClock
from tests.desks import running
from tests.integration.conftest import OpenStore
from tests.integration.malformations import malformed
from tests.integration.requests import BOARD, REQUESTS
from tests.wire import METHODS, Outcome, Wire, connected, served

CODE = grpc.StatusCode
TYPED = {
    CODE.INVALID_ARGUMENT,
    CODE.NOT_FOUND,
    CODE.ABORTED,
    CODE.ALREADY_EXISTS,
    CODE.FAILED_PRECONDITION,
    CODE.PERMISSION_DENIED,
    CODE.OUT_OF_RANGE,
    CODE.RESOURCE_EXHAUSTED,
}


@pytest.fixture
async def wire(open_store: OpenStore, clock: ManualClock) -> AsyncIterator[Wire]:
    """A server on each store, which trusts names."""
    async with running(open_store(), clock) as engine, connected(engine) as wire:
        yield wire


def check(outcome: Outcome, what: str) -> None:
    """A call must end well, or with an error that a program can act on."""
    if outcome.code is CODE.OK:
        return
    assert outcome.code in TYPED, (what, outcome.code, outcome.message)
    assert outcome.info.domain == "lavagna", (what, outcome.code, outcome.message)
    assert outcome.reason, what
    assert outcome.message, what
    if outcome.code is CODE.INVALID_ARGUMENT:
        assert outcome.fields, what
        assert all(outcome.fields), what


@pytest.mark.parametrize("method", METHODS)
async def test_whatever_is_malformed_is_refused_with_a_typed_error(wire: Wire, method: str) -> None:
    with capture_logs() as events:
        for what, raw in malformed(REQUESTS[method]):
            outcome = await wire.call(method, raw, agent="mallory")
            check(outcome, what)
            if method.endswith("/DeleteBoard") and outcome.code is CODE.OK:
                await wire.create_board("main")

    assert not [event for event in events if event["event"] == "call failed"]
    alive = await wire.call(
        "/lavagna.v1.Entries/List", REQUESTS["/lavagna.v1.Entries/List"], agent="bob"
    )
    assert alive.code is CODE.OK


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(method=st.sampled_from(sorted(METHODS)), raw=st.binary(max_size=200))
async def test_random_bytes_are_refused_with_a_typed_error(
    wire: Wire, method: str, raw: bytes
) -> None:
    check(await wire.call(method, raw, agent="mallory"), repr(raw))


def lease_token(*parts: Any) -> str:
    """A text that is made like a lease token, of anything."""
    raw = json.dumps(parts, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode()


LEASE_TOKENS = [
    lease_token("main", "", 10**30, 1, "n"),
    lease_token("main", "", -1, 1, "n"),
    lease_token("main", "", 1, -(10**30), "n"),
    lease_token("main", "mallory", 10**30, 1, "n"),
    lease_token("main", "\ud800", 1, 1, "n"),
    lease_token("\ud800", "", 1, 1, "n"),
    lease_token("main", "", 1, 1, "\ud800"),
    lease_token("main", "x" * 100_000, 1, 1, "n"),
    base64.urlsafe_b64encode(b'["main","",Infinity,1,"n"]').decode(),
    base64.urlsafe_b64encode(b'["main","",NaN,1,"n"]').decode(),
    base64.urlsafe_b64encode(b"[" * 100_000).decode(),
    base64.urlsafe_b64encode(b'["main","",1e999,1,"n"]').decode(),
    "====",
    "é" * 100,
    "x" * 1_000_000,
]


@pytest.mark.parametrize("token", LEASE_TOKENS, ids=lambda token: token[:24])
async def test_a_made_up_lease_token_is_refused_with_a_typed_error(wire: Wire, token: str) -> None:
    change = entries_pb2.Change(key="a", put=entries_pb2.Put(value=entries_pb2.Value(json="1")))
    requests = {
        "/lavagna.v1.Entries/Commit": entries_pb2.CommitRequest(
            board=BOARD, activation_token=token, changes=[change]
        ),
        "/lavagna.v1.Entries/Revert": entries_pb2.RevertRequest(
            board=BOARD, activation_token=token, key="a", version=1
        ),
        "/lavagna.v1.Activations/Complete": activations_pb2.CompleteRequest(
            board=BOARD, activation_token=token
        ),
        "/lavagna.v1.Activations/Fail": activations_pb2.FailRequest(
            board=BOARD, activation_token=token
        ),
        "/lavagna.v1.Activations/Release": activations_pb2.ReleaseRequest(
            board=BOARD, activation_token=token
        ),
    }
    for method, request in requests.items():
        outcome = await wire.call(method, request, agent="mallory")
        assert outcome.code in {CODE.INVALID_ARGUMENT, CODE.FAILED_PRECONDITION}, outcome
        check(outcome, method)
    heartbeat = activations_pb2.HeartbeatRequest(board=BOARD, tokens=[token])
    check(await wire.call("/lavagna.v1.Activations/Heartbeat", heartbeat, agent="mallory"), token)


def watch_token(content: bytes) -> str:
    """A text that is made like a watch token, with the right check sum, of anything."""
    check_sum = hashlib.blake2b(content, digest_size=4).digest()
    return base64.urlsafe_b64encode(check_sum + content).decode()


async def test_a_made_up_watch_token_is_refused_with_a_typed_error(wire: Wire) -> None:
    pull = watch_pb2.PullRequest(board=BOARD)
    good = await wire.call("/lavagna.v1.Watch/Pull", pull, agent="mallory")
    told = base64.urlsafe_b64decode(good.response.responses[-1].token)[4:]
    epoch, digest, _ = json.loads(told)
    places: list[Any] = [
        [["main", "", 10**30, False, None]],
        [["main", "", -1, True, ["note", "a"]]],
        [["main", "", 0, True, ["note", "\ud800"]]],
        [["main", "", 0, True, ["note", 5]]],
        [["main", "", 0, True, ["none", "a"]]],
        [["main", "", 0, True, ["note"]]],
        [["main", "mallory", 0, False, None]],
        [["main", "alice", 0, False, None]],
        [["main", "", "0", False, None]],
        [["main", "", None, False, None]],
        [["main", ""]],
        [],
        {},
        5,
    ]
    contents = [json.dumps([epoch, digest, place]).encode() for place in places]
    contents += [b"[" * 100_000, b"{}", b"5", b"null", b"\xff\xfe", b"[1,2,3]", b""]
    contents += [
        told.replace(b",0,", infinity) for infinity in (b",Infinity,", b",NaN,", b",1e999,")
    ]
    for content in contents:
        for method in ("Pull", "Watch"):
            request: Any = REQUESTS[f"/lavagna.v1.Watch/{method}"].__class__(
                board=BOARD, token=watch_token(content)
            )
            outcome = await wire.call(f"/lavagna.v1.Watch/{method}", request, agent="mallory")
            check(outcome, repr(content[:80]))


async def test_a_made_up_page_token_is_refused_with_a_typed_error(wire: Wire) -> None:
    for method, request in REQUESTS.items():
        if "page_token" not in request.DESCRIPTOR.fields_by_name:
            continue
        for token in (
            "x",
            "====",
            "é",
            "x" * 100_000,
            base64.urlsafe_b64encode(b"12345678\n").decode(),
        ):
            paged: Any = type(request)()
            paged.CopyFrom(request)
            paged.page_token = token
            outcome = await wire.call(method, paged, agent="mallory")
            assert (outcome.code, outcome.fields) == (CODE.INVALID_ARGUMENT, ["page_token"]), method


@pytest.mark.parametrize(
    "when",
    [
        "1/0 == 1", "'a' + 1", "entry.value.a.b.c", "(" * 500, "true &&", "[1,2,3]", "x", "now", "1",
        "[1].map(x, [1].map(y, x)) == []", "'\\u0000' == ''", "entry.value.matches('(a+)+$')",
        "board.all(k, board.all(l, board.all(m, board.all(n, true))))",
    ],
)  # fmt: skip
async def test_a_hostile_condition_is_refused_or_does_not_hold(wire: Wire, when: str) -> None:
    put = entries_pb2.Put(value=entries_pb2.Value(json=json.dumps({"a": "a" * 5_000})))
    commit = entries_pb2.CommitRequest(
        board=BOARD, changes=[entries_pb2.Change(key=f"tasks/{n}", put=put) for n in range(20)]
    )
    check(await wire.call("/lavagna.v1.Entries/Commit", commit, agent="mallory"), "commit")
    trigger = triggers_pb2.Trigger(
        on=[triggers_pb2.TriggerSource(pattern="tasks/{task}")], reads=["**"], when=when
    )
    setting = triggers_pb2.SetTriggerRequest(board=BOARD, trigger_id="t", trigger=trigger)
    trying = triggers_pb2.TryTriggerRequest(board=BOARD, trigger=trigger)
    check(await wire.call("/lavagna.v1.Triggers/SetTrigger", setting, agent="mallory"), when)
    tried = await wire.call("/lavagna.v1.Triggers/TryTrigger", trying, agent="mallory")

    check(tried, when)
    if tried.code is not CODE.OK:
        assert tried.fields == ["trigger.when"]


async def test_what_is_too_large_for_any_request_is_refused_and_the_next_one_answered() -> None:
    change = entries_pb2.Change(
        key="a", put=entries_pb2.Put(value=entries_pb2.Value(data=b"x" * (3 << 20)))
    )
    async with served() as wire:
        large = entries_pb2.CommitRequest(board=BOARD, changes=[change])
        refused = await wire.call("/lavagna.v1.Entries/Commit", large, agent="mallory")
        large.changes.extend([change] * 3)
        beyond = await wire.call("/lavagna.v1.Entries/Commit", large, agent="mallory")
        after = await wire.call(
            "/lavagna.v1.Entries/Get", REQUESTS["/lavagna.v1.Entries/Get"], agent="a"
        )

    assert (refused.code, refused.fields) == (CODE.INVALID_ARGUMENT, ["changes[0].put.value.data"])
    assert "value_bytes_max" in refused.message
    assert beyond.code is CODE.RESOURCE_EXHAUSTED  # gRPC's own bound: nothing of it was read
    assert after.code is CODE.NOT_FOUND


@pytest.mark.guarantee("S3")
@pytest.mark.parametrize("append_first", [True, False])
async def test_a_key_that_an_append_makes_cannot_be_written_by_the_same_commit(
    wire: Wire, append_first: bool
) -> None:
    value = entries_pb2.Value(json="1")
    made = f"log/{1:012d}-00{int(not append_first)}"
    changes = [
        entries_pb2.Change(key="log", append=entries_pb2.Append(value=value)),
        entries_pb2.Change(key=made, put=entries_pb2.Put(value=value), overwrite=True),
    ]
    if not append_first:
        changes.reverse()
    request = entries_pb2.CommitRequest(board=BOARD, changes=changes)
    outcome = await wire.call("/lavagna.v1.Entries/Commit", request, agent="mallory")

    assert (outcome.code, outcome.fields) == (CODE.INVALID_ARGUMENT, ["changes[1].key"])
    assert "twice" in outcome.message
