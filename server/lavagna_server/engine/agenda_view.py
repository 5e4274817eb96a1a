"""Activations and edges as one operation sees and changes them; the agenda's part of a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lavagna_server.domain.agenda import Activation, ActivationFilter, ActivationId, ActivationState
from lavagna_server.domain.entries import EntryId, SpaceName
from lavagna_server.domain.triggers import TriggerId
from lavagna_server.engine.group import Group
from lavagna_server.ports.store import EdgeId, Order

if TYPE_CHECKING:
    from lavagna_server.engine.workspace import Workspace


class AgendaView:
    """What a workspace knows of activations."""

    def __init__(self, work: Workspace, group: Group) -> None:
        self._work = work
        self._group = group

    def next_id(self, name: SpaceName) -> ActivationId:
        """The name of the next activation of a space."""
        space = self._work.space(name)
        self._work.put_space(replace(space, activations=space.activations + 1))
        return ActivationId(name, space.activations + 1)

    def get(self, activation: ActivationId) -> Activation | None:
        """One activation."""
        for overlay in (self._work.own, self._group.overlay):
            if (found := overlay.activations.get(activation)) is not None:
                return found
        return self._group.transaction.activation(activation)

    def select(self, where: ActivationFilter, *, order: Order, limit: int) -> Sequence[Activation]:
        """The activations that are meant."""
        changed = self._changed(where)
        stored = self._group.transaction.activations(where, order=order, limit=limit + len(changed))
        found = [each for each in stored if each.id not in changed]
        found += [each for each in changed.values() if where.includes(each)]
        if order is Order.AGENDA:
            found.sort(key=lambda each: each.agenda_order)
        else:
            found.sort(key=lambda each: -each.id.number)
        return found[:limit]

    def count(self, where: ActivationFilter) -> int:
        """How many activations are meant."""
        count = self._group.transaction.count_activations(where)
        for id_, activation in self._changed(where).items():
            count += where.includes(activation)
            if not self._group.is_new(id_):
                before = self._group.transaction.activation(id_)
                count -= before is not None and where.includes(before)
        return count

    def _changed(self, where: ActivationFilter) -> dict[ActivationId, Activation]:
        earlier, own = self._group.overlay.concerning(where), self._work.own.concerning(where)
        return {**earlier, **own} if own else earlier

    def put(self, activation: Activation) -> None:
        """Takes an activation in, as new or in place of what it was."""
        before = None if activation.state.is_open else self.get(activation.id)
        self._work.own.put_activation(activation)
        space = activation.id.space
        # Also an end wakes: it may make room for another under a bound on concurrency.
        self._work.woken.add((space.board, activation.worker))
        if activation.state is ActivationState.HELD or (
            before is not None and before.state.is_open
        ):
            self._work.closed.add(space)
        if activation.state.is_open:
            ends = activation.lease.expires_at if activation.lease is not None else None
            moments = (activation.not_before, activation.start_by, ends)
            self._work.deadlines += [moment for moment in moments if moment is not None]

    def edges(self, trigger: TriggerId, binding: str) -> frozenset[EntryId]:
        """The subjects of a binding for which an edge trigger's condition holds."""
        earlier, own = self._group.overlay, self._work.own
        found: set[EntryId] = set()
        if not (earlier.records and earlier.has_removed(trigger)):
            found.update(self._group.transaction.edges(trigger, binding))
        for overlay in (earlier, own):
            for entry, holds in overlay.edges.get((trigger, binding), {}).items():
                (found.add if holds else found.discard)(entry)
        return frozenset(found)

    def edges_of(self, trigger: TriggerId) -> Sequence[EdgeId]:
        """All edges of a trigger that hold."""
        earlier, own = self._group.overlay, self._work.own
        found: set[EdgeId] = set()
        if not (earlier.records and earlier.has_removed(trigger)):
            found.update(self._group.transaction.edges_of(trigger))
        for overlay in (earlier, own):
            for edge, holds in overlay.edges_of(trigger):
                (found.add if holds else found.discard)(edge)
        return sorted(found, key=lambda edge: (edge.binding, edge.entry))

    def put_edge(self, trigger: TriggerId, binding: str, entry: EntryId, *, holds: bool) -> None:
        """Notes whether an edge trigger's condition holds for a subject."""
        self._work.own.edges.setdefault((trigger, binding), {})[entry] = holds
