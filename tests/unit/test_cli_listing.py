"""Long lists: printed while they arrive, in every format."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable

import pytest

from lavagna_cli.layout import Column
from lavagna_cli.listing import Listing, first
from lavagna_cli.options import Format
from lavagna_cli.screen import Screen

NUMBERS: Listing[int] = Listing(
    "numbers",
    (Column("NUMBER", folds=True), Column("SQUARE", right=True)),
    lambda number: (str(number), str(number**2)),
    nothing="There is no number.",
)


async def coming(numbers: Iterable[int]) -> AsyncIterator[int]:
    """The numbers, as a server gives them."""
    for number in numbers:
        yield number


@pytest.mark.parametrize("form", [None, Format.TEXT, Format.JSON])
async def test_what_has_come_is_printed_before_the_rest_comes(
    form: Format | None, capfd: pytest.CaptureFixture[str]
) -> None:
    reached, going_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[int]:
        for number in range(100):
            yield number
        reached.set()
        await going_on.wait()
        yield 9999

    printing = asyncio.ensure_future(NUMBERS.show(Screen(form), slow()))
    await reached.wait()
    early = capfd.readouterr().out
    going_on.set()
    await printing
    late = capfd.readouterr().out

    assert "98" in early
    assert "9999" not in early
    assert "9999" in late


async def test_json_is_one_document_on_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    for count in (0, 1, 250):
        await NUMBERS.show(Screen(Format.JSON), coming(range(count)), {"key": "é"})
        out = capfd.readouterr().out

        assert out.count("\n") == 1
        assert json.loads(out) == {"key": "é", "numbers": list(range(count))}


async def test_a_source_that_fails_at_once_leaves_nothing_printed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async def failing() -> AsyncIterator[int]:
        async for number in coming([]):
            yield number
        raise LookupError

    for form in (None, Format.TEXT, Format.JSON):
        with pytest.raises(LookupError):
            await NUMBERS.show(Screen(form), failing())

    assert capfd.readouterr() == ("", "")


async def test_an_empty_list_says_so_to_people(capfd: pytest.CaptureFixture[str]) -> None:
    await NUMBERS.show(Screen(None), coming([]))

    assert capfd.readouterr() == ("", "There is no number.\n")


async def test_the_first_are_as_many_as_were_asked_for() -> None:
    async def taken(count: int | None) -> list[int]:
        return [number async for number in first(coming(range(5)), count)]

    assert await taken(2) == [0, 1]
    assert await taken(9) == await taken(None) == [0, 1, 2, 3, 4]
