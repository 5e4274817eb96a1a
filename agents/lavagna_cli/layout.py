"""The layout of a table: how wide its columns are, and the lines that a row comes to.

A long list is laid out page by page, so that it is printed as it arrives; its columns only ever
become wider. On a terminal what is too long is cut short or folded; a pipe gets it whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.text import Text

from lavagna_cli.values import shortened

_GAP = " "
_FILLING_LENGTH_MAX = 200
"""A table is for people; bare text and JSON have everything in full."""
_FILLING_WIDTH_MIN = 8
_CUT_WIDTH_MIN = 6
_FOLDING_WIDTH_MIN = 12

Cells = Sequence[str | Text]
"""A row, with one cell per column."""
Line = list[tuple[str, str]]
"""Pieces of a printed line with their styles."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; where room is short it is cut, unless it says otherwise."""

    title: str
    style: str = ""
    right: bool = False
    """For numbers; they are never cut."""
    fills: bool = False
    """Takes the room that is left, and is the first to be cut; bare text has it in full."""
    folds: bool = False
    """For keys and names that the next command needs: folded when all else is cut, never cut."""
    wraps: bool = False
    """For text to read in full: folded as well, between words."""
    stays: bool = False
    """For what means something else when it is cut, such as a bar."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns that have their widths."""

    columns: Sequence[Column]
    console: Console
    needed: Sequence[int]
    """The widths at which all rows so far would be whole."""
    widths: Sequence[int]
    """The widths that there is room for."""

    @classmethod
    def of(cls, columns: Sequence[Column], console: Console) -> "Layout":
        """The layout of a table that has no rows yet."""
        needed = [cell_len(column.title) for column in columns]
        return cls(columns, console, needed, needed)

    def suiting(self, rows: Iterable[Cells]) -> "Layout":
        """The layout that suits these rows as well, within the width of a terminal."""
        needed = list(self.needed)
        for row in rows:
            for at, cell in enumerate(row):
                needed[at] = max(needed[at], cell_len(_plain(cell, self.columns[at])))
        widths = needed.copy()
        if self.console.is_terminal:
            room = self.console.width - len(_GAP) * (len(widths) - 1)
            _fit(self.columns, widths, room)
        return replace(self, needed=needed, widths=widths)

    def header(self) -> Iterator[Line]:
        """The line of the titles; none when no column has one."""
        if any(column.title for column in self.columns):
            yield from self.lines([Text(column.title, "bold") for column in self.columns])

    def lines(self, row: Cells) -> Iterator[Line]:
        """The row; more than one line only where a cell is folded."""
        styles = [
            str(cell.style) if isinstance(cell, Text) else column.style
            for cell, column in zip(row, self.columns, strict=True)
        ]
        for parts in zip_longest(*map(self._parts, row, self.columns, self.widths), fillvalue=""):
            padded = list(map(_padded, parts, self.columns, self.widths))
            padded = [part + _GAP for part in padded[:-1]] + padded[-1:]
            yield _stripped(list(zip(padded, styles, strict=True)))

    def _parts(self, cell: str | Text, column: Column, width: int) -> list[str]:
        """The cell from above to below; a single part unless it is folded."""
        text = _plain(cell, column)
        if not self.console.is_terminal or cell_len(text) <= width or column.right or column.stays:
            return [text]
        if column.wraps:
            return [part.plain for part in Text(text).wrap(self.console, width, overflow="fold")]
        if column.folds:
            return chop_cells(text, width)
        return [set_cell_size(text, width - 1) + "…"]


def _plain(cell: str | Text, column: Column) -> str:
    text = cell.plain if isinstance(cell, Text) else cell
    return shortened(text, _FILLING_LENGTH_MAX) if column.fills else text


def _padded(text: str, column: Column, width: int) -> str:
    pad = " " * (width - cell_len(text))
    return pad + text if column.right else text + pad


def _stripped(line: Line) -> Line:
    """The line without the blanks at its end."""
    while line and not line[-1][0].strip():
        line.pop()
    if line:
        text, style = line.pop()
        line.append((text.rstrip(), style))
    return line


def _fit(columns: Sequence[Column], widths: list[int], room: int) -> None:
    """Makes the widths fit the room: values give way first, then other text, keys last."""
    filling = [at for at, column in enumerate(columns) if column.fills]
    whole = [at for at, column in enumerate(columns) if column.folds or column.wraps]
    fixed = [at for at, column in enumerate(columns) if column.right or column.stays]
    others = [at for at in range(len(columns)) if at not in {*filling, *whole, *fixed}]
    for group, least in (
        (filling, _FILLING_WIDTH_MIN),
        (others, _CUT_WIDTH_MIN),
        (whole, _FOLDING_WIDTH_MIN),
    ):
        _narrow(widths, {at: max(cell_len(columns[at].title), least) for at in group}, room)


def _narrow(widths: list[int], floors: Mapping[int, int], room: int) -> None:
    """Takes from the widest of these columns, none below its floor, until all fit the room."""
    while sum(widths) > room:
        spare = [at for at, floor in floors.items() if widths[at] > floor]
        if not spare:
            return
        widths[max(spare, key=widths.__getitem__)] -= 1
