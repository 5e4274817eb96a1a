"""What goes into a merge and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from lavagna_server.domain.values import Value


@dataclass(frozen=True, slots=True)
class Testimony:
    """One live claim as a rule sees it: an agent has at most one about a key."""

    agent: str
    value: Value
    weight: float
    """How much the agent's word counts here, 0 or more: trust, calibration and caps are in it. With 0 it has no say."""
    confidence: float
    """How sure the agent is, from 0 to 1."""


class Position(Enum):
    """Where a claim stands towards the merged value."""

    SAME = "same"
    """It says what the merged value says."""
    NEAR = "near"
    """The merged value agrees with it as far as its rule asks."""
    DISSENT = "dissent"
    """The merged value does not agree with it."""


@dataclass(frozen=True, slots=True)
class Share:
    """One agent's part in a merged value."""

    agent: str
    weight: float
    """As the rule used it: 1 where heads are counted or nobody has any weight, 0 where the claim had no say."""
    position: Position
    agreement: float
    """How far the merged value agrees with the claim, from 0 to 1."""

    @property
    def is_for(self) -> bool:
        """Whether the claim supports the merged value."""
        return self.position is not Position.DISSENT


@dataclass(frozen=True, slots=True)
class Merged:
    """What a set of claims comes to: a function of the set alone (C4)."""

    value: Value
    confidence: float
    """The mean, by weight, of what each claim lends: its confidence times its agreement with the value."""
    rule: str
    """Named and versioned: `weighted-median@1`."""
    support: tuple[Share, ...]
    """Every claim, ordered by agent."""
    dissent: tuple[str, ...]
    """The agents whose claims the value does not agree with, ordered."""
    working: tuple[str, ...]
    """The arithmetic for people, a line each."""
    conflicts: int = 0
    """How many places of a text the claims changed differently; they are marked in the value."""
    is_open: bool = False
    """Whether somebody has yet to reconcile the claims; until then the value is the one selected by vote."""
