"""Entries as they are read: one version each, with the names of what caused it."""

from __future__ import annotations

from lavagna.v1 import entries_pb2
from lavagna_server.domain.agenda import ActivationId
from lavagna_server.domain.entries import Cause, Entry, EntryId, SpaceName
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import normal_key
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.names import activation_name, trigger_name
from lavagna_server.domain.triggers import TriggerId
from lavagna_server.rpc.codec.enums import CHANGE_TYPES, KINDS
from lavagna_server.rpc.codec.times import moment_to_wire, optional_moment
from lavagna_server.rpc.codec.values import value_to_wire


def entry_to_wire(entry: Entry, space: SpaceName | None) -> entries_pb2.Entry:
    """The entry as a message; without its cause where the space, and so the cause's name, is not known."""
    cause = entry.cause if space is not None else None
    return entries_pb2.Entry(
        key=entry.key,
        kind=KINDS.to_wire(entry.kind),
        version=entry.version,
        revision=entry.revision,
        change_type=CHANGE_TYPES.to_wire(entry.change),
        value=None if entry.value is None else value_to_wire(entry.value),
        author=entry.author,
        commit_time=moment_to_wire(entry.committed_at),
        tags=entry.tags,
        confidence=entry.confidence,
        sources=entry.sources,
        expire_time=optional_moment(entry.expires_at),
        cause=None if cause is None or space is None else cause_to_wire(cause, space),
        basis_json=entry.basis,
    )


def cause_to_wire(cause: Cause, space: SpaceName) -> entries_pb2.Cause:
    """Why a commit of that space happened."""
    return entries_pb2.Cause(
        activation_name=activation_name(ActivationId(space, cause.activation)),
        trigger_name=trigger_name(TriggerId(space, cause.trigger)),
        fired_revision=cause.fired_revision,
        depth=cause.depth,
    )


def entry_id(
    kind: int, key: str, *, limits: Limits, kind_field: str = "kind", key_field: str = "key"
) -> EntryId:
    """The name of an entry, its key in the normal form."""
    return EntryId(
        KINDS.from_wire(kind, field=kind_field), normal_key(key, field=key_field, limits=limits)
    )


def written_id(
    kind: int, key: str, *, limits: Limits, kind_field: str = "kind", key_field: str = "key"
) -> EntryId:
    """The name of an entry that a caller wants to write.

    Raises:
        Invalid: Entries of that kind come about by what they stand for alone.
    """
    id_ = entry_id(kind, key, limits=limits, kind_field=kind_field, key_field=key_field)
    if not id_.kind.is_written_freely:
        raise Invalid(
            kind_field,
            f"the server alone makes entries of the kind {id_.kind.value}: see the service Consensus",
        )
    return id_
