"""Numbers from 0 to 1, and what is refused in their place."""

from __future__ import annotations

from lavagna_server.domain.errors import Invalid


def check_share(number: float, *, field: str) -> float:
    """The number, as given.

    Raises:
        Invalid: It is NaN, or outside 0 to 1.
    """
    if not 0.0 <= number <= 1.0:
        raise Invalid(field, f"must be a number from 0 to 1, not {number}")
    return number
