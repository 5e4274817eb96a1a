"""Weights: how much each voter's word counts, and where each weight comes from.

    weight = trust * strength(calibrated confidence), and no voter group outweighs a few of its strongest member

A *number* is averaged by the probability that its author is right. A *vote* between values is weighed by its evidence, the log odds of that
probability: of all rules for independent voters, the one that is right most often (Nitzan & Paroush, "Optimal decision rules in uncertain
dichotomous choice situations", Int. Econ. Rev. 23, 1982), by which a voter at chance level counts nothing and the many cannot win by being many.
Between m values, with errors spread evenly, the log odds are those of log((m - 1) p / (1 - p)). `tests/bench/judgement.py` compares the two.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.weighing.calibration import UNCALIBRATED, Calibration
from lavagna_server.domain.weighing.shares import check_share

CERTAIN = 0.99
"""A vote of this probability or more counts as much as any can: beyond, evidence is not told from overconfidence."""
UNITS = 10**12
"""A weight is a decimal of twelve places: it is written as it is, and whoever adds up what is written gets the same."""
ALTERNATIVES_MIN, ALTERNATIVES_MAX = 2, 1_000_000


class Scale(StrEnum):
    """How a probability becomes a weight."""

    PROBABILITY = "probability"
    """As it is: for numbers, and what else is averaged."""
    LOG_ODDS = "log odds"
    """Its evidence, 0 at chance level and 1 from `CERTAIN` on: for votes."""


@dataclass(frozen=True, slots=True)
class Voter:
    """Somebody whose word is to be weighed, with what is known about that word."""

    agent: str
    group: str = ""
    """Whose witness it is; empty for its own, which bears its name."""
    trust: float = 1.0
    confidence: float | None = None
    """As stated with this word; None counts as 1."""
    calibration: Calibration = UNCALIBRATED


@dataclass(frozen=True, slots=True)
class Weight:
    """What a voter's word counts, and where that comes from."""

    agent: str
    group: str
    trust: float
    confidence: float
    calibrated: float
    """The probability that the stated confidence is worth."""
    strength: float
    """That probability on the scale, from 0 to 1."""
    before_cap: float
    """Trust times strength, rounded towards zero."""
    after_cap: float
    """What counts: the exact share of the group's cap, rounded towards zero, so that no group exceeds it."""

    def working(self, scale: Scale) -> str:
        """The arithmetic in one line, for people."""
        said = f"states {self.confidence:.4g}, calibrated {self.calibrated:.4g}"
        taken = f", {scale} {self.strength:.4g}" if scale is Scale.LOG_ODDS else ""
        capped = (
            f"; group {self.group} is capped, which leaves {self.after_cap:.4g}"
            if self.after_cap < self.before_cap
            else ""
        )
        return f"{self.agent}: {said}{taken}; times trust {self.trust:.4g} = {self.before_cap:.4g}{capped}"


def weigh(
    voters: Iterable[Voter],
    *,
    group_cap: float | None,
    scale: Scale = Scale.LOG_ODDS,
    alternatives: int = 2,
) -> tuple[Weight, ...]:
    """The weights of all voters, by name.

    `group_cap` says how many times its strongest member a group may count; None lets it count as it is. As no voter counts more than 1, the group
    of a cap never counts more than that many fully trusted voters. `alternatives` is between how many values a vote is cast.

    Raises:
        Invalid: A number is out of its range, or an agent comes twice.
    """
    ordered = sorted(voters, key=lambda voter: voter.agent)
    _check(ordered, group_cap, alternatives)
    drafts = [_uncapped(voter, scale, alternatives) for voter in ordered]
    if group_cap is None:
        return tuple(drafts)
    factors = _factors(drafts, group_cap)
    return tuple(_capped(draft, factors[draft.group]) for draft in drafts)


def strength(probability: float, scale: Scale, *, alternatives: int = 2) -> float:
    """What a probability counts on a scale, from 0 to 1; never less for a higher one."""
    if scale is Scale.PROBABILITY:
        return probability
    if probability >= CERTAIN:
        return 1.0
    evidence = _log_odds(probability, alternatives) / _log_odds(CERTAIN, alternatives)
    return min(float(evidence), 1.0)


@lru_cache(maxsize=4_096)
def _log_odds(probability: float, alternatives: int) -> Decimal:
    """log((m - 1) p / (1 - p)), or 0 at and below chance level.

    In decimals, whose logarithm is rounded correctly everywhere; `math.log` differs between machines in its last bit.
    """
    exact = Context(prec=34, rounding=ROUND_HALF_EVEN)
    part = exact.create_decimal_from_float(probability)
    odds = exact.divide(exact.multiply(part, Decimal(alternatives - 1)), exact.subtract(1, part))
    return exact.ln(odds) if odds > 1 else Decimal(0)


def _uncapped(voter: Voter, scale: Scale, alternatives: int) -> Weight:
    confidence = 1.0 if voter.confidence is None else voter.confidence
    calibrated = voter.calibration.probability(confidence)
    counted = strength(calibrated, scale, alternatives=alternatives)
    weight = _units(voter.trust) * _units(counted) // UNITS / UNITS
    group = voter.group or voter.agent
    return Weight(voter.agent, group, voter.trust, confidence, calibrated, counted, weight, weight)


def _units(weight: float) -> int:
    return round(weight * UNITS)


def _factors(drafts: Iterable[Weight], cap: float) -> Mapping[str, Fraction]:
    """By what each group's weights are multiplied, at most 1; sums are of integers, so no order shows."""
    members: defaultdict[str, list[int]] = defaultdict(list)
    for draft in drafts:
        members[draft.group].append(_units(draft.before_cap))
    allowed = Fraction(repr(float(cap)))
    return {
        group: min(Fraction(1), allowed * max(weights) / max(sum(weights), 1))
        for group, weights in members.items()
    }


def _capped(draft: Weight, factor: Fraction) -> Weight:
    share = factor * _units(draft.before_cap)
    return replace(draft, after_cap=math.floor(share) / UNITS)


def _check(voters: Sequence[Voter], group_cap: float | None, alternatives: int) -> None:
    if group_cap is not None and not 1.0 <= group_cap < math.inf:
        raise Invalid("group_cap", f"must be a finite number of at least 1, not {group_cap}")
    if not ALTERNATIVES_MIN <= alternatives <= ALTERNATIVES_MAX:
        raise Invalid(
            "alternatives",
            f"must be from {ALTERNATIVES_MIN} to {ALTERNATIVES_MAX}, not {alternatives}",
        )
    for voter in voters:
        check_share(voter.trust, field=f"{voter.agent}.trust")
        check_share(
            1.0 if voter.confidence is None else voter.confidence, field=f"{voter.agent}.confidence"
        )
    twice = [agent for agent, times in Counter(each.agent for each in voters).items() if times > 1]
    if twice:
        raise Invalid("agent", f"{twice[0]} is weighed twice: one word per agent")
