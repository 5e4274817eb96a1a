"""Triggers: setting, suspending and trying the preconditions that wake agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from lavagna_server.domain.agenda import ActivationFilter, ActivationState, finished
from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.entries import Entry, EntryId, Kind, Space
from lavagna_server.domain.errors import (
    Exhausted,
    Invalid,
    NotFound,
    PermissionDenied,
    RoleRequired,
    StaleRecord,
)
from lavagna_server.domain.keys import EVERYTHING
from lavagna_server.domain.triggers import Mode, Statistics, Trigger, TriggerId
from lavagna_server.engine.calls import Call
from lavagna_server.engine.controller import Controller
from lavagna_server.engine.discretion import may_change, may_read_all, told_trigger
from lavagna_server.engine.evaluation import Evaluator, Subject, Verdict
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.once import once
from lavagna_server.engine.reading import ReadPoint, StateAt, state_at
from lavagna_server.engine.workspace import Workspace
from lavagna_server.ports.store import Order, Snapshot

R = TypeVar("R")

TRIED_MAX = 100


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a trigger made of one entry."""

    key: str
    bind: dict[str, str]
    verdict: Verdict
    rating: int
    reason: str
    """Why it would not fire, or what went wrong; empty when it would."""
    read_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trigger would do at one revision."""

    space: Space
    revision: int
    at: datetime
    would_fire: bool
    evaluations: tuple[Evaluation, ...]


class Triggers:
    """The triggers of a board as their agents meet them."""

    def __init__(self, ground: Ground, controller: Controller, evaluator: Evaluator) -> None:
        self._writer, self._catalog, self._readers = ground.writer, ground.catalog, ground.readers
        self._clock, self._limits = ground.clock, ground.limits
        self._controller, self._evaluator = controller, evaluator

    async def set(self, call: Call[Trigger, R], draft: Trigger, *, expected_version: int) -> R:
        """Creates or replaces a trigger; setting the same again changes nothing.

        A new edge trigger fires at once for what holds already. One that replaces another fires for what did not hold before.
        A schedule of one time that has passed is due at once, unless the trigger had it before.

        Raises:
            PermissionDenied: The trigger belongs to somebody else.
            StaleRecord: It is not at the expected version.
            Exhausted: The agent has too many triggers.
            Invalid: Its condition, rating or `reads` are wrong.
        """
        caller = call.caller
        if caller.role < Role.AGENT:
            raise RoleRequired(agent=caller.agent, role=caller.role.name.lower(), needs="agent")
        if draft.team and draft.team not in caller.teams and caller.role is not Role.ADMIN:
            raise PermissionDenied(
                f"{caller.agent} is not in team {draft.team}, for which the trigger is"
            )
        _check_reads(draft)
        self._evaluator.check(draft)

        def operation(work: Workspace) -> Trigger:
            known = work.trigger(draft.id)
            trigger = self._completed(work, caller, draft, known, expected_version)
            if known is not None and trigger == known:
                return _told(work, known, caller)
            trigger = replace(trigger, version=(known.version if known else 0) + 1)
            self._take_in(work, caller, trigger, known)
            return _told(work, trigger, caller)

        return await once(self._writer, call, operation)

    def _take_in(
        self, work: Workspace, caller: Caller, trigger: Trigger, known: Trigger | None
    ) -> None:
        if known is not None and not may_read_all(work.board(caller.board), known, caller):
            _begin_anew(work, known, by=trigger.agent)
        work.save(trigger)
        if trigger.next_due_at is not None:
            work.deadlines.append(trigger.next_due_at)
        if not trigger.suspended:
            self._controller.set_off(work, trigger)
        if known is not None and not _sees_the_same(trigger, known):
            _count_from_here(work, trigger.id)

    def _completed(
        self,
        work: Workspace,
        caller: Caller,
        draft: Trigger,
        known: Trigger | None,
        expected_version: int,
    ) -> Trigger:
        """The draft with what the server sets."""
        current = known.version if known else 0
        if expected_version and expected_version != current:
            raise StaleRecord(f"trigger {draft.name}", expected=expected_version, current=current)
        if known is not None:
            _check_may_change(caller, known)
            return self._replaced(work, caller, draft, known)
        self._check_quota(work, caller)
        return replace(
            draft,
            agent=caller.agent,
            statistics=_fresh(work, draft),
            suspended=False,
            next_due_at=_first_due(draft, work.now),
        )

    def _replaced(self, work: Workspace, caller: Caller, draft: Trigger, known: Trigger) -> Trigger:
        """The draft in place of what is known. Who changes anything becomes the setter: nobody writes what another's rights read."""
        same_schedule = known.schedule == draft.schedule
        trigger = replace(
            draft,
            agent=known.agent,
            suspended=known.suspended,
            version=known.version,
            statistics=known.statistics,
            next_due_at=known.next_due_at if same_schedule else _first_due(draft, work.now),
        )
        if trigger == known:
            return known
        if caller.agent != known.agent:
            self._check_quota(work, caller)
        trigger = replace(trigger, agent=caller.agent)
        if _sees_the_same(trigger, known):
            return replace(trigger, statistics=replace(known.statistics, last_error=""))
        return replace(trigger, statistics=_fresh(work, draft))

    def _check_quota(self, work: Workspace, caller: Caller) -> None:
        maximum = self._limits.triggers_per_agent_max
        if work.board(caller.board).triggers_set[caller.agent] >= maximum:
            raise Exhausted("triggers_per_agent_max", maximum=maximum, subject=caller.agent)

    async def get(self, caller: Caller, trigger: TriggerId) -> Trigger:
        """One trigger that the caller may see, with what it may know of what became of it."""
        board = self._catalog.board(caller.board)
        found = board.triggers.get(trigger)
        if found is None or trigger.space.owner not in ("", caller.agent):
            raise NotFound(f"trigger {trigger.name}")
        return told_trigger(board, found, caller)

    async def list(
        self, caller: Caller, *, after: TriggerId | None, size: int
    ) -> Sequence[Trigger]:
        """A page of the triggers that the caller may see: those of the shared space and its own private ones."""
        visible = sorted(
            trigger.id
            for trigger in list(self._catalog.board(caller.board).triggers.values())
            if trigger.space.owner in ("", caller.agent) and (after is None or trigger.id > after)
        )
        board = self._catalog.board(caller.board)
        return [
            told_trigger(board, board.triggers[id_], caller)
            for id_ in visible[:size]
            if id_ in board.triggers
        ]

    async def suspend(self, call: Call[Trigger, R], trigger: TriggerId) -> R:
        """Stops a trigger from firing; what it fired already stays on the agenda."""
        return await self._change(call, trigger, suspended=True)

    async def resume(self, call: Call[Trigger, R], trigger: TriggerId) -> R:
        """Lets a trigger fire again: at once for what became true meanwhile, and at the next slot, not at missed ones."""
        return await self._change(call, trigger, suspended=False)

    async def _change(self, call: Call[Trigger, R], id_: TriggerId, *, suspended: bool) -> R:
        def operation(work: Workspace) -> Trigger:
            known = _found(work, call.caller, id_)
            if known.suspended == suspended:
                return _told(work, known, call.caller)
            changed = replace(known, suspended=suspended, version=known.version + 1)
            if not suspended:
                changed = replace(changed, next_due_at=_next_due(changed, work.now))
            work.save(changed)
            if changed.next_due_at is not None:
                work.deadlines.append(changed.next_due_at)
            if not suspended:
                self._controller.set_off(work, changed)
            return _told(work, changed, call.caller)

        return await once(self._writer, call, operation)

    async def delete(self, call: Call[None, R], trigger: TriggerId) -> R:
        """Deletes a trigger and cancels what waits of it."""

        def operation(work: Workspace) -> None:
            known = _found(work, call.caller, trigger)
            _cancel_waiting(work, known, f"{call.caller.agent} deleted the trigger")
            work.remove(known)

        return await once(self._writer, call, operation)

    async def try_(
        self, caller: Caller, subject: Trigger | TriggerId, *, revision: int, key: str
    ) -> Trial:
        """Whether a trigger set now would fire on the state of a revision, and why not. Changes nothing."""
        if isinstance(subject, TriggerId):
            trigger = await self.get(caller, subject)
        else:
            trigger = replace(subject, next_due_at=_first_due(subject, self._clock.now()))
        _check_reads(trigger)
        self._evaluator.check(trigger)
        reader = (
            caller
            if not isinstance(subject, TriggerId)
            else self._catalog.board(caller.board).reader(trigger.agent)
        )

        def read(snapshot: Snapshot) -> Trial:
            point = ReadPoint(revision)
            state = state_at(snapshot, self._catalog, caller, trigger.space, [EVERYTHING], point)
            evaluations = tuple(self._tried(state, trigger, reader, key))
            would_fire = any(not each.reason for each in evaluations) and not trigger.suspended
            return Trial(state.space, state.revision, self._clock.now(), would_fire, evaluations)

        return await self._readers.run(read)

    def _tried(
        self, state: StateAt, trigger: Trigger, reader: Caller, key: str
    ) -> Sequence[Evaluation]:
        if trigger.mode is Mode.DUE:
            evaluation = self._evaluated(state, trigger, reader, None, {})
            if trigger.next_due_at is None:
                evaluation = replace(evaluation, reason="no time of its schedule is to come")
            return [evaluation]
        evaluations: list[Evaluation] = []
        seen: set[EntryId] = set()
        for source in trigger.on:
            for entry in state.scan(source.pattern, source.kinds):
                bind = source.bind(entry)
                if entry.id in seen or bind is None or (key and entry.key != key):
                    continue
                seen.add(entry.id)
                evaluations.append(self._evaluated(state, trigger, reader, entry, dict(bind)))
                if len(evaluations) >= TRIED_MAX:
                    return evaluations
        if key and not evaluations:
            absent = EntryId(Kind.NOTE, key)
            reason = "`on` does not match it" if state.get([absent]) else "there is no such entry"
            evaluations.append(Evaluation(key, {}, Verdict.FALSE, 0, reason, ()))
        return evaluations

    def _evaluated(
        self,
        state: StateAt,
        trigger: Trigger,
        reader: Caller,
        entry: Entry | None,
        bind: dict[str, str],
    ) -> Evaluation:
        evaluated = self._evaluator.evaluate(
            state,
            trigger,
            Subject(entry, None, bind),
            reader=reader,
            regions=self._catalog.board(trigger.space.board).regions_of(trigger.space),
            now=self._clock.now(),
        )
        reason = evaluated.error
        if not reason and evaluated.verdict is Verdict.FALSE:
            reason = "the condition does not hold"
        key = entry.key if entry else ""
        return Evaluation(
            key, bind, evaluated.verdict, evaluated.rating, reason, evaluated.read_keys
        )


