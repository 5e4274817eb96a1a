"""Discretion: what may be told of triggers and activations to whom, so that nothing tells of entries that may not be read (S8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lavagna_server.domain.agenda import Activation, ActivationState
from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.keys import EVERYTHING, Pattern
from lavagna_server.domain.regions import TEAM_PREFIX, Regions
from lavagna_server.domain.triggers import Statistics, Trigger
from lavagna_server.engine.catalog import BoardCatalog


def may_change(caller: Caller, trigger: Trigger) -> bool:
    """Whether a trigger is the caller's to set again, suspend or delete."""
    is_own = caller.agent == trigger.agent or (bool(trigger.team) and trigger.team in caller.teams)
    return is_own or caller.role is Role.ADMIN


def may_work_on(caller: Caller, activation: Activation) -> bool:
    """Whether an activation is the caller's to acquire."""
    return activation.worker in {caller.agent, *(TEAM_PREFIX + team for team in caller.teams)}


def may_read_all(board: BoardCatalog, trigger: Trigger, caller: Caller) -> bool:
    """Whether a trigger looks at nothing that the caller may not read."""
    patterns = (*(source.pattern for source in trigger.on), *trigger.reads)
    return not _hides_any(board.regions_of(trigger.space), patterns, caller)


def told_trigger(board: BoardCatalog, trigger: Trigger, caller: Caller) -> Trigger:
    """A trigger as the caller may know it: what became of it tells of what it looked at, and an error may quote that."""
    if trigger.agent == caller.agent:
        return trigger
    if not may_read_all(board, trigger, caller):
        return replace(trigger, statistics=Statistics())
    if may_change(caller, trigger):
        return trigger
    return replace(trigger, statistics=replace(trigger.statistics, last_error=""))


def told_activation(
    board: BoardCatalog, activation: Activation, caller: Caller
) -> Activation | None:
    """An activation as the caller may know it; None when it may not know of it.

    That it was fired and how it is rated tells of its entry, and of whatever else its trigger looks at.
    """
    regions = board.regions_of(activation.id.space)
    if activation.key and not regions.may_read(activation.key, caller):
        return None
    trigger = board.triggers.get(activation.trigger_id)
    if trigger is not None and activation.id.number <= trigger.statistics.since:
        trigger = None  # it looks elsewhere by now, or is another of that name
    if trigger is not None and trigger.agent == caller.agent:
        return activation
    if not _hides_any(regions, trigger.looks_at if trigger else (EVERYTHING,), caller):
        return activation
    if not may_work_on(caller, activation):
        return None
    # The team was given the work and its rating; an error of the condition may quote what only the setter may read.
    told_why = activation.state is not ActivationState.OBVIATED
    return activation if told_why else replace(activation, reason="")


def _hides_any(regions: Regions, patterns: Iterable[Pattern], caller: Caller) -> bool:
    return any(regions.hide(pattern, caller) for pattern in patterns)
