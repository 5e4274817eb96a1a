"""Activations and edges as one operation sees and changes them; the agenda's part of a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lavagna_server.domain.agenda import Activation, ActivationFilter, ActivationId
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
        changed = {**self._group.overlay.activations, **self._work.own.activations}
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
        changed = {**self._group.overlay.activations, **self._work.own.activations}
        count = self._group.transaction.count_activations(where)
        for id_, activation in changed.items():
            before = self._group.transaction.activation(id_)
            count += where.includes(activation) - (before is not None and where.includes(before))
        return count

    def put(self, activation: Activation) -> None:
        """Takes an activation in, as new or in place of what it was."""
        before = self.get(activation.id)
        self._work.own.activations[activation.id] = activation
        space = activation.id.space
        if activation.state.is_open:
            self._work.woken.add(space.board)
        elif before is not None and before.state.is_open:
            self._work.closed.add(space)
        if activation.state.is_open:
            ends = activation.lease.expires_at if activation.lease is not None else None
            moments = (activation.not_before, activation.start_by, ends)
            self._work.deadlines += [moment for moment in moments if moment is not None]

    def edges(self, trigger: TriggerId, binding: str) -> frozenset[EntryId]:
        """The subjects of a binding for which an edge trigger's condition holds."""
        found = set(self._group.transaction.edges(trigger, binding))
        for overlay in (self._group.overlay, self._work.own):
            for edge, holds in overlay.edges.items():
                if edge.trigger == trigger and edge.binding == binding:
                    (found.add if holds else found.discard)(edge.entry)
        return frozenset(found)

    def put_edge(self, trigger: TriggerId, binding: str, entry: EntryId, *, holds: bool) -> None:
        """Notes whether an edge trigger's condition holds for a subject."""
        self._work.own.edges[EdgeId(trigger, binding, entry)] = holds