def _fresh(work: Workspace, trigger: Trigger) -> Statistics:
    """Statistics that count from here on."""
    return Statistics(since=work.space(trigger.space).activations)


def _cancel_waiting(work: Workspace, trigger: Trigger, reason: str) -> None:
    waiting = ActivationFilter(
        space=trigger.space,
        states=frozenset({ActivationState.WAITING, ActivationState.HELD}),
        trigger=trigger.name,
    )
    for activation in work.agenda.select(waiting, order=Order.AGENDA, limit=1_000_000):
        work.agenda.put(
            finished(activation, ActivationState.CANCELLED, now=work.now, reason=reason)
        )


def _begin_anew(work: Workspace, trigger: Trigger, *, by: str) -> None:
    """Ends what waits and forgets what held, when that follows from entries that the new setter may not read."""
    if by == trigger.agent:
        return
    _cancel_waiting(work, trigger, f"{by} took the trigger over")
    for edge in work.agenda.edges_of(trigger.id):
        work.agenda.put_edge(trigger.id, edge.binding, edge.entry, holds=False)


def _sees_the_same(trigger: Trigger, before: Trigger) -> bool:
    """Whether a trigger looks at what it looked at before, with the same rights."""
    return (trigger.agent, trigger.on, trigger.reads) == (before.agent, before.on, before.reads)


