"""Conditions of a commit: which of them do not hold, and what the loser is told.

An expected version of a change is a condition like any other. What the caller may not read counts as absent (S8).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, assert_never

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import Condition, Entry, EntryId, Operation, Request, Requirement
from lavagna_server.domain.errors import FailedCondition, NotFound
from lavagna_server.domain.regions import Regions


class Heads(Protocol):
    """The newest versions, and who may read them."""

    @property
    def regions(self) -> Regions:
        """The rules of the space."""
        ...

    def newest(self, entry: EntryId) -> Entry | None:
        """The newest version of an entry, also when that is its end."""
        ...


def failures(heads: Heads, request: Request, caller: Caller) -> tuple[FailedCondition, ...]:
    """The conditions of `request` that do not hold, in its order.

    Raises:
        NotFound: A condition is about a key that the caller may not read.
    """
    failed: list[FailedCondition] = []
    for condition in _all(request):
        if not heads.regions.may_read(condition.id.key, caller):
            raise NotFound(condition.id.key)
        newest = heads.newest(condition.id)
        if (fault := _fault(condition, newest)) is not None:
            current = newest if newest is not None and newest.exists else None
            failed.append(FailedCondition(condition.id.key, current, fault))
    return tuple(failed)


def _all(request: Request) -> Iterator[Condition]:
    yield from request.conditions
    for change in request.changes:
        if change.expected_version is not None and change.operation is not Operation.APPEND:
            yield Condition(change.id, Requirement.VERSION, change.expected_version)


def _fault(condition: Condition, newest: Entry | None) -> str | None:
    key, number = condition.id.key, condition.number
    match condition.requirement:
        case Requirement.VERSION:
            holds = (newest.version if newest else 0) == number
            wanted = f"version {number}"
        case Requirement.EXISTS:
            holds = (newest is not None and newest.exists) == bool(number)
            wanted = "an entry" if number else "no entry"
        case Requirement.VALUE:
            holds = newest is not None and newest.exists and newest.value == condition.value
            wanted = "another value"
        case Requirement.UNCHANGED_SINCE:
            holds = newest is None or newest.revision <= number
            wanted = f"no change after revision {number}"
        case _:
            assert_never(condition.requirement)
    return None if holds else f"{key} {_found(newest)}; expected {wanted}"


def _found(newest: Entry | None) -> str:
    if newest is None:
        return "was never written"
    state = (
        f"is at version {newest.version}"
        if newest.exists
        else f"was {newest.change.value} at version {newest.version}"
    )
    return f"{state}, revision {newest.revision}, by {newest.author or 'the server'}"
