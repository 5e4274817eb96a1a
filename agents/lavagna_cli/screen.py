"""The screen: what goes to standard output, in the format that was asked for.

Standard output carries the answer and nothing else; remarks go to standard error. Colours appear on
a terminal only, and not there when NO_COLOR is set.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lavagna import ChangeType
from lavagna_cli.jsontext import Document, dumped
from lavagna_cli.options import Format
from lavagna_cli.values import shortened

CHANGE_STYLES = {
    ChangeType.CREATED: "green",
    ChangeType.UPDATED: "yellow",
    ChangeType.DELETED: "red",
    ChangeType.EXPIRED: "red",
    ChangeType.UNKNOWN: "",
}
"""The colour of each type of change, the same in every command."""

_WIDTH_WHEN_PIPED = 1_000_000
"""A table in a pipe wraps nothing; only what fills the rest of a line is cut short."""

_FILLING_LENGTH_MAX = 200
"""A table is for people; bare text and JSON have everything in full."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    style: str = ""
    right: bool = False
    fills: bool = False
    """Takes the room that is left, and is cut short there; bare text has it in full."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A list in a form that prints as a table or as bare text."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Text]]
    nothing: str = "Nothing."
    """What to say on standard error when there are no rows."""


@dataclass(slots=True)
class Screen:
    """Prints answers to standard output and remarks to standard error."""

    format: Format | None
    out: Console = field(default_factory=lambda: _console(stderr=False))
    err: Console = field(default_factory=lambda: _console(stderr=True))

    @property
    def is_json(self) -> bool:
        """Whether standard output is to hold JSON only."""
        return self.format is Format.JSON

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads standard output."""
        return self.out.is_terminal

    def document(self, document: Document) -> None:
        """Prints one JSON document on a line of its own, at once."""
        self.raw(dumped(document).encode() + b"\n")
        self.flush()

    def raw(self, content: bytes) -> None:
        """Prints bytes as they are."""
        sys.stdout.flush()
        sys.stdout.buffer.write(content)

    def rows(self, document: Document, rows: Rows) -> None:
        """Prints a list: as the document when JSON was asked for, else as a table or bare text."""
        if self.is_json:
            self.document(document)
        elif self.format is Format.TEXT:
            for row in rows.rows:
                self.raw("\t".join(str(cell) for cell in row).encode() + b"\n")
        elif rows.rows:
            self._table(rows)
        else:
            self.remark(rows.nothing)

    def properties(self, document: Document, properties: Mapping[str, str | Text]) -> None:
        """Prints one thing: as the document when JSON was asked for, else a line per property."""
        pairs = [(name, value) for name, value in properties.items() if value]
        self.rows(document, Rows((Column("", "bold"), Column("")), pairs))

    def line(self, line: Text) -> None:
        """Prints a line for people, at once; a pipe gets it whole."""
        self.out.print(line, soft_wrap=True)
        self.flush()

    def done(self, document: Document, *, bare: str, remark: str) -> None:
        """Reports success: as the document, as bare text, or as a line for people."""
        if self.is_json:
            self.document(document)
        else:
            self.line(Text(bare if self.format is Format.TEXT else remark))

    def remark(self, remark: str) -> None:
        """Tells a person something on standard error; a program that asked for JSON is spared it."""
        if not self.is_json:
            self.err.print(Text(remark, "dim"), soft_wrap=True)

    def _table(self, rows: Rows) -> None:
        if self.is_terminal:
            self.out.print(_table(rows))
            return
        with self.out.capture() as printed:
            self.out.print(_table(rows))
        for line in printed.get().splitlines():
            self.raw(line.rstrip().encode() + b"\n")

    def flush(self) -> None:
        """Hands everything printed to the operating system, so that a failure shows now."""
        sys.stdout.flush()


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH_WHEN_PIPED
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def _table(rows: Rows) -> Table:
    table = Table(box=None, pad_edge=False, show_header=any(c.title for c in rows.columns))
    for column in rows.columns:
        table.add_column(
            column.title,
            style=column.style,
            header_style="bold",
            justify="right" if column.right else "left",
            overflow="ellipsis" if column.fills else "fold",
            no_wrap=column.fills,
        )
    for row in rows.rows:
        cells = zip(rows.columns, row, strict=True)
        table.add_row(*(_cell(column, content) for column, content in cells))
    return table


def _cell(column: Column, content: str | Text) -> Text:
    if isinstance(content, Text):
        return content
    return Text(shortened(content, _FILLING_LENGTH_MAX) if column.fills else content)
