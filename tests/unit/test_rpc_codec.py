"""The codec: what goes in comes out again, and nothing that is not what it seems."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from lavagna.v1 import entries_pb2, triggers_pb2
from lavagna.v1.boards_pb2 import SetRegionRequest
from lavagna_server.domain.agenda import ActivationId
from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import ChangeType, Entry, Kind, SpaceName
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import parse_pattern
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.names import (
    activation_name,
    agent_name,
    board_name,
    parse_activation,
    parse_agent,
    parse_board,
    parse_region,
    parse_trigger,
    region_name,
    trigger_name,
)
from lavagna_server.domain.regions import Policy, Region, Retention
from lavagna_server.domain.schedules import Schedule
from lavagna_server.domain.triggers import Mode, Source, Trigger, TriggerId, TriggerLimits
from lavagna_server.domain.values import Form, Value
from lavagna_server.rpc.codec import boards, enums, pages, regions, triggers
from lavagna_server.rpc.codec.changes import confidence_from_wire
from lavagna_server.rpc.codec.entries import entry_to_wire
from lavagna_server.rpc.codec.times import (
    EPOCH,
    LATEST,
    moment_from_wire,
    moment_to_wire,
    span_from_wire,
    span_to_wire,
)
from lavagna_server.rpc.codec.values import value_from_wire, value_to_wire

LIMITS = Limits()
ALICE = Caller("main", "alice", Role.AGENT)
CODECS: list[enums.EnumCodec[Any, Any]] = [
    each for each in vars(enums).values() if isinstance(each, enums.EnumCodec)
]

names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
board_names = st.from_regex(r"[a-z0-9][a-z0-9-]{0,20}", fullmatch=True)
segments = st.from_regex(r"[a-zà-ö][a-z0-9à-ö]{0,8}", fullmatch=True)
keys = st.lists(segments, min_size=1, max_size=4).map("/".join)
moments = st.datetimes(
    EPOCH.replace(tzinfo=None),
    LATEST.replace(tzinfo=None) - timedelta(days=1),
    timezones=st.just(UTC),
)
spans = st.timedeltas(timedelta(0), timedelta(days=3_660))
spaces = st.builds(SpaceName, board_names, st.one_of(st.just(""), names))


@given(st.one_of(st.text(), st.binary()))
def test_text_and_bytes_come_back_as_they_went(content: str | bytes) -> None:
    value = Value(Form.TEXT if isinstance(content, str) else Form.DATA, content)

    assert value_from_wire(value_to_wire(value), field="value", limits=LIMITS) == value


@pytest.mark.parametrize(
    "text", ['{"a": 1}', " [1.50, 1e3] ", "9007199254740993", "null", '"\\u00e9"']
)
def test_json_comes_back_byte_for_byte(text: str) -> None:
    read = value_from_wire(entries_pb2.Value(json=text), field="value", limits=LIMITS)

    assert value_to_wire(read).json == text


@given(moments)
def test_times_come_back_to_the_microsecond(moment: datetime) -> None:
    assert moment_from_wire(moment_to_wire(moment), field="at") == moment
    same = Timestamp()
    same.FromDatetime(moment)
    assert moment_to_wire(moment) == same


@given(spans)
def test_durations_come_back_to_the_microsecond(span: timedelta) -> None:
    assert span_from_wire(span_to_wire(span), field="ttl") == span


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1))
def test_no_timestamp_and_no_duration_is_anything_but_read_or_refused(
    seconds: int, nanos: int
) -> None:
    for read in (
        lambda: moment_from_wire(Timestamp(seconds=seconds, nanos=nanos), field="at"),
        lambda: span_from_wire(Duration(seconds=seconds, nanos=nanos), field="at"),
    ):
        with suppress(Invalid):
            found = read()
            assert isinstance(found, datetime | timedelta)
            assert 0 <= nanos < 1_000_000_000
            assert seconds >= 0


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: repr(next(iter(codec.members))))
def test_every_member_of_an_enum_comes_back(codec: enums.EnumCodec[Any, Any]) -> None:
    members = list(codec.members)

    assert set(members) == set(cast("Any", type(members[0])))
    assert [codec.from_wire(codec.to_wire(each), field="f") for each in members] == members


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: repr(next(iter(codec.members))))
@pytest.mark.parametrize("number", [-1, 77, 2**31 - 1])
def test_no_enum_takes_a_number_it_does_not_know(
    codec: enums.EnumCodec[Any, Any], number: int
) -> None:
    with pytest.raises(Invalid, match=f"{number} is not a"):
        codec.from_wire(number, field="f")


@given(
    st.builds(
        Board,
        board_names,
        st.just(""),
        st.text(st.characters(categories=["L", "N"]), max_size=20),
        st.integers(1, 1_000_000),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(0, 2**40),
    )
)
def test_a_board_comes_back(board: Board) -> None:
    assert boards.board_from_wire(boards.board_to_wire(board), board.name) == board


members = st.lists(names | names.map("team:{}".format) | st.just("*"), unique=True, max_size=4)


@given(
    st.builds(
        Region,
        board_names,
        keys,
        st.just("") | names | names.map("team:{}".format),
        members.map(tuple),
        members.map(tuple),
        st.sampled_from(Policy),
        st.just("") | st.just('{"type": "object"}'),
        st.builds(
            Retention,
            st.none() | st.timedeltas(timedelta(seconds=1), timedelta(days=3_660)),
            st.integers(0, 2**31 - 1),
        ),
        st.integers(0, 2**40),
    )
)
def test_a_region_comes_back(region: Region) -> None:
    request = SetRegionRequest(region=regions.region_to_wire(region))

    assert regions.region_from_wire(request, region.board, limits=LIMITS) == region


patterns = st.sampled_from(["**", "tasks/*", "tasks/{task}/status", "plan/**", "a"]).map(
    lambda text: parse_pattern(text, field="p", limits=LIMITS)
)
sources = st.builds(
    Source,
    patterns,
    st.sets(st.sampled_from(Kind)).map(frozenset),
    st.sets(st.sampled_from(ChangeType)).map(frozenset),
)
limits = st.builds(
    TriggerLimits,
    lease=st.timedeltas(timedelta(seconds=1), timedelta(hours=1)),
    attempts_max=st.integers(1, 100),
    backoff=st.timedeltas(timedelta(0), timedelta(minutes=5)),
    concurrency_max=st.integers(0, 1_000),
    binding_concurrency_max=st.integers(1, 1_000),
    cooldown=spans,
    start_deadline=st.none() | st.timedeltas(timedelta(milliseconds=1), timedelta(days=9)),
    run_deadline=st.none() | st.timedeltas(timedelta(seconds=1), timedelta(days=9)),
    causal_depth_max=st.integers(1, 1_000),
    firings_per_minute_max=st.integers(1, 1_000_000),
)
schedules = st.builds(Schedule, at=moments) | st.just(
    Schedule(cron="0 9 * * 1-5", time_zone="Europe/Rome")
)


@st.composite
def wanted_triggers(draw: st.DrawFn) -> Trigger:
    """Triggers as their agents set them."""
    mode = draw(st.sampled_from(Mode))
    return Trigger(
        SpaceName("main", draw(st.sampled_from(["", "alice"]))),
        draw(names),
        "alice",
        draw(st.just("") | names),
        () if mode is Mode.DUE else tuple(draw(st.lists(sources, min_size=1, max_size=3))),
        tuple(draw(st.lists(patterns, max_size=3))),
        draw(st.sampled_from(["", "entry.value == 1"])),
        draw(st.sampled_from(["", "3"])),
        mode,
        draw(schedules) if mode is Mode.DUE else None,
        draw(limits),
        draw(st.booleans()),
    )


@given(wanted_triggers())
def test_a_trigger_comes_back(trigger: Trigger) -> None:
    message = triggers.trigger_to_wire(trigger)

    assert triggers.trigger_from_wire(message, trigger.name, ALICE, limits=LIMITS) == trigger


def test_what_a_trigger_leaves_unset_gets_the_defaults_of_the_contract() -> None:
    message = triggers_pb2.Trigger(on=[triggers_pb2.TriggerSource(pattern="tasks/*")])
    trigger = triggers.trigger_from_wire(message, "t", ALICE, limits=LIMITS)

    assert trigger.mode is Mode.EDGE
    assert trigger.limits.lease == timedelta(seconds=30)
    assert (trigger.limits.attempts_max, trigger.limits.backoff) == (5, timedelta(seconds=1))
    assert (trigger.limits.concurrency_max, trigger.limits.binding_concurrency_max) == (0, 1)
    assert (trigger.limits.causal_depth_max, trigger.limits.firings_per_minute_max) == (32, 6_000)


def test_an_entry_keeps_what_was_said_and_leaves_unset_what_was_not() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    sure = Entry(
        Kind.NOTE, "a", 1, 1, ChangeType.CREATED, Value(Form.JSON, "0"), "b", at, confidence=0.0
    )
    unsure = Entry(Kind.NOTE, "a", 2, 2, ChangeType.DELETED, None, "b", at)

    assert entry_to_wire(sure, SpaceName("main")).HasField("confidence")
    for field in ("confidence", "value", "expire_time", "cause"):
        assert not entry_to_wire(unsure, SpaceName("main")).HasField(field)


@given(board_names, names, keys)
def test_names_of_boards_agents_and_regions_come_back(board: str, agent: str, key: str) -> None:
    assert parse_board(board_name(board), field="name") == board
    assert parse_agent(agent_name(board, agent), field="name") == (board, agent)
    assert parse_region(region_name(board, key), field="name", limits=LIMITS) == (board, key)


@given(spaces, names, st.integers(1, 10**18 - 1))
def test_names_of_triggers_and_activations_come_back(
    space: SpaceName, name: str, number: int
) -> None:
    trigger, activation = TriggerId(space, name), ActivationId(space, number)

    assert parse_trigger(trigger_name(trigger), field="name") == trigger
    assert parse_activation(activation_name(activation), field="name") == activation


@pytest.mark.parametrize(
    "text",
    [
        "", "/", "boards", "boards/", "boards//triggers/t", "boards/UPPER/triggers/t", "boards/-/triggers/t",
        "boards/main/triggers/", "boards/main/triggers/t/u", "boards/main/agents/a/b/triggers/t",
        "boards/main/agents//triggers/t", "boards/main/agents/a/b/c/triggers/t", "Boards/main/triggers/t",
        "boards/main/triggers/t\n", "boards/main/triggers/../t", "boards/main/activations/1", "x" * 100_000,
    ],
)  # fmt: skip
def test_what_is_not_a_name_of_a_trigger_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_trigger(text, field="name")
    assert caught.value.field == "name"
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("number", ["0", "01", "-1", "1.0", "٣", "9" * 19, "1e3", "", " 1"])
def test_what_is_not_a_number_names_no_activation(number: str) -> None:
    with pytest.raises(Invalid):
        parse_activation(f"boards/main/activations/{number}", field="name")


LIST = entries_pb2.ListRequest(board="boards/main", pattern="plan/**", page_size=10)


@given(st.integers(0, 2**63 - 1), keys)
def test_a_page_token_gives_its_place_back(revision: int, key: str) -> None:
    token = pages.page_token(LIST, ALICE, revision, key)

    assert pages.place_of(token, LIST, ALICE, parts=2) == [str(revision), key]


def changed(**fields: Any) -> entries_pb2.ListRequest:
    """The request with other fields."""
    request = entries_pb2.ListRequest()
    request.CopyFrom(LIST)
    for name, value in fields.items():
        setattr(request, name, value)
    return request


@pytest.mark.parametrize(
    ("request_", "caller"),
    [
        (changed(pattern="plan/*"), ALICE),
        (changed(space=entries_pb2.SPACE_PRIVATE), ALICE),
        (changed(keys_only=True), ALICE),
        (changed(at_revision=3), ALICE),
        (LIST, Caller("main", "bob", Role.AGENT)),
        (LIST, Caller("studio", "alice", Role.AGENT)),
        (entries_pb2.HistoryRequest(board="boards/main"), ALICE),
    ],
)
def test_a_page_token_used_with_another_request_is_refused(request_: Any, caller: Caller) -> None:
    token = pages.page_token(LIST, ALICE, 3, "plan/a")

    with pytest.raises(Invalid, match="belongs to another request"):
        pages.place_of(token, request_, caller, parts=2)


def test_a_page_may_have_another_size_and_ask_for_what_was_seen_meanwhile() -> None:
    token = pages.page_token(LIST, ALICE, 3, "plan/a")
    request = changed(page_size=500, min_revision=9, page_token=token)

    assert pages.place_of(token, request, ALICE, parts=2) == ["3", "plan/a"]


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: raw.decode("latin-1")))
def test_no_text_makes_a_page_token_by_accident(text: str) -> None:
    if not text:
        return
    with pytest.raises(Invalid) as caught:
        pages.place_of(text, LIST, ALICE, parts=2)
    assert caught.value.field == "page_token"


@pytest.mark.parametrize("part", ["", "-1", "1.5", "abc", "٣", "9" * 30, str(2**63)])
def test_a_place_that_is_no_number_is_refused(part: str) -> None:
    with pytest.raises(Invalid, match="not a page token"):
        pages.number_of(part)


def test_not_a_number_is_no_confidence() -> None:
    for confidence in (math.nan, math.inf, -0.01, 1.01):
        with pytest.raises(Invalid, match="from 0 to 1"):
            confidence_from_wire(confidence, field="confidence")
