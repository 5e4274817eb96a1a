"""How the arithmetic of a merge is put into words for people: bounded, and the same for the same claims."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from itertools import islice

from lavagna_server.domain.merging.voices import ValueType, Voice, canonical

LISTED_MAX = 32
"""Lines that list alternatives in one step of a working, and agents in one line."""
SHOWN_CHARACTERS_MAX = 60
"""Of a value."""
_SIX_DIGITS = Context(prec=6)


def shown(number: Fraction) -> str:
    """A number for people, to six digits."""
    if number.denominator == 1 and abs(number) < 10**15:
        return str(number)
    return str(_SIX_DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator)))


def quoted(voice: Voice) -> str:
    """A value for people, on one line and not too long."""
    if isinstance(voice.value, bytes):
        return shortened(repr(voice.value[:SHOWN_CHARACTERS_MAX]))
    is_text = voice.type is ValueType.TEXT
    return shortened(
        canonical(voice.spelling[:SHOWN_CHARACTERS_MAX]) if is_text else voice.spelling
    )


def shortened(text: str) -> str:
    """The beginning of a text, with a sign when there is more."""
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[: SHOWN_CHARACTERS_MAX - 1]}…"


def listed(lines: Iterable[str], *, lines_max: int = LISTED_MAX) -> list[str]:
    """The first lines of some, with a sign when there are more."""
    first = list(islice(lines, lines_max + 1))
    return first if len(first) <= lines_max else [*first[:lines_max], "… and more"]


def names(voices: Iterable[Voice]) -> str:
    """The agents of some claims, for people."""
    agents = sorted(voice.agent for voice in voices)
    more = f" and {len(agents) - LISTED_MAX} more" if len(agents) > LISTED_MAX else ""
    return ", ".join(agents[:LISTED_MAX]) + more
