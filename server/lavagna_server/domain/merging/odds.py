"""Log odds of probabilities, computed so that every machine gets the same digits."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

CLIPPED = Fraction(1, 1_000_000)
"""Probabilities are taken to be no closer to 0 and 1 than this: or one claim of 0 would outweigh all others."""
_DECIMALS = Context(prec=50)
"""Decimal logarithms are correctly rounded, so the same everywhere; those of floats are as each platform has them."""


def log_odds(probability: Fraction) -> Fraction:
    """The logarithm of p / (1 - p), to 50 digits."""
    clipped = min(max(probability, CLIPPED), 1 - CLIPPED)
    return Fraction(_DECIMALS.ln(_decimal(clipped))) - Fraction(_DECIMALS.ln(_decimal(1 - clipped)))


def probability_of(log_odds: Fraction) -> Fraction:
    """The probability that has these log odds, to 50 digits."""
    return Fraction(_DECIMALS.divide(1, _DECIMALS.add(1, _DECIMALS.exp(_decimal(-log_odds)))))


def _decimal(number: Fraction) -> Decimal:
    return _DECIMALS.divide(Decimal(number.numerator), Decimal(number.denominator))
