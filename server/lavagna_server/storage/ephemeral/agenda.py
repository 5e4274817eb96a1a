"""The activations of one space in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from lavagna_server.domain.agenda import Activation, ActivationFilter
from lavagna_server.storage.ephemeral.shards import Shards

Group: TypeAlias = tuple[str, str] | int
"""A trigger and a binding, or the root of a chain."""


@dataclass(frozen=True, slots=True)
class Agenda:
    """The activations as they stood at one moment; never changed, only succeeded."""

    fired: Shards[int, Activation] = field(default_factory=Shards[int, Activation])
    """By number."""
    open: Shards[int, Activation] = field(default_factory=Shards[int, Activation])
    """Those of which something may still come."""
    groups: Shards[Group, tuple[int, ...]] = field(default_factory=Shards[Group, tuple[int, ...]])
    """What belongs together, in the order of firing; that never changes."""

    def moved(self, activations: Mapping[int, Activation]) -> Agenda:
        """The agenda with activations as they have become."""
        groups: dict[Group, tuple[int, ...]] = {}
        for number in sorted(number for number in activations if number not in self.fired):
            made = activations[number]
            for group in ((made.trigger, made.binding), made.root):
                groups[group] = (*groups.get(group, self.groups.get(group, ())), number)
        still_open = {
            number: each if each.state.is_open else None for number, each in activations.items()
        }
        return Agenda(
            self.fired.edited(activations), self.open.edited(still_open), self.groups.edited(groups)
        )

    def matching(self, where: ActivationFilter) -> Iterator[Activation]:
        """The activations that are meant, the newest first."""
        for number in self._candidates(where):
            activation = self.fired[number]
            if where.fired_after is not None and activation.fired_at <= where.fired_after:
                return  # numbers and times of firing rise together
            if where.includes(activation):
                yield activation

    def _candidates(self, where: ActivationFilter) -> Iterable[int]:
        if where.trigger and where.binding is not None:
            return reversed(self.groups.get((where.trigger, where.binding), ()))
        if where.root:
            return reversed(self.groups.get(where.root, ()))
        if where.states and all(state.is_open for state in where.states):
            return sorted(self.open, reverse=True)
        return sorted(self.fired, reverse=True)
