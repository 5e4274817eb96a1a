"""Bars: lengths that tell numbers apart, down to an eighth of a character."""

import pytest

from lavagna_cli.bars import WIDTH, bar


@pytest.mark.parametrize(
    ("amount", "most", "drawn"),
    [
        (4.0, 4.0, "████"),
        (2.0, 4.0, "██"),
        (0.5, 4.0, "▌"),
        (2.5, 4.0, "██▌"),
        (9.0, 4.0, "████"),
        (0.0, 4.0, ""),
        (0.0, 0.0, ""),
    ],
)
def test_a_bar_is_as_long_as_its_share_of_the_most(amount: float, most: float, drawn: str) -> None:
    assert bar(amount, most, width=4) == drawn


def test_what_is_not_nothing_shows_as_something() -> None:
    assert bar(1e-9, 1.0) == "▏"


def test_a_bar_is_never_wider_than_its_width() -> None:
    assert max(len(bar(amount / 97, 1.0)) for amount in range(98)) == WIDTH
