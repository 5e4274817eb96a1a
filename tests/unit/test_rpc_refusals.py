"""What the codec refuses at the door, and the path by which it names what is wrong."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from lavagna.v1.entries_pb2 import (
    Append,
    Change,
    CommitRequest,
    Condition,
    Delete,
    Patch,
    Put,
    Value,
)
from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.entries import Operation, SpaceName
from lavagna_server.domain.errors import BoardError, Invalid, RoleRequired
from lavagna_server.domain.limits import Limits
from lavagna_server.rpc.codec import commits
from lavagna_server.rpc.codec.spaces import space_from_wire

LIMITS = Limits(commit_bytes_max=3_000, value_bytes_max=2_000)
ALICE = Caller("main", "alice", Role.AGENT)
ONE = Value(json="1")
UNKNOWN: Any = 77


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


CHANGES = [
    ([Change(key="a")], "changes[0]", "put, patch, append or delete"),
    ([put(key="")], "changes[0].key", "must not be empty"),
    ([put(), put(key="b/../c")], "changes[1].key", "'..'"),
    ([put(key="k" * 513)], "changes[0].key", "key_bytes_max"),
    ([put(key="task/\uff11")], "changes[0].key", "look-alike"),
    ([put(key="a\x00b")], "changes[0].key", "invisible"),
    ([put(key="a*")], "changes[0].key", "patterns"),
    ([put(kind=UNKNOWN)], "changes[0].kind", "77 is not a kind"),
    ([put(value=Value())], "changes[0].put.value", "required"),
    ([Change(key="a", put=Put())], "changes[0].put.value", "required"),
    ([put(value=Value(json="{"))], "changes[0].put.value.json", "not JSON"),
    ([put(value=Value(json=""))], "changes[0].put.value.json", "not JSON"),
    ([put(value=Value(json="NaN"))], "changes[0].put.value.json", "NaN"),
    ([put(value=Value(json="-Infinity"))], "changes[0].put.value.json", "Infinity"),
    ([put(value=Value(json="1e999"))], "changes[0].put.value.json", "64-bit float"),
    ([put(value=Value(json=str(2**63)))], "changes[0].put.value.json", "64 bits"),
    ([put(value=Value(json='{"a":1,"a":2}'))], "changes[0].put.value.json", "twice"),
    ([put(value=Value(json='"\\ud800"'))], "changes[0].put.value.json", "surrogates"),
    ([put(value=Value(json="[" * 65 + "]" * 65))], "changes[0].put.value.json", "value_depth_max"),
    ([put(value=Value(json="[" * 900))], "changes[0].put.value.json", "value_depth_max"),
    ([put(value=Value(text="x" * 2_001))], "changes[0].put.value.text", "value_bytes_max"),
    ([put(value=Value(data=b"x" * 2_001))], "changes[0].put.value.data", "value_bytes_max"),
    ([put("a", Value(text="x" * 1_600)), put("b", Value(text="x" * 1_600))], "changes", "commit_bytes_max"),
    ([put(f"k/{n}", sources=["s" * 500] * 4) for n in range(2)], "changes", "commit_bytes_max"),
    ([put(), put()], "changes[1].key", "twice in one commit"),
    ([put("é"), put("e\u0301")], "changes[1].key", "twice in one commit"),
    ([put(), Change(key="a", delete=Delete(), overwrite=True)], "changes[1].key", "twice"),
    ([put(f"k/{n}") for n in range(129)], "changes", "commit_changes_max"),
    ([put(expected_version=-1)], "changes[0].expected_version", "negative"),
    ([put(expected_version=1, overwrite=True)], "changes[0].overwrite", "not both"),
    ([put(tags=["t"] * 33)], "changes[0].tags", "tags_max"),
    ([put(tags=["t", ""])], "changes[0].tags[1]", "empty"),
    ([put(tags=["t" * 129])], "changes[0].tags[0]", "tag_bytes_max"),
    ([put(tags=["ü" * 65])], "changes[0].tags[0]", "tag_bytes_max"),
    ([put(tags=["a\nb"])], "changes[0].tags[0]", "control"),
    ([put(sources=["s"] * 65)], "changes[0].sources", "sources_max"),
    ([put(sources=["s" * 513])], "changes[0].sources[0]", "source_bytes_max"),
    ([put(sources=[""])], "changes[0].sources[0]", "empty"),
    ([put(confidence=math.nan)], "changes[0].confidence", "nan"),
    ([put(confidence=1.5)], "changes[0].confidence", "from 0 to 1"),
    ([put(ttl=Duration())], "changes[0].ttl", "from 0.001 s"),
    ([put(ttl=Duration(seconds=-5))], "changes[0].ttl", "not -5"),
    ([put(ttl=Duration(seconds=5, nanos=-1))], "changes[0].ttl", "sign"),
    ([put(ttl=Duration(seconds=5, nanos=2_000_000_000))], "changes[0].ttl", "below a second"),
    ([put(ttl=Duration(seconds=2**62))], "changes[0].ttl", "must be from"),
    ([Change(key="a", patch=Patch(merge_json="{"))], "changes[0].patch.merge_json", "not JSON"),
    ([Change(key="a", append=Append())], "changes[0].append.value", "required"),
    ([Change(key="a", append=Append(value=ONE), expected_version=0)], "changes[0]", "makes a new key"),
    ([Change(key="a", append=Append(value=ONE), overwrite=True)], "changes[0]", "makes a new key"),
    ([Change(key="a", delete=Delete(), tags=["t"])], "changes[0].tags", "deletion"),
    ([Change(key="a", delete=Delete(), confidence=0)], "changes[0].confidence", "deletion"),
    ([Change(key="a", delete=Delete(), ttl=Duration(seconds=1))], "changes[0].ttl", "deletion"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "field", "rule"), CHANGES)
def test_a_malformed_change_is_refused_by_its_path(
    changes: list[Change], field: str, rule: str
) -> None:
    request = CommitRequest(changes=changes)

    refused(field, rule, commits.request_from_wire, request, SpaceName("main"), limits=LIMITS)


CONDITIONS = [
    (Condition(key="a"), "conditions[0]", "say what must hold"),
    (Condition(key="", exists=True), "conditions[0].key", "empty"),
    (Condition(key="a", kind=UNKNOWN, exists=True), "conditions[0].kind", "77"),
    (Condition(key="a", version=-1), "conditions[0].version", "negative"),
    (Condition(key="a", unchanged_since=-1), "conditions[0].unchanged_since", "negative"),
    (Condition(key="a", value=Value()), "conditions[0].value", "required"),
    (Condition(key="a", value=Value(json="nul")), "conditions[0].value.json", "not JSON"),
]


@pytest.mark.parametrize(("condition", "field", "rule"), CONDITIONS)
def test_a_malformed_condition_is_refused_by_its_path(
    condition: Condition, field: str, rule: str
) -> None:
    request = CommitRequest(conditions=[condition], changes=[put()])

    refused(field, rule, commits.request_from_wire, request, SpaceName("main"), limits=LIMITS)


def test_else_changes_need_something_that_can_fail() -> None:
    request = CommitRequest(changes=[put()], else_changes=[put("b")])

    refused(
        "else_changes",
        "nothing can fail",
        commits.request_from_wire,
        request,
        SpaceName("m"),
        limits=LIMITS,
    )


def test_else_changes_are_checked_like_changes() -> None:
    request = CommitRequest(changes=[put(expected_version=1)], else_changes=[put("b"), put("b")])

    refused(
        "else_changes[1].key",
        "twice",
        commits.request_from_wire,
        request,
        SpaceName("m"),
        limits=LIMITS,
    )


def test_else_changes_have_no_condition_of_their_own() -> None:
    request = CommitRequest(
        changes=[put(expected_version=1)], else_changes=[put("b", expected_version=1)]
    )

    refused(
        "else_changes[0].expected_version",
        "no condition itself",
        commits.request_from_wire,
        request,
        SpaceName("m"),
        limits=LIMITS,
    )


def test_two_appends_below_one_prefix_are_two_entries() -> None:
    append = Change(key="log", append=Append(value=ONE))
    wanted = commits.request_from_wire(
        CommitRequest(changes=[append, append]), SpaceName("main"), limits=LIMITS
    )

    assert [change.operation for change in wanted.changes] == [Operation.APPEND] * 2


@pytest.mark.guarantee("C5")
def test_labels_and_keys_are_kept_in_one_normal_form() -> None:
    request = CommitRequest(changes=[put("cafe\u0301", tags=["b", "e\u0301", "b"])])
    (change,) = commits.request_from_wire(request, SpaceName("main"), limits=LIMITS).changes

    assert (change.id.key, change.tags) == ("café", ("b", "é"))


@pytest.mark.parametrize("number", [2, 1])
def test_an_observer_has_no_private_space(number: int) -> None:
    watcher = Caller("main", "olga", Role.OBSERVER)

    if number == 1:
        assert space_from_wire(number, watcher) == SpaceName("main")
        return
    with pytest.raises(BoardError) as caught:
        space_from_wire(number, watcher)
    assert isinstance(caught.value, RoleRequired)
