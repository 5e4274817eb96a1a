"""Commits: what a caller asks for, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from lavagna.v1 import activations_pb2, entries_pb2
from lavagna_server.domain.entries import Entry, Request, SpaceName
from lavagna_server.domain.errors import FailedCondition, Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.engine.commits import Written
from lavagna_server.rpc.codec.changes import changes_from_wire, conditions_from_wire
from lavagna_server.rpc.codec.entries import entry_to_wire
from lavagna_server.rpc.codec.enums import CHANGE_TYPES, KINDS
from lavagna_server.rpc.codec.spaces import header

CURRENT_BYTES_MAX = 1 << 20
"""Of all current entries in one response; beyond it their values are left out."""

Commit: TypeAlias = entries_pb2.CommitRequest | activations_pb2.CompleteRequest


def request_from_wire(message: Commit, space: SpaceName, *, limits: Limits) -> Request:
    """What a caller wants to change.

    Raises:
        Invalid: Naming the field.
    """
    changes = changes_from_wire(message.changes, field="changes", limits=limits)
    conditions = (
        conditions_from_wire(message.conditions, field="conditions", limits=limits)
        if message.conditions
        else ()
    )
    otherwise = (
        changes_from_wire(message.else_changes, field="else_changes", limits=limits)
        if message.else_changes
        else ()
    )
    if otherwise and not conditions and all(change.expected_version is None for change in changes):
        raise Invalid("else_changes", "nothing can fail: give conditions or expected versions")
    if any(change.expected_version is not None for change in otherwise):
        index = next(i for i, change in enumerate(otherwise) if change.expected_version is not None)
        raise Invalid(
            f"else_changes[{index}].expected_version",
            "what is done when a condition fails has no condition itself",
        )
    return Request(space, changes, conditions, otherwise, message.request_id)


def commit_response(written: Written) -> entries_pb2.CommitResponse:
    """What a commit came to."""
    return entries_pb2.CommitResponse(
        header=header(written.space, written.at),
        succeeded=written.plan.succeeded,
        results=_results(written),
        failed_conditions=failures_to_wire(written.plan.failed, written.space.name),
    )


def complete_response(written: Written) -> activations_pb2.CompleteResponse:
    """What a completion came to."""
    return activations_pb2.CompleteResponse(
        header=header(written.space, written.at),
        succeeded=written.plan.succeeded,
        results=_results(written),
        failed_conditions=failures_to_wire(written.plan.failed, written.space.name),
    )


def revert_response(written: Written) -> entries_pb2.RevertResponse:
    """What a revert came to."""
    return entries_pb2.RevertResponse(
        header=header(written.space, written.at), result=_results(written)[0]
    )


def failures_to_wire(
    failed: Sequence[FailedCondition],
    space: SpaceName | None,
    *,
    bytes_max: int = CURRENT_BYTES_MAX,
) -> list[entries_pb2.FailedCondition]:
    """Conditions that did not hold, with the current entries as far as they fit into `bytes_max`."""
    messages: list[entries_pb2.FailedCondition] = []
    left = bytes_max
    for each in failed:
        message, current = each.message, None
        if each.current is not None:
            current, note = _current(each.current, space, left)
            message += note
            left -= current.ByteSize()
        messages.append(entries_pb2.FailedCondition(key=each.key, current=current, message=message))
    return messages


def _current(
    entry: Entry, space: SpaceName | None, bytes_max: int
) -> tuple[entries_pb2.Entry, str]:
    """The entry and what to say of it: without its value and labels when it does not fit."""
    if entry.weight_bytes <= bytes_max:
        return entry_to_wire(entry, space), ""
    bare = replace(entry, value=None, tags=(), sources=())
    size = entry.value.size_bytes if entry.value is not None else 0
    return entry_to_wire(bare, space), f" (its value of {size} bytes is left out here)"


def _results(written: Written) -> list[entries_pb2.ChangeResult]:
    commit = written.plan.commit
    if commit is None:
        return []
    answers = commit.entries[: written.plan.answers]
    return [_result(entry, is_unseen=entry.id in written.plan.unseen) for entry in answers]


def _result(entry: Entry, *, is_unseen: bool) -> entries_pb2.ChangeResult:
    """What became of a change; who may not read the entry is not told whether there was one before."""
    result = entries_pb2.ChangeResult(key=entry.key, kind=KINDS.to_wire(entry.kind))
    if not is_unseen:
        result.version, result.change_type = entry.version, CHANGE_TYPES.to_wire(entry.change)
    return result
