"""Standings: how much an agent's word weighs on a board, and with whom it speaks as one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from lavagna_server.domain.consensus.polls import Elector
from lavagna_server.domain.regions import Electorate, Voters
from lavagna_server.domain.weighing.calibration import UNCALIBRATED, Calibration
from lavagna_server.domain.weighing.weights import Voter


@dataclass(frozen=True, slots=True)
class Standing:
    """What administrators said of an agent; one need not be registered to have one."""

    board: str
    agent: str
    trust: float = 1.0
    """From 0 to 1."""
    group: str = ""
    """The voter group: agents that are no independent witnesses of each other, such as copies of one model. Empty means its own."""
    version: int = 1
    calibrations: Mapping[str, Calibration] = field(default_factory=dict[str, Calibration])
    """What its stated confidence has been worth so far, by the path of the region in which its claims were resolved: what is learnt where
    somebody may not read must not show elsewhere, and who estimates efforts well need not know the weather."""

    def calibration_in(self, path: str) -> Calibration:
        """What its stated confidence has been worth in a region."""
        return self.calibrations.get(path, UNCALIBRATED)


class Standings:
    """The standings on one board, and who is on it."""

    def __init__(
        self,
        board: str,
        standings: Mapping[str, Standing],
        members: Callable[[str], Collection[str]],
    ) -> None:
        self._board = board
        self._standings = standings
        self._members = members
        """The agents that a name means: of a team, of a role, for `*` all, or one."""

    def __len__(self) -> int:
        return len(self._standings)

    def of(self, agent: str) -> Standing:
        """The standing of an agent; of version 0 where nobody said anything."""
        return self._standings.get(agent) or Standing(self._board, agent, version=0)

    def named(self, names: Iterable[str]) -> frozenset[str]:
        """The agents that are meant by agents, `team:` names and `*`."""
        return frozenset(agent for name in names for agent in self._members(name))

    def voter(self, agent: str, confidence: float | None, path: str) -> Voter:
        """An agent whose word, stated with this confidence in a region, is to be weighed."""
        standing = self.of(agent)
        known = standing.calibration_in(path)
        return Voter(agent, standing.group, standing.trust, confidence, known)

    def group_of(self, agent: str) -> str:
        """The voter group of an agent."""
        return self.of(agent).group or agent

    def electors(self, terms: Electorate) -> tuple[Elector, ...]:
        """The electorate as it is now, by name; who is named more than once has the weight of the first mention."""
        named: dict[str, Voters] = {}
        for voters in terms.voters:
            for agent in self._members(voters.name):
                named.setdefault(agent, voters)
        electors = [
            Elector(agent, voters.weight, self.group_of(agent), voters.veto)
            for agent, voters in sorted(named.items())
        ]
        return tuple(_capped(electors, terms.group_cap))


def _capped(electors: list[Elector], cap: float) -> Iterator[Elector]:
    """The electors with no group weighing more than `cap` of its strongest member: ten copies of one model are not ten witnesses."""
    groups: dict[str, list[Fraction]] = {}
    for each in electors:
        groups.setdefault(each.group, []).append(Fraction(each.weight))
    for each in electors:
        weights = groups[each.group]
        factor = Fraction(cap) * max(weights) / sum(weights) if cap else Fraction(1)
        yield replace(each, weight=float(Fraction(each.weight) * min(Fraction(1), factor)))
