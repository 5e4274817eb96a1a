"""Firing: one activation for one trigger, within the bounds on cascades.

A firing that a bound refuses is recorded too, as an activation that is overrun and names its chain (A8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lavagna_server.domain.agenda import (
    Activation,
    ActivationFilter,
    ActivationId,
    ActivationState,
    finished,
)
from lavagna_server.domain.entries import Cause, Entry
from lavagna_server.domain.triggers import Trigger, TriggerId
from lavagna_server.engine.evaluation import Evaluated
from lavagna_server.engine.workspace import Workspace
from lavagna_server.ports.store import Order

CHAIN_SHOWN_MAX = 8
RATE_WINDOW = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Spark:
    """Why a trigger fires now."""

    trigger: Trigger
    bind: Mapping[str, str]
    binding: str
    entry: Entry | None
    cause: Cause | None
    rating: int = 0
    slot_at: datetime | None = None
    late: bool = False


def fire(work: Workspace, spark: Spark) -> Activation:
    """Creates the activation of a firing, and counts it."""
    trigger, entry, cause = spark.trigger, spark.entry, spark.cause
    limits = trigger.limits
    id_ = work.agenda.next_id(trigger.space)
    activation = Activation(
        id=id_,
        trigger=trigger.name,
        worker=trigger.worker,
        state=ActivationState.WAITING,
        kind=entry.kind if entry else None,
        key=entry.key if entry else "",
        version=entry.version if entry else 0,
        bind=spark.bind,
        binding=spark.binding,
        rating=spark.rating,
        fired_revision=work.space(trigger.space).head,
        fired_at=work.now,
        depth=cause.depth + 1 if cause else 1,
        root=cause.root if cause else id_.number,
        limits=limits,
        parent=cause.activation if cause else 0,
        slot_at=spark.slot_at,
        late=spark.late,
        not_before=_cooled(work, trigger, spark.binding),
        start_by=work.now + limits.start_deadline if limits.start_deadline else None,
    )
    overrun = _overrun(work, trigger, activation)
    if overrun:
        activation = finished(activation, ActivationState.OVERRUN, now=work.now, reason=overrun)
    work.agenda.put(activation)
    _count(work, trigger.id, fired=1, overrun=int(bool(overrun)))
    _note(work, trigger.id, last_fired_at=work.now)
    return activation


def count(work: Workspace, activation: Activation, **more: int) -> None:
    """Adds what became of an activation to its trigger's statistics, by the names of `Statistics`.

    Nothing is added when the trigger is gone, or looks at what it looks at with other rights than when it fired.
    """
    current = work.trigger(activation.trigger_id)
    if current is not None and activation.id.number > current.statistics.since:
        _count(work, current.id, **more)


def _count(work: Workspace, trigger: TriggerId, **more: int) -> None:
    current = work.trigger(trigger)
    if current is not None:
        known = current.statistics
        added = {name: getattr(known, name) + number for name, number in more.items()}
        work.save(replace(current, statistics=replace(known, **added)))


def _cooled(work: Workspace, trigger: Trigger, binding: str) -> datetime | None:
    if not trigger.limits.cooldown:
        return None
    where = ActivationFilter(space=trigger.space, trigger=trigger.name, binding=binding)
    last = next(iter(work.agenda.select(where, order=Order.NEWEST, limit=1)), None)
    if last is None:
        return None
    cooled = (last.not_before or last.fired_at) + trigger.limits.cooldown
    return cooled if cooled > work.now else None


def _overrun(work: Workspace, trigger: Trigger, activation: Activation) -> str:
    limits = trigger.limits
    if activation.depth > limits.causal_depth_max:
        return f"causal depth is limited to {limits.causal_depth_max} (causal_depth_max): {_chain(work, activation)}"
    space = trigger.space
    cascade_max = work.board(space.board).board.cascade_max
    if (
        activation.parent
        and work.agenda.count(ActivationFilter(space=space, root=activation.root)) >= cascade_max
    ):
        return f"one cause may fire {cascade_max} activations (cascade_max): {_chain(work, activation)}"
    recent = ActivationFilter(
        space=space,
        trigger=trigger.name,
        binding=activation.binding,
        fired_after=work.now - RATE_WINDOW,
    )
    if work.agenda.count(recent) >= limits.firings_per_minute_max:
        return (
            f"a binding may fire {limits.firings_per_minute_max} times a minute (firings_per_minute_max): "
            f"{_chain(work, activation)}"
        )
    return ""


def _chain(work: Workspace, activation: Activation) -> str:
    """The chain of causes, newest first: `build#7 <- check#6 <- build#5`."""
    links, current = [f"{activation.trigger}#{activation.id.number}"], activation
    while current.parent and len(links) < CHAIN_SHOWN_MAX:
        parent = work.agenda.get(ActivationId(activation.id.space, current.parent))
        if parent is None:
            break
        links.append(f"{parent.trigger}#{parent.id.number}")
        current = parent
    more = " <- …" if current.parent else ""
    return " <- ".join(links) + more


def note_error(work: Workspace, trigger: Trigger, evaluated: Evaluated) -> None:
    """Counts an evaluation that failed, where the owner of the trigger will see it."""
    if evaluated.error:
        _count(work, trigger.id, errors=1)
        _note(work, trigger.id, last_error=evaluated.error)


def _note(
    work: Workspace,
    trigger: TriggerId,
    *,
    last_fired_at: datetime | None = None,
    last_error: str = "",
) -> None:
    current = work.trigger(trigger)
    if current is not None:
        known = current.statistics
        noted = replace(
            known,
            last_fired_at=last_fired_at or known.last_fired_at,
            last_error=last_error or known.last_error,
        )
        work.save(replace(current, statistics=noted))
