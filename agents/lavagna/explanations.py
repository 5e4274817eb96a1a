"""Explanations: how an entry, or the decision on a proposal, came about."""

from __future__ import annotations

from dataclasses import dataclass

from lavagna.entries import Entry
from lavagna.proposals import Proposal
from lavagna.regions import Policy


@dataclass(frozen=True, slots=True)
class Contribution:
    """A claim's part in a merge."""

    claim: Entry | None
    """The claim as it was merged; None when history no longer holds it."""
    agent: str
    group: str
    """The voter group."""
    trust: float
    """The trust that administrators gave the agent."""
    confidence: float
    """The confidence that the agent stated; 1 when it stated none."""
    calibrated: float
    """What that confidence is worth, by how the agent's resolved claims fared."""
    strength: float
    """The calibrated confidence on the scale of the rule: as it is, or its log odds."""
    before_cap: float
    """Trust times strength."""
    weight: float
    """What counts, after the cap of the voter group."""
    supports: bool
    """Whether the claim supports the merged value."""
    agreement: float
    """How far the merged value agrees with it, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class CalibrationBucket:
    """How one range of an agent's stated confidence has fared."""

    low: float
    """The least stated confidence in the bucket."""
    high: float
    """The greatest, which only the last bucket holds."""
    claims: int
    """How many resolved claims there were."""
    stated: float | None
    """Their mean stated confidence; None without claims."""
    seen: float | None
    """The share of them that was right; None without claims."""
    used: float
    """What their mean, or without claims the middle of the bucket, is taken for."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is known of how well an agent judges."""

    agent: str
    calibration: tuple[CalibrationBucket, ...]
    """What its stated confidence has been worth, learnt from its resolved claims."""
    reliability: float | None
    """How often its votes are right, estimated from how far all ballots of the region agree."""
    polls: int
    """In how many decided proposals of the region it voted."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How an entry, or the decision on a proposal, came about."""

    revision: int
    """The revision that it was read at."""
    entry: Entry | None
    """The entry that is explained; None for a proposal."""
    policy: Policy
    """The policy of the region now."""
    rule: str
    """The rule by which claims were merged, named and versioned; empty when nothing was merged."""
    contributions: tuple[Contribution, ...]
    """Each claim's part."""
    dissent: tuple[str, ...]
    """The agents whose claims the value does not agree with."""
    conflicts: int
    """How many places of a text the claims changed differently."""
    open: bool
    """Whether the claims still wait for somebody who reconciles them."""
    proposal: Proposal | None
    """The proposal that is explained, or by which the entry came about."""
    judgements: tuple[Judgement, ...]
    """What is known of the judgement of those who claimed or voted."""
    lines: tuple[str, ...]
    """All of it for people, a line each, the arithmetic too."""
