"""Lists that may be long: printed while they arrive, page by page."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from lavagna_cli import documents
from lavagna_cli.jsontext import Document, dumped
from lavagna_cli.layout import Cells, Column, Layout
from lavagna_cli.options import Format
from lavagna_cli.screen import Screen

T = TypeVar("T")

_ROWS_AT_ONCE = 100
"""So many rows of a table are laid out together."""


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """How a list of things is printed."""

    name: str
    """The member of the JSON document that holds the things."""
    columns: Sequence[Column]
    row: Callable[[T], Cells]
    nothing: str
    """What to say on standard error when there is none."""
    document: Callable[[T], Document] = documents.of
    """What a thing looks like as JSON."""

    async def show(
        self, screen: Screen, things: AsyncIterator[T], head: Mapping[str, Document] | None = None
    ) -> None:
        """Prints the things as they come; as JSON they are one document, which begins with `head`.

        When their source fails halfway, what was printed stays, and the document is left open.
        """
        if screen.is_json:
            await self._show_json(screen, things, head or {})
        elif screen.format is Format.TEXT:
            async for block in _blocks(things):
                screen.bare(map(self.row, block))
                screen.flush()
        else:
            await self._show_table(screen, things)

    async def _show_json(
        self, screen: Screen, things: AsyncIterator[T], head: Mapping[str, Document]
    ) -> None:
        opening = dumped({**head, self.name: []}).removesuffix("]}")
        before = opening
        async for block in _blocks(things):
            for thing in block:
                screen.raw((before + dumped(self.document(thing))).encode())
                before = ", "
            screen.flush()
        screen.raw((opening if before == opening else "").encode() + b"]}\n")

    async def _show_table(self, screen: Screen, things: AsyncIterator[T]) -> None:
        layout = Layout.of(self.columns, screen.out)
        is_empty = True
        async for block in _blocks(things):
            rows = [self.row(thing) for thing in block]
            layout = layout.suiting(rows)
            if is_empty:
                screen.lines(layout.header())
            is_empty = False
            screen.lines(line for row in rows for line in layout.lines(row))
        if is_empty:
            screen.remark(self.nothing)


async def first(things: AsyncIterator[T], count: int | None) -> AsyncIterator[T]:
    """The first so many things; all without a count."""
    left = count
    async for thing in things:
        yield thing
        if left is not None:
            left -= 1
            if not left:
                return


async def _blocks(things: AsyncIterator[T]) -> AsyncIterator[list[T]]:
    block: list[T] = []
    async for thing in things:
        block.append(thing)
        if len(block) == _ROWS_AT_ONCE:
            yield block
            block = []
    if block:
        yield block
