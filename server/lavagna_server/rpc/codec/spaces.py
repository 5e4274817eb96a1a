"""Spaces: which log a request means, and what every answer says about it."""

from __future__ import annotations

from datetime import datetime

from lavagna.v1 import entries_pb2
from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.entries import Space, SpaceName
from lavagna_server.domain.errors import Invalid, RoleRequired
from lavagna_server.rpc.codec.times import moment_to_wire

SHARED = frozenset({entries_pb2.SPACE_UNSPECIFIED, entries_pb2.SPACE_SHARED})


def space_from_wire(number: int, caller: Caller, *, field: str = "space") -> SpaceName:
    """The space that a caller means; the private one is always its own.

    Raises:
        RoleRequired: An observer asks for a private space, which it does not have.
        Invalid: The number means nothing to this server.
    """
    if number in SHARED:
        return SpaceName(caller.board)
    if number != entries_pb2.SPACE_PRIVATE:
        raise Invalid(field, f"{number} is not a space that this server knows")
    if caller.role < Role.AGENT:
        raise RoleRequired(agent=caller.agent, role=caller.role.name.lower(), needs="agent")
    return SpaceName(caller.board, caller.agent)


def space_to_wire(space: SpaceName) -> entries_pb2.Space.ValueType:
    """The space as its owner sees it."""
    return entries_pb2.SPACE_PRIVATE if space.owner else entries_pb2.SPACE_SHARED


def header(
    space: Space, at: datetime, *, revision: int | None = None
) -> entries_pb2.ResponseHeader:
    """What every response of the data plane begins with; at the space's newest revision unless another is given."""
    return entries_pb2.ResponseHeader(
        epoch=space.epoch,
        revision=space.head if revision is None else revision,
        oldest_revision=space.oldest,
        server_time=moment_to_wire(at),
    )
