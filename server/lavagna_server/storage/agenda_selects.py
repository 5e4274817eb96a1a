"""Queries for activations: one prepared statement for each combination of a filter's fields that occurs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Select, bindparam, false, func, or_, select, true

from lavagna_server.domain.agenda import OPEN_STATES, ActivationFilter, ActivationState
from lavagna_server.ports.store import Order
from lavagna_server.storage.rows import micros
from lavagna_server.storage.tables import activations, spaces

_c = activations.c
_UNSTARTED = OPEN_STATES - {ActivationState.LEASED}

_CONDITIONS: Mapping[str, ColumnElement[bool]] = {
    # Partial indexes want literals, so these two have no parameters.
    "is_open": _c.is_open == true(),
    "has_ended": _c.is_open == false(),
    "space": _c.space == bindparam("space"),
    "binding": _c.binding == bindparam("binding"),
    "root": _c.root == bindparam("root"),
    "descent": _c.descent <= bindparam("descent"),
    "below_number": _c.number < bindparam("below_number"),
    "fired_after": _c.fired_at > bindparam("fired_after"),
    "offered_by": or_(_c.not_before.is_(None), _c.not_before <= bindparam("offered_by")),
    "wait_ended_by": _c.not_before <= bindparam("wait_ended_by"),
    "lease_expired_by": _c.lease_expires_at <= bindparam("lease_expired_by"),
    "start_due_by": _c.start_by <= bindparam("start_due_by"),
    "due_by": _c.due_by <= bindparam("due_by"),
}
"""By the name of the parameter."""

_CHOICES: Mapping[str, Column[Any]] = {
    "state": _c.state,
    "name": _c.trigger,
    "trigger": _c.trigger,
    "worker": _c.worker,
}
"""What may be one of several values; their parameters are `state0`, `state1` and so on."""

_SORT: Mapping[Order, tuple[ColumnElement[Any], ...]] = {
    Order.AGENDA: (_c.descent, _c.number),
    Order.NEWEST: (_c.number.desc(),),
}


class Query(NamedTuple):
    """A statement and what it is about."""

    statement: Select[Any]
    parameters: dict[str, Any]


class _Shape(NamedTuple):
    """Which fields of a filter are set, and how many values each choice has."""

    conditions: tuple[str, ...]
    choices: tuple[tuple[str, int], ...]


def listing(where: ActivationFilter, space: int | None, order: Order, limit: int) -> list[Query]:
    """Queries that together give the activations that are meant, each in order; to be merged.

    Where an agenda is asked for, each state and each worker has a query of its own: an index gives the first few of one
    worker in order, while those of several would all have to be sorted.
    """
    parts = [where]
    if order is Order.AGENDA and space is not None and where.states and where.workers:
        parts = [
            replace(where, states=frozenset({state}), workers=frozenset({worker}))
            for state, worker in product(where.states, where.workers)
        ]
    queries: list[Query] = []
    for part in parts:
        shape, parameters = _read(part, space)
        queries.append(Query(_listing(shape, order), {**parameters, "limit": limit}))
    return queries


def counting(where: ActivationFilter, space: int | None) -> Query:
    """A query that counts the activations that are meant."""
    shape, parameters = _read(where, space)
    return Query(_counting(shape), parameters)


@lru_cache(maxsize=1_024)
def _listing(shape: _Shape, order: Order) -> Select[Any]:
    if "space" in shape.conditions:
        of_space = select(activations).where(*_conditions(shape))
        return of_space.order_by(*_SORT[order]).limit(bindparam("limit"))
    return (
        select(spaces.c.board, spaces.c.owner, *_c)
        .join_from(activations, spaces, spaces.c.id == _c.space)
        .where(*_conditions(shape))
        .order_by(*_SORT[order], spaces.c.board, spaces.c.owner)
        .limit(bindparam("limit"))
    )


@lru_cache(maxsize=1_024)
def _counting(shape: _Shape) -> Select[Any]:
    return select(func.count()).select_from(activations).where(*_conditions(shape))


def _conditions(shape: _Shape) -> list[ColumnElement[bool]]:
    choices = (
        _CHOICES[name].in_([bindparam(f"{name}{index}") for index in range(count)])
        for name, count in shape.choices
    )
    return [*(_CONDITIONS[name] for name in shape.conditions), *choices]


def _read(where: ActivationFilter, space: int | None) -> tuple[_Shape, dict[str, Any]]:
    conditions = {name: value for name, value in _limits(where, space) if value is not None}
    choices = {name: values for name, values in _values(where) if values}
    shape = _Shape(
        tuple(conditions), tuple((name, len(values)) for name, values in choices.items())
    )
    chosen = {
        f"{name}{index}": value
        for name, values in choices.items()
        for index, value in enumerate(values)
    }
    return shape, conditions | chosen


def _values(where: ActivationFilter) -> Sequence[tuple[str, Sequence[str]]]:
    return (
        ("state", [state.value for state in where.states]),
        ("name", [where.trigger] if where.trigger else []),
        ("trigger", list(where.triggers)),
        ("worker", list(where.workers)),
    )


def _limits(where: ActivationFilter, space: int | None) -> Sequence[tuple[str, int | str | None]]:
    states = where.states
    start = "due_by" if states and states <= _UNSTARTED else "start_due_by"
    return (
        ("is_open", 1 if states and states <= OPEN_STATES else None),
        ("has_ended", 1 if states and states.isdisjoint(OPEN_STATES) else None),
        ("space", space),
        ("binding", where.binding),
        ("root", where.root or None),
        ("descent", None if where.rating_min is None else ~where.rating_min),
        ("below_number", where.below_number or None),
        *(
            (name, None if moment is None else micros(moment))
            for name, moment in (
                ("fired_after", where.fired_after),
                ("offered_by", where.offered_by),
                ("wait_ended_by", where.wait_ended_by),
                ("lease_expired_by", where.lease_expired_by),
                (start, where.start_due_by),
            )
        ),
    )
