"""Bars: a number as a length, to an eighth of a character."""

from lavagna_cli.layout import Column

_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"
WIDTH = 10
COLUMN = Column("", "blue", stays=True)
"""Where a table has its bars."""


def bar(amount: float, most: float, *, width: int = WIDTH) -> str:
    """A bar for the amount, where `most` fills the width; what is not nothing shows as something."""
    if amount <= 0 or most <= 0:
        return ""
    eighths = max(1, round(min(amount / most, 1.0) * width * 8))
    whole, part = divmod(eighths, 8)
    return _FULL * whole + _EIGHTHS[part].strip()
