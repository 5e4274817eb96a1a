"""Reads: at which revision, what was found, and where a list goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from lavagna.v1 import entries_pb2
from lavagna_server.domain.agents import Caller
from lavagna_server.domain.diffs import Difference
from lavagna_server.domain.entries import EntryId, SpaceName
from lavagna_server.domain.errors import Exhausted, Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.engine.reads import Differences, EntriesRead, EntryRead, VersionsRead
from lavagna_server.rpc.codec.checks import check_count, not_negative
from lavagna_server.rpc.codec.entries import entry_id, entry_to_wire
from lavagna_server.rpc.codec.enums import KINDS
from lavagna_server.rpc.codec.pages import next_place, next_token, number_of, page_token, place_of
from lavagna_server.rpc.codec.spaces import header

Reading: TypeAlias = entries_pb2.GetRequest | entries_pb2.BatchGetRequest | entries_pb2.ListRequest


def read_point(message: Reading) -> ReadPoint:
    """At which revision a caller wants to read."""
    return ReadPoint(
        not_negative(message.at_revision, field="at_revision"),
        not_negative(message.min_revision, field="min_revision"),
    )


def get_response(read: EntryRead) -> entries_pb2.GetResponse:
    """One entry."""
    return entries_pb2.GetResponse(
        header=header(read.space, read.at, revision=read.revision),
        entry=entry_to_wire(read.entry, read.space.name),
    )


def wanted_entries(message: entries_pb2.BatchGetRequest, *, limits: Limits) -> list[EntryId]:
    """The entries that a caller wants, each once."""
    check_count(message.keys, limits.page_entries_max, field="keys", limit="page_entries_max")
    wanted = {
        entry_id(message.kind, key, limits=limits, key_field=f"keys[{index}]"): None
        for index, key in enumerate(message.keys)
    }
    if not wanted:
        raise Invalid("keys", "give at least one key")
    return list(wanted)


def batch_response(
    read: EntriesRead, wanted: Sequence[EntryId], *, limits: Limits
) -> entries_pb2.BatchGetResponse:
    """The entries that exist, and the keys of those that do not."""
    weight = sum(entry.weight_bytes for entry in read.entries)
    if weight > limits.commit_bytes_max:  # this read has no pages to spread it over
        limit = "the size of one response in bytes (commit_bytes_max)"
        raise Exhausted(limit, maximum=limits.commit_bytes_max, subject="these entries")
    found = {entry.key for entry in read.entries}
    return entries_pb2.BatchGetResponse(
        header=header(read.space, read.at, revision=read.revision),
        entries=[entry_to_wire(entry, read.space.name) for entry in read.entries],
        missing_keys=[id_.key for id_ in wanted if id_.key not in found],
    )


def list_place(
    message: entries_pb2.ListRequest, caller: Caller
) -> tuple[ReadPoint, EntryId | None]:
    """At which revision a page is read, and after which entry."""
    kind = KINDS.from_wire(message.kind, field="kind")
    return next_place(message.page_token, message, caller, kind=kind, point=read_point(message))


def list_response(
    read: EntriesRead, request: entries_pb2.ListRequest, caller: Caller
) -> entries_pb2.ListResponse:
    """A page of entries."""
    return entries_pb2.ListResponse(
        header=header(read.space, read.at, revision=read.revision),
        entries=[entry_to_wire(entry, read.space.name) for entry in read.entries],
        next_page_token=next_token(read, request, caller),
    )


def history_place(message: entries_pb2.HistoryRequest, caller: Caller) -> tuple[str, int | None]:
    """In which life of the board, and below which version, a page begins."""
    place = place_of(message.page_token, message, caller, parts=2)
    return ("", None) if place is None else (place[0], number_of(place[1]))


def history_response(
    read: VersionsRead, request: entries_pb2.HistoryRequest, caller: Caller
) -> entries_pb2.HistoryResponse:
    """A page of versions."""
    token = ""
    if read.next_below is not None:
        token = page_token(request, caller, read.space.epoch, read.next_below)
    return entries_pb2.HistoryResponse(
        header=header(read.space, read.at, revision=read.revision),
        versions=[entry_to_wire(entry, read.space.name) for entry in read.versions],
        next_page_token=token,
    )


def diff_response(found: Differences) -> entries_pb2.DiffResponse:
    """The entries that differ."""
    return entries_pb2.DiffResponse(
        header=header(found.space, found.at, revision=found.revision),
        differences=[_difference(each, found.space.name) for each in found.differences],
    )


def _difference(each: Difference, space: SpaceName) -> entries_pb2.Difference:
    return entries_pb2.Difference(
        key=each.key,
        before=None if each.before is None else entry_to_wire(each.before, space),
        after=None if each.after is None else entry_to_wire(each.after, space),
        merge_json=each.merge_json,
        unified=each.unified,
    )
