"""Log odds of probabilities, computed so that every machine gets the same digits."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

CLIPPED = Decimal("1e-6")
"""Probabilities are taken to be no closer to 0 and 1 than this: or one claim of 0 would outweigh all others."""
_DECIMALS = Context(prec=34)
"""Decimal logarithms are correctly rounded, so the same everywhere; those of floats are as each platform has them."""


def log_odds(probability: Decimal) -> Decimal:
    """The logarithm of p / (1 - p), to 34 digits."""
    clipped = min(max(probability, CLIPPED), 1 - CLIPPED)
    return _DECIMALS.ln(_DECIMALS.divide(clipped, _DECIMALS.subtract(1, clipped)))


def probability_of(log_odds: Fraction) -> Fraction:
    """The probability that has these log odds, to 34 digits."""
    exponent = _DECIMALS.divide(Decimal(-log_odds.numerator), Decimal(log_odds.denominator))
    return Fraction(_DECIMALS.divide(1, _DECIMALS.add(1, _DECIMALS.exp(exponent))))
