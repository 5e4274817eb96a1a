"""Queries for activations: one prepared statement for each combination of a filter's fields that occurs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, false, func, or_, select, true

from lavagna_server.domain.agenda import OPEN_STATES, ActivationFilter, ActivationState
from lavagna_server.ports.store import Order
from lavagna_server.storage.rows import micros
from lavagna_server.storage.tables import activations, spaces

_c = activations.c
_UNSTARTED = OPEN_STATES - {ActivationState.LEASED}

_CONDITIONS: Mapping[str, ColumnElement[bool]] = {
    "is_open": _c.is_open == true(),
    "has_ended": _c.is_open == false(),
    "space": _c.space == bindparam("space"),
    "state": _c.state == bindparam("state"),
    "states": _c.state.in_(bindparam("states", expanding=True)),
    "trigger": _c.trigger == bindparam("trigger"),
    "triggers": _c.trigger.in_(bindparam("triggers", expanding=True)),
    "worker": _c.worker == bindparam("worker"),
    "workers": _c.worker.in_(bindparam("workers", expanding=True)),
    "binding": _c.binding == bindparam("binding"),
    "root": _c.root == bindparam("root"),
    "descent": _c.descent <= bindparam("descent"),
    "below_number": _c.number < bindparam("below_number"),
    "fired_after": _c.fired_at > bindparam("fired_after"),
    "offered_by": or_(_c.not_before.is_(None), _c.not_before <= bindparam("offered_by")),
    "lease_expired_by": _c.lease_expires_at <= bindparam("lease_expired_by"),
    "start_due_by": _c.start_by <= bindparam("start_due_by"),
    "due_by": _c.due_by <= bindparam("due_by"),
}
"""By the name of the parameter; `is_open` and `has_ended` have none, because partial indexes want literals."""

_SORT: Mapping[Order, tuple[ColumnElement[Any], ...]] = {
    Order.AGENDA: (_c.descent, _c.number),
    Order.NEWEST: (_c.number.desc(),),
}


class Query(NamedTuple):
    """A statement and what it is about."""

    statement: Select[Any]
    parameters: dict[str, Any]


def listing(where: ActivationFilter, space: int | None, order: Order, limit: int) -> list[Query]:
    """Queries that together give the activations that are meant, each in order; to be merged.

    Where an agenda is asked for, each state and each worker has a query of its own: an index gives the first few of one
    worker in order, while those of several would all have to be sorted.
    """
    parameters = _parameters(where, space)
    if order is Order.AGENDA and space is not None and "is_open" in parameters and where.workers:
        del parameters["states"], parameters["workers"]
        parts = [
            {**parameters, "state": state.value, "worker": worker}
            for state, worker in product(where.states, where.workers)
        ]
    else:
        parts = [parameters]
    return [Query(_listing(frozenset(part), order), {**part, "limit": limit}) for part in parts]


def counting(where: ActivationFilter, space: int | None) -> Query:
    """A query that counts the activations that are meant."""
    parameters = _parameters(where, space)
    return Query(_counting(frozenset(parameters)), parameters)


@lru_cache(maxsize=1_024)
def _listing(names: frozenset[str], order: Order) -> Select[Any]:
    conditions = [_CONDITIONS[name] for name in sorted(names)]
    if "space" in names:
        return (
            select(activations).where(*conditions).order_by(*_SORT[order]).limit(bindparam("limit"))
        )
    return (
        select(spaces.c.board, spaces.c.owner, *_c)
        .join_from(activations, spaces, spaces.c.id == _c.space)
        .where(*conditions)
        .order_by(*_SORT[order], spaces.c.board, spaces.c.owner)
        .limit(bindparam("limit"))
    )


@lru_cache(maxsize=1_024)
def _counting(names: frozenset[str]) -> Select[Any]:
    return (
        select(func.count())
        .select_from(activations)
        .where(*(_CONDITIONS[name] for name in sorted(names)))
    )


def _parameters(where: ActivationFilter, space: int | None) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "space": space,
        "states": sorted(state.value for state in where.states) or None,
        "trigger": where.trigger or None,
        "triggers": sorted(where.triggers) or None,
        "workers": sorted(where.workers) or None,
        "binding": where.binding,
        "root": where.root or None,
        "descent": None if where.rating_min is None else ~where.rating_min,
        "below_number": where.below_number or None,
    }
    for name in ("fired_after", "offered_by", "lease_expired_by", "start_due_by"):
        if (moment := getattr(where, name)) is not None:
            parameters[name] = micros(moment)
    if where.states and where.states <= OPEN_STATES:
        parameters["is_open"] = True
    elif where.states and where.states.isdisjoint(OPEN_STATES):
        parameters["has_ended"] = True
    if where.states and where.states <= _UNSTARTED and "start_due_by" in parameters:
        parameters["due_by"] = parameters.pop("start_due_by")
    return {name: value for name, value in parameters.items() if value is not None}
