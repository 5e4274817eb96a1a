"""The door: what a call shows of its caller, what it is charged, how many may be inside, and what the operator sees."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from lavagna.v1.entries_pb2 import Change, CommitRequest, CommitResponse, Put, ResponseHeader, Value
from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.errors import (
    BoardError,
    Exhausted,
    Invalid,
    NotFound,
    StaleRecord,
    StorageFailed,
    Unauthenticated,
)
from lavagna_server.domain.limits import Limits
from lavagna_server.engine.identity import Credentials, Session
from lavagna_server.engine.quotas import Quotas
from lavagna_server.rpc.access import Work
from lavagna_server.rpc.calls import Calls
from lavagna_server.rpc.chain import Unreadable
from lavagna_server.rpc.contract import reader
from lavagna_server.rpc.gates import Gate
from lavagna_server.rpc.identity import Card, Context, card_of
from lavagna_server.rpc.telemetry import Telemetry
from lavagna_server.rpc.waits import either, while_valid

ALICE = Caller("main", "alice", Role.AGENT)


class Arrival:
    """A call as gRPC hands it over: its metadata, and who its connection was made by."""

    def __init__(self, *metadata: tuple[str, str | bytes], common_name: str = "") -> None:
        self._metadata, self._name = metadata, common_name

    def invocation_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        return self._metadata

    def auth_context(self) -> dict[str, list[bytes]]:
        return {"x509_common_name": [self._name.encode()]} if self._name else {}


def card(
    *metadata: tuple[str, str | bytes], certificates: bool = False, common_name: str = ""
) -> Card:
    """What a call with that metadata shows."""
    arrival = cast("Context", Arrival(*metadata, common_name=common_name))
    return card_of(arrival, certificates=certificates)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_a_bearer_token_is_read_whatever_the_case_of_its_scheme(scheme: str) -> None:
    shown = card(("authorization", f"{scheme} lav_1 "))

    assert shown.credentials(trust_names=False) == Credentials("lav_1")


@pytest.mark.parametrize("trust_names", [True, False])
@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("authorization", ""),),
        (("authorization", "Basic YWxpY2U6"),),
        (("authorization", "lav_1"),),
        (("authorization", "Bearer "),),
        (("authorization", "Bearer " + "x" * 600),),
        (("lavagna-agent", ""),),
        (("other", "alice"), ("trace-bin", b"\x00\xff")),
    ],
)
def test_a_call_that_shows_nothing_is_nobodys(metadata: Any, trust_names: bool) -> None:
    with pytest.raises(Unauthenticated):
        card(*metadata).credentials(trust_names=trust_names)


def test_a_stated_name_counts_only_where_names_are_trusted() -> None:
    shown = card(("lavagna-agent", "alice"))

    assert shown.credentials(trust_names=True) == Credentials(stated_agent="alice")
    with pytest.raises(Unauthenticated, match="authorization: Bearer"):
        shown.credentials(trust_names=False)


def test_a_certificate_counts_only_where_its_authority_is_known() -> None:
    assert card(certificates=True, common_name="alice").certificate_agent == "alice"
    assert card(certificates=False, common_name="alice").certificate_agent == ""


def test_the_name_of_a_request_is_kept_for_the_logs_and_bounded() -> None:
    assert card(("lavagna-request", "r-1")).request == "r-1"
    assert len(card(("lavagna-request", "r" * 5_000)).request) == 128


def request(**fields: Any) -> CommitRequest:
    """A commit of one value."""
    change = Change(key="a", put=Put(value=Value(text="hello")))
    return CommitRequest(board="boards/main", changes=[change], **fields)


def fingerprint(message: CommitRequest) -> bytes:
    """What tells the request apart from others of the same id."""
    calls = Calls(Quotas(Limits()), Limits())
    return calls.mutation(ALICE, message, lambda _: CommitResponse(), CommitResponse).fingerprint


@pytest.mark.guarantee("S6")
def test_a_fingerprint_tells_content_apart_and_not_the_id() -> None:
    assert fingerprint(request(request_id="a")) == fingerprint(request(request_id="b"))
    assert fingerprint(request(request_id="a")) != fingerprint(request(request_id="a", space=1))
    assert fingerprint(request(request_id="a", activation_token="t")) != fingerprint(
        request(request_id="a")
    )


def test_a_request_is_as_it_was_after_its_fingerprint() -> None:
    message = request(request_id="r-1")
    fingerprint(message)

    assert message == request(request_id="r-1")


@pytest.mark.parametrize("request_id", ["r" * 129, "a\nb", "\x00"])
def test_a_malformed_request_id_is_refused(request_id: str) -> None:
    with pytest.raises(Invalid) as caught:
        fingerprint(request(request_id=request_id))
    assert caught.value.field == "request_id"


def test_an_agent_that_writes_too_much_is_told_which_quota_and_when_to_try_again() -> None:
    limits = Limits(commits_per_second_max=2)
    calls = Calls(Quotas(limits), limits)

    def charge() -> None:
        calls.mutation(ALICE, request(), lambda _: CommitResponse(), CommitResponse)

    charge()
    charge()
    with pytest.raises(Exhausted) as caught:
        charge()
    assert (caught.value.limit, caught.value.maximum) == ("commits_per_second_max", 2)
    assert caught.value.retry_seconds is not None


def test_a_gate_counts_those_inside_and_names_its_limit() -> None:
    gate = Gate(Work.WAIT, 1)
    gate.enter()
    with pytest.raises(Exhausted) as caught:
        gate.enter()
    assert caught.value.numbers == {
        "limit": "waits at once",
        "maximum": "1",
        "subject": "this server",
    }
    gate.leave()
    gate.enter()


@pytest.mark.parametrize("raw", [b"\xff\xff", b"\x0a\x02\xff\xfe", b"\x0a\x7f", b"\x08"])
def test_bytes_that_are_no_request_come_out_as_such(raw: bytes) -> None:
    read = reader(CommitRequest)(raw)

    assert isinstance(read, Unreadable)
    assert read.kind == "lavagna.v1.CommitRequest"


def metric(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    """A sample of a metric."""
    return registry.get_sample_value(name, labels)


def test_calls_are_counted_by_method_and_by_how_they_ended() -> None:
    registry = CollectorRegistry()
    meter = Telemetry(registry, log_calls=False).meter("/m")
    endings: list[BoardError | None] = [
        None,
        None,
        NotFound("plan"),
        StaleRecord("b", expected=1, current=2),
    ]
    for error in endings:
        visit = meter.arrive("r")
        if error is None:
            meter.succeed(visit, CommitResponse())
        else:
            meter.fail(visit, error)
        meter.leave(visit)

    assert metric(registry, "lavagna_calls_total", method="/m", outcome="OK") == 2
    assert metric(registry, "lavagna_calls_total", method="/m", outcome="NOT_FOUND") == 1
    assert metric(registry, "lavagna_calls_total", method="/m", outcome="STALE_RECORD") == 1
    assert metric(registry, "lavagna_call_seconds_count", method="/m") == 4
    assert metric(registry, "lavagna_open_calls", method="/m") == 0


def test_a_call_that_was_given_up_is_counted_as_cancelled() -> None:
    registry = CollectorRegistry()
    meter = Telemetry(registry, log_calls=False).meter("/m")
    meter.leave(meter.arrive(""))

    assert metric(registry, "lavagna_calls_total", method="/m", outcome="CANCELLED") == 1


def test_a_log_event_says_who_called_what_and_how_it_ended() -> None:
    meter = Telemetry(CollectorRegistry(), log_calls=True).meter("/m")
    with capture_logs() as events:
        visit = meter.arrive("r-1")
        visit.board, visit.agent = "main", "alice"
        meter.succeed(visit, CommitResponse(header=ResponseHeader(revision=7)))
        meter.leave(visit)

    (event,) = events
    assert event.pop("seconds") >= 0
    assert event == {
        "event": "call",
        "log_level": "info",
        "method": "/m",
        "outcome": "OK",
        "board": "main",
        "agent": "alice",
        "request": "r-1",
        "revision": 7,
    }


@pytest.mark.parametrize(
    ("error", "logged"),
    [(NotFound("plan"), False), (Unauthenticated("say who you are"), True)],
    ids=["NOT_FOUND", "UNAUTHENTICATED"],
)
def test_only_what_an_operator_should_know_of_is_logged(error: BoardError, logged: bool) -> None:
    meter = Telemetry(CollectorRegistry(), log_calls=False).meter("/m")
    with capture_logs() as events:
        visit = meter.arrive("")
        meter.fail(visit, error)
        meter.leave(visit)

    assert bool(events) is logged


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(StorageFailed("the disk is full"), "STORAGE_FAILED"), (ValueError("a bug"), "INTERNAL")],
)
def test_what_is_the_servers_own_fault_is_an_error_in_the_log(
    error: Exception, outcome: str
) -> None:
    meter = Telemetry(CollectorRegistry(), log_calls=False).meter("/m")
    with capture_logs() as events:
        visit = meter.arrive("r-1")
        meter.fail(visit, error)
        meter.leave(visit)

    (event,) = events
    assert (event["log_level"], event["event"]) == ("error", "call failed")
    assert (event["method"], event["outcome"], event["request"]) == ("/m", outcome, "r-1")
    assert "the disk is full" in event.get("why", "") or event["exc_info"] is error


async def test_waiting_ends_with_the_session() -> None:
    session = Session(ALICE, asyncio.Event())
    never = asyncio.Event()
    waiting = asyncio.ensure_future(while_valid(never.wait(), session))
    session.ended.set()

    with pytest.raises(Unauthenticated, match="while the call waited"):
        await waiting


async def test_what_was_waited_for_is_given_when_it_comes() -> None:
    session = Session(ALICE, asyncio.Event())
    come = asyncio.Event()
    waiting = asyncio.ensure_future(while_valid(come.wait(), session))
    come.set()

    assert await waiting is True


@pytest.mark.parametrize("which", [0, 1])
async def test_either_of_two_events_is_enough(which: int) -> None:
    events = asyncio.Event(), asyncio.Event()
    async with either(*events) as any_set:
        assert not any_set.is_set()
        events[which].set()
        await any_set.wait()
