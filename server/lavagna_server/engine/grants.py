"""Granting work: choosing from the agenda what a caller may begin now."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from lavagna_server.domain.agenda import (
    Activation,
    ActivationFilter,
    ActivationState,
    finished,
    granted,
)
from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import Entry, EntryId, SpaceName
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.regions import TEAM_PREFIX
from lavagna_server.domain.triggers import Mode, Trigger, TriggerId
from lavagna_server.engine.controller import Controller
from lavagna_server.engine.evaluation import Evaluated, Subject, Verdict
from lavagna_server.engine.firing import count, note_error
from lavagna_server.engine.workspace import Workspace
from lavagna_server.ports.store import Order

PAGE = 64


@dataclass(frozen=True, slots=True)
class Leased:
    """An activation in its holder's hands, with what it is about."""

    activation: Activation
    entry: Entry | None
    old: Entry | None

    @property
    def value_bytes(self) -> int:
        """How many bytes the values have that go with it."""
        entries = (self.entry, self.old)
        return sum(each.value.size_bytes for each in entries if each and each.value)


@dataclass(slots=True)
class _Leases:
    """How many leases run, by trigger and by binding."""

    by_trigger: Counter[str] = field(default_factory=Counter[str])
    by_binding: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def add(self, activation: Activation) -> None:
        self.by_trigger[activation.trigger] += 1
        self.by_binding[activation.trigger, activation.binding] += 1

    def have_room_for(self, activation: Activation) -> bool:
        limits = activation.limits
        per_trigger, per_binding = limits.concurrency_max, limits.binding_concurrency_max
        return (not per_trigger or self.by_trigger[activation.trigger] < per_trigger) and (
            not per_binding or self.by_binding[activation.trigger, activation.binding] < per_binding
        )


class Grants:
    """Grants leases on the agenda's head, the condition checked again in the claim (A6, A7)."""

    def __init__(self, controller: Controller, limits: Limits) -> None:
        self._controller, self._limits = controller, limits

    def claim(
        self, work: Workspace, caller: Caller, space: SpaceName, *, only: frozenset[str], most: int
    ) -> list[Leased]:
        """Leases up to `most` activations of a space to the caller."""
        if not work.board(space.board).working_spaces[space]:
            return []
        leases = _Leases()
        running = ActivationFilter(space=space, states=frozenset({ActivationState.LEASED}))
        for activation in work.agenda.select(running, order=Order.AGENDA, limit=1_000_000):
            leases.add(activation)
        claimed: list[Leased] = []
        bytes_left = self._limits.page_bytes_max
        for activation in self._offered(work, caller, space, only):
            if len(claimed) >= most or bytes_left <= 0:
                break
            if not leases.have_room_for(activation):
                continue
            leased = self._grant(work, caller, activation)
            if leased is not None:
                leases.add(leased.activation)
                claimed.append(leased)
                bytes_left -= leased.value_bytes
        return claimed

    def _offered(
        self, work: Workspace, caller: Caller, space: SpaceName, only: frozenset[str]
    ) -> Iterator[Activation]:
        """What the caller may begin, best first; more is read only when the first ones are all blocked."""
        where = ActivationFilter(
            space=space,
            states=frozenset({ActivationState.WAITING}),
            triggers=only,
            workers=frozenset({caller.agent, *(TEAM_PREFIX + team for team in caller.teams)}),
            rating_min=work.board(space.board).board.rating_min,
            offered_by=work.now,
        )
        seen: set[int] = set()
        limit = PAGE
        while True:
            page = work.agenda.select(where, order=Order.AGENDA, limit=limit)
            fresh = [activation for activation in page if activation.id.number not in seen]
            for activation in fresh:
                seen.add(activation.id.number)
                yield activation
            if len(page) < limit:
                return
            limit *= 4

    def _grant(self, work: Workspace, caller: Caller, activation: Activation) -> Leased | None:
        trigger = work.trigger(TriggerId(activation.id.space, activation.trigger))
        if trigger is None:
            self._end(work, activation, ActivationState.CANCELLED, "its trigger is gone")
            return None
        regions = work.board(activation.id.space.board).regions_of(activation.id.space)
        if activation.key and not regions.may_read(activation.key, caller):
            return None
        entry, old, evaluated = self._checked(work, caller, trigger, activation)
        if evaluated is None:
            return None
        note_error(work, trigger, evaluated)
        if evaluated.verdict is not Verdict.TRUE:
            self._end(
                work,
                activation,
                ActivationState.OBVIATED,
                evaluated.error or "the condition no longer holds",
            )
            count(work, activation, obviated=1)
            return None
        lease = granted(activation, holder=caller.agent, nonce=secrets.token_hex(8), now=work.now)
        work.agenda.put(lease)
        return Leased(lease, entry, old)

    def _checked(
        self, work: Workspace, caller: Caller, trigger: Trigger, activation: Activation
    ) -> tuple[Entry | None, Entry | None, Evaluated | None]:
        space = activation.id.space
        if activation.kind is None:
            return None, None, self._controller.evaluate(work, trigger, Subject(None, None, {}))
        id_ = EntryId(activation.kind, activation.key)
        if trigger.mode is Mode.EVERY:
            entry = work.version(space, id_, activation.version)
            old = work.version(space, id_, activation.version - 1)
            if entry is None:  # compacted meanwhile: nothing is left to work on
                return None, None, Evaluated(Verdict.FALSE)
            subject = Subject(entry, old, activation.bind)
            return entry, old, self._controller.evaluate(work, trigger, subject)
        return self._checked_edge(work, caller, trigger, activation, id_)

    def _checked_edge(
        self,
        work: Workspace,
        caller: Caller,
        trigger: Trigger,
        activation: Activation,
        fired_by: EntryId,
    ) -> tuple[Entry | None, None, Evaluated | None]:
        """The subject that fired it if the condition still holds there, else another of the same binding.

        None in place of an evaluation: it holds still, but only for entries that this caller may not read.
        """
        regions = work.board(trigger.space.board).regions_of(trigger.space)
        evaluated, is_hidden = Evaluated(Verdict.FALSE), False
        others = work.agenda.edges(trigger.id, activation.binding) - {fired_by}
        for id_ in (fired_by, *sorted(others, key=lambda each: each.key)):
            entry = work.newest(activation.id.space, id_)
            if entry is None:
                continue
            if not regions.may_read(entry.key, caller):
                is_hidden = True
                continue
            evaluated = self._controller.still_holds(work, trigger, entry)
            if evaluated.verdict is Verdict.TRUE:
                return entry, None, evaluated
            work.agenda.put_edge(trigger.id, activation.binding, id_, holds=False)
        return None, None, None if is_hidden else evaluated

    def _end(
        self, work: Workspace, activation: Activation, state: ActivationState, reason: str
    ) -> None:
        work.agenda.put(finished(activation, state, now=work.now, reason=reason))
