"""Watches: what a caller wants to follow, and what it is told."""

from __future__ import annotations

from typing import TypeAlias

from lavagna.v1 import boards_pb2, watch_pb2
from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import EVERYTHING, parse_pattern
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.positions import Target
from lavagna_server.engine.packing import SeenCommit
from lavagna_server.engine.reads import ExportPart
from lavagna_server.engine.watcher import Message
from lavagna_server.engine.watches import Start
from lavagna_server.rpc.codec.checks import check_count, not_negative
from lavagna_server.rpc.codec.entries import cause_to_wire, entry_to_wire
from lavagna_server.rpc.codec.enums import CHANGE_TYPES, KINDS, OCCASIONS
from lavagna_server.rpc.codec.spaces import header, space_from_wire, space_to_wire
from lavagna_server.rpc.codec.times import moment_to_wire

Watching: TypeAlias = watch_pb2.WatchRequest | watch_pb2.PullRequest

TOKEN_CHARACTERS_MAX = 1 << 18
"""Room for 64 targets, each in the middle of loading at the longest key."""


def targets_from_wire(message: Watching, caller: Caller, *, limits: Limits) -> tuple[Target, ...]:
    """What a caller wants to follow; the whole shared space when it does not say.

    Raises:
        Invalid: Naming the field, as in `targets[2].pattern`.
    """
    check_count(message.targets, limits.targets_max, field="targets", limit="targets_max")
    if not message.targets:
        return (Target(SpaceName(caller.board), EVERYTHING),)
    return tuple(
        _target(target, caller, f"targets[{index}]", limits)
        for index, target in enumerate(message.targets)
    )


def start_from_wire(message: Watching) -> Start:
    """Where a caller wants to begin; a token says it alone.

    Raises:
        Invalid: Two beginnings are given that contradict each other.
    """
    if len(message.token) > TOKEN_CHARACTERS_MAX:
        raise Invalid("token", f"a token has at most {TOKEN_CHARACTERS_MAX} characters")
    after = None
    if message.HasField("after_revision"):
        after = not_negative(message.after_revision, field="after_revision")
        if message.initial_state:
            raise Invalid(
                "after_revision", "give either a revision to start after or initial_state, not both"
            )
    return Start(message.token, after, message.initial_state)


def watch_response(message: Message) -> watch_pb2.WatchResponse:
    """One message of a watch."""
    space = message.space.name
    return watch_pb2.WatchResponse(
        header=header(message.space, message.at),
        space=space_to_wire(space),
        covers=watch_pb2.Covers(after=message.after, through=message.through),
        commits=[_seen_to_wire(seen, space) for seen in message.commits],
        state=[entry_to_wire(entry, space) for entry in message.state],
        synced=message.synced,
        token=message.token,
    )


def export_response(part: ExportPart) -> boards_pb2.ExportResponse:
    """A part of a log."""
    space = part.space.name
    return boards_pb2.ExportResponse(
        header=header(part.space, part.at),
        state=[entry_to_wire(entry, space) for entry in part.state],
        commits=[_seen_to_wire(seen, space) for seen in part.commits],
    )


def _target(message: watch_pb2.WatchTarget, caller: Caller, field: str, limits: Limits) -> Target:
    return Target(
        space_from_wire(message.space, caller, field=f"{field}.space"),
        parse_pattern(message.pattern, field=f"{field}.pattern", limits=limits),
        KINDS.set_from_wire(message.kinds, field=f"{field}.kinds"),
        CHANGE_TYPES.set_from_wire(message.change_types, field=f"{field}.change_types"),
    )


def _seen_to_wire(seen: SeenCommit, space: SpaceName) -> watch_pb2.Commit:
    commit = seen.commit
    message = watch_pb2.Commit(
        revision=commit.revision,
        commit_time=moment_to_wire(commit.committed_at),
        author=commit.author,
        cause=None if commit.cause is None else cause_to_wire(commit.cause, space),
        occasion=OCCASIONS.to_wire(commit.occasion),
        entries=[entry_to_wire(entry, space) for entry in seen.entries],
    )
    if seen.fragment is not None:
        index, last = seen.fragment
        message.fragment.index, message.fragment.last = index, last
    return message
