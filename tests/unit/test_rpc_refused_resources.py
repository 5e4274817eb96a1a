"""Triggers, regions, boards and watches that the codec refuses, and the path by which it names what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from lavagna.v1.boards_pb2 import Board, Region, Retention, SetRegionRequest, UpdateBoardRequest
from lavagna.v1.entries_pb2 import (
    BatchGetRequest,
    Change,
    Put,
    Value,
)
from lavagna.v1.triggers_pb2 import (
    TRIGGER_MODE_DUE,
    Schedule,
    Trigger,
    TriggerLimits,
    TriggerSource,
)
from lavagna.v1.watch_pb2 import WatchRequest, WatchTarget
from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.rpc.codec import boards, reads, regions, triggers, watch

LIMITS = Limits(commit_bytes_max=3_000, value_bytes_max=2_000)
ALICE = Caller("main", "alice", Role.AGENT)
ONE = Value(json="1")
UNKNOWN: Any = 77
NONE: Any = 0


def put(key: str = "a", value: Value = ONE, **more: Any) -> Change:
    """A change that stores a value."""
    return Change(key=key, put=Put(value=value), **more)


def refused(field: str, rule: str, read: Any, *args: Any, **options: Any) -> None:
    """Asserts that reading is refused, by the field and in words that name the rule."""
    with pytest.raises(Invalid) as caught:
        read(*args, **options)
    assert caught.value.field == field
    assert rule in caught.value.rule
    assert len(str(caught.value)) < 500


TRIGGERS: list[tuple[dict[str, Any], str, str]] = [
    ({}, "trigger.on", "which changes"),
    ({"on": [TriggerSource(pattern="a/**/b")]}, "trigger.on[0].pattern", "last segment"),
    ({"on": [TriggerSource(pattern="a*/b")]}, "trigger.on[0].pattern", "patterns"),
    ({"on": [TriggerSource(pattern="{1x}")]}, "trigger.on[0].pattern", "'{'"),
    (
        {"on": [TriggerSource(pattern="/".join("a" * 17))]},
        "trigger.on[0].pattern",
        "pattern_segments_max",
    ),
    ({"on": [TriggerSource(pattern="a" * 2_000)]}, "trigger.on[0].pattern", "key_bytes_max"),
    ({"on": [TriggerSource(kinds=[UNKNOWN])]}, "trigger.on[0].kinds[0]", "77"),
    (
        {"on": [TriggerSource(change_types=[NONE, NONE])]},
        "trigger.on[0].change_types[0]",
        "0 is not",
    ),
    ({"on": [TriggerSource()] * 17}, "trigger.on", "trigger_patterns_max"),
    ({"on": [TriggerSource()], "reads": ["**"] * 17}, "trigger.reads", "trigger_patterns_max"),
    ({"on": [TriggerSource()], "reads": ["a//b"]}, "trigger.reads[0]", "must not be empty"),
    ({"on": [TriggerSource()], "when": "x" * 2_049}, "trigger.when", "condition_bytes_max"),
    ({"on": [TriggerSource()], "rating": "x" * 2_049}, "trigger.rating", "condition_bytes_max"),
    ({"on": [TriggerSource()], "mode": UNKNOWN}, "trigger.mode", "77"),
    ({"on": [TriggerSource()], "space": UNKNOWN}, "trigger.space", "77"),
    ({"on": [TriggerSource()], "team": "a b"}, "trigger.team", "63 letters"),
    (
        {"on": [TriggerSource()], "schedule": Schedule(cron="* * * * *")},
        "trigger.schedule",
        "only a due",
    ),
    ({"mode": TRIGGER_MODE_DUE}, "trigger.schedule", "needs a schedule"),
    (
        {"mode": TRIGGER_MODE_DUE, "schedule": Schedule()},
        "trigger.schedule",
        "either a time or a cron",
    ),
    (
        {"mode": TRIGGER_MODE_DUE, "schedule": Schedule(cron="* * *")},
        "trigger.schedule.cron",
        "five fields",
    ),
    (
        {"mode": TRIGGER_MODE_DUE, "schedule": Schedule(cron="99 * * * *")},
        "trigger.schedule.cron",
        "99",
    ),
    (
        {"mode": TRIGGER_MODE_DUE, "schedule": Schedule(cron="* * * * *", time_zone="Mars/Base")},
        "trigger.schedule.time_zone",
        "IANA",
    ),
    (
        {
            "mode": TRIGGER_MODE_DUE,
            "schedule": Schedule(cron="* * * * *", time_zone="../../etc/passwd"),
        },
        "trigger.schedule.time_zone",
        "IANA",
    ),
    (
        {"mode": TRIGGER_MODE_DUE, "schedule": Schedule(at=Timestamp(seconds=2**60))},
        "trigger.schedule.at",
        "between the years",
    ),
    (
        {"mode": TRIGGER_MODE_DUE, "schedule": Schedule(at=Timestamp(nanos=-1))},
        "trigger.schedule.at",
        "nanos",
    ),
    (
        {"mode": TRIGGER_MODE_DUE, "schedule": Schedule(cron="* * * * *"), "on": [TriggerSource()]},
        "trigger.on",
        "about times",
    ),
]
LIMITED = [
    (TriggerLimits(lease=Duration(nanos=1)), "lease", "from 1 s to 3600 s"),
    (TriggerLimits(lease=Duration(seconds=3_601)), "lease", "from 1 s to 3600 s"),
    (TriggerLimits(attempts_max=101), "attempts_max", "from 1 to 100"),
    (TriggerLimits(attempts_max=-1), "attempts_max", "from 1 to 100"),
    (TriggerLimits(backoff=Duration(seconds=301)), "backoff", "300 s"),
    (TriggerLimits(concurrency_max=-1), "concurrency_max", "negative"),
    (TriggerLimits(binding_concurrency_max=-1), "binding_concurrency_max", "from 1"),
    (TriggerLimits(cooldown=Duration(seconds=-1)), "cooldown", "not -1"),
    (TriggerLimits(start_deadline=Duration()), "start_deadline", "from 0.001 s"),
    (TriggerLimits(run_deadline=Duration(nanos=5)), "run_deadline", "from 1 s"),
    (TriggerLimits(causal_depth_max=1_001), "causal_depth_max", "from 1 to 1000"),
    (TriggerLimits(firings_per_minute_max=2**31 - 1), "firings_per_minute_max", "from 1 to"),
]


@pytest.mark.parametrize(
    ("fields", "field", "rule"),
    [
        *TRIGGERS,
        *(
            ({"on": [TriggerSource()], "limits": bounds}, f"trigger.limits.{name}", rule)
            for bounds, name, rule in LIMITED
        ),
    ],
)
def test_a_malformed_trigger_is_refused_by_its_path(
    fields: dict[str, Any], field: str, rule: str
) -> None:
    message = Trigger(**fields)

    refused(field, rule, triggers.trigger_from_wire, message, "t", ALICE, limits=LIMITS)


REGIONS = [
    (Region(path=""), "region.path", "empty"),
    (Region(path="a/*"), "region.path", "patterns"),
    (Region(path="a", owner="*"), "region.owner", "63 letters"),
    (Region(path="a", owner="a b"), "region.owner", "63 letters"),
    (Region(path="a", owner="team:"), "region.owner", "63 letters"),
    (Region(path="a", readers=["bob", "team:x:y"]), "region.readers[1]", "63 letters"),
    (Region(path="a", writers=[""]), "region.writers[0]", "63 letters"),
    (Region(path="a", writers=["w"] * 1_001), "region.writers", "members_max"),
    (Region(path="a", policy=UNKNOWN), "region.policy", "77"),
    (Region(path="a", schema_json="x" * 65_537), "region.schema_json", "schema_bytes_max"),
    (Region(path="a", retention=Retention(versions_max=-1)), "region.retention.versions_max", "negative"),
    (Region(path="a", retention=Retention(age=Duration(nanos=1))), "region.retention.age", "from 1 s"),
    (Region(path="a", version=-1), "region.version", "negative"),
]  # fmt: skip


@pytest.mark.parametrize(("region", "field", "rule"), REGIONS)
def test_a_malformed_region_is_refused_by_its_path(region: Region, field: str, rule: str) -> None:
    request = SetRegionRequest(region=region)

    refused(field, rule, regions.region_from_wire, request, "main", limits=LIMITS)


BOARDS = [
    (UpdateBoardRequest(), "board", "required"),
    (UpdateBoardRequest(board=Board(name="boards/main")), "update_mask", "nothing to change"),
    (
        UpdateBoardRequest(
            board=Board(cascade_max=5), update_mask=FieldMask(paths=["cascade_max", "epoch"])
        ),
        "update_mask.paths[1]",
        "only display_name",
    ),
    (UpdateBoardRequest(board=Board(cascade_max=-5)), "board.cascade_max", "from 1"),
    (UpdateBoardRequest(board=Board(display_name="a\nb")), "board.display_name", "control"),
    (
        UpdateBoardRequest(board=Board(display_name="x" * 129)),
        "board.display_name",
        "128 characters",
    ),
    (UpdateBoardRequest(board=Board(cascade_max=5, version=-1)), "board.version", "negative"),
]


@pytest.mark.parametrize(("request_", "field", "rule"), BOARDS)
def test_a_malformed_board_is_refused_by_its_path(
    request_: UpdateBoardRequest, field: str, rule: str
) -> None:
    refused(field, rule, boards.board_change, request_)


WATCHES = [
    (WatchRequest(targets=[WatchTarget()] * 65), "targets", "targets_max"),
    (WatchRequest(targets=[WatchTarget(), WatchTarget(space=UNKNOWN)]), "targets[1].space", "77"),
    (WatchRequest(targets=[WatchTarget(pattern="**/a")]), "targets[0].pattern", "last segment"),
    (WatchRequest(targets=[WatchTarget(kinds=[UNKNOWN])]), "targets[0].kinds[0]", "77"),
    (WatchRequest(targets=[WatchTarget(change_types=[NONE])]), "targets[0].change_types[0]", "0 is not"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "field", "rule"), WATCHES)
def test_a_malformed_target_is_refused_by_its_path(
    request_: WatchRequest, field: str, rule: str
) -> None:
    refused(field, rule, watch.targets_from_wire, request_, ALICE, limits=LIMITS)


@pytest.mark.parametrize(
    ("request_", "field", "rule"),
    [
        (WatchRequest(after_revision=-1), "after_revision", "negative"),
        (WatchRequest(after_revision=0, initial_state=True), "after_revision", "not both"),
        (WatchRequest(token="t" * 300_000), "token", "characters"),
    ],
)
def test_a_watch_begins_in_one_place(request_: WatchRequest, field: str, rule: str) -> None:
    refused(field, rule, watch.start_from_wire, request_)


@pytest.mark.parametrize(
    ("request_", "field", "rule"),
    [
        (BatchGetRequest(), "keys", "at least one"),
        (BatchGetRequest(keys=["a"] * 1_001), "keys", "page_entries_max"),
        (BatchGetRequest(keys=["a", "/"]), "keys[1]", "slash"),
        (BatchGetRequest(keys=["a"], kind=UNKNOWN), "kind", "77"),
    ],
)
def test_a_malformed_batch_is_refused_by_its_path(
    request_: BatchGetRequest, field: str, rule: str
) -> None:
    refused(field, rule, reads.wanted_entries, request_, limits=LIMITS)