def _count_from_here(work: Workspace, id_: TriggerId) -> None:
    """Leaves out of the statistics what the change itself ended: that was fired before."""
    after = work.trigger(id_)
    if after is not None and after.statistics.obviated:
        work.save(replace(after, statistics=replace(after.statistics, obviated=0)))


def _told(work: Workspace, trigger: Trigger, caller: Caller) -> Trigger:
    """The trigger as this operation leaves it, as the caller may know it."""
    after = work.trigger(trigger.id) or trigger
    return told_trigger(work.board(trigger.space.board), after, caller)


def _first_due(trigger: Trigger, now: datetime) -> datetime | None:
    """When a schedule that is new falls due: a time that has passed is not left out."""
    at = trigger.schedule.at if trigger.mode is Mode.DUE and trigger.schedule else None
    return at or _next_due(trigger, now)


def _next_due(trigger: Trigger, now: datetime) -> datetime | None:
    return (
        trigger.schedule.next_after(now) if trigger.mode is Mode.DUE and trigger.schedule else None
    )


def _found(work: Workspace, caller: Caller, id_: TriggerId) -> Trigger:
    known = work.trigger(id_)
    if known is None or id_.space.owner not in ("", caller.agent):
        raise NotFound(f"trigger {id_.name}")
    _check_may_change(caller, known)
    return known


def _check_may_change(caller: Caller, trigger: Trigger) -> None:
    if not may_change(caller, trigger):
        raise PermissionDenied(
            f"trigger {trigger.name} belongs to {trigger.team or trigger.agent}, not to {caller.agent}"
        )


def _check_reads(trigger: Trigger) -> None:
    """Every name in `reads` must be bound by every pattern in `on`, else it would mean nothing."""
    for index, pattern in enumerate(trigger.reads):
        for source in trigger.on:
            unbound = set(pattern.names) - set(source.pattern.names)
            if unbound:
                raise Invalid(
                    f"trigger.reads[{index}]",
                    f"{{{min(unbound)}}} is not bound by the pattern {source.pattern.text}",
                )
