"""The screen: what goes to standard output, in the format that was asked for.

Standard output carries the answer and nothing else; remarks go to standard error. Colours appear on
a terminal only, and not there when NO_COLOR is set.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from lavagna import ChangeType
from lavagna_cli.jsontext import Document, dumped
from lavagna_cli.layout import Cells, Column, Layout, Line
from lavagna_cli.options import Format

CHANGE_STYLES = {
    ChangeType.CREATED: "green",
    ChangeType.UPDATED: "yellow",
    ChangeType.DELETED: "red",
    ChangeType.EXPIRED: "red",
    ChangeType.PROPOSED: "cyan",
    ChangeType.DECIDED: "magenta",
    ChangeType.UNKNOWN: "",
}
"""The colour of each type of change, the same in every command."""

_PROPERTY = (Column("", "bold", folds=True), Column("", wraps=True))


@dataclass(frozen=True, slots=True)
class Rows:
    """A list in a form that prints as a table or as bare text."""

    columns: Sequence[Column]
    rows: Sequence[Cells]
    nothing: str = "Nothing."
    """What to say on standard error when there are no rows."""


@dataclass(slots=True)
class Screen:
    """Prints answers to standard output and remarks to standard error."""

    format: Format | None
    out: Console = field(default_factory=lambda: console(stderr=False))
    err: Console = field(default_factory=lambda: console(stderr=True))

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
            self.bare(rows.rows)
        elif rows.rows:
            self.table(rows)
        else:
            self.remark(rows.nothing)

    def table(self, rows: Rows) -> None:
        """Prints a table, which may be one of several parts of an answer."""
        layout = Layout.of(rows.columns, self.out).suiting(rows.rows)
        self.lines(layout.header())
        self.lines(line for row in rows.rows for line in layout.lines(row))

    def paragraph(self, text: str | Text, *, indent: int = 0) -> None:
        """Prints a text to read in full; a terminal gets it wrapped between words."""
        margin, body = Column(""), Column("", wraps=True)
        if indent:
            self.table(Rows([margin, body], [(" " * (indent - 1), text)]))
        else:
            self.table(Rows([body], [(text,)]))

    def gap(self) -> None:
        """Prints an empty line, between the parts of an answer."""
        self.line(Text())

    def properties(self, document: Document, properties: Mapping[str, str | Text]) -> None:
        """Prints one thing: as the document when JSON was asked for, else a line per property."""
        pairs = [(name, value) for name, value in properties.items() if value]
        self.rows(document, Rows(_PROPERTY, pairs))

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

    def bare(self, rows: Iterable[Cells]) -> None:
        """Prints rows as bare text: cells whole, with tabs between them."""
        for row in rows:
            self.raw("\t".join(str(cell) for cell in row).encode() + b"\n")

    def lines(self, lines: Iterable[Line]) -> None:
        """Prints lines of a table, at once."""
        text = Text()
        for line in lines:
            text.append_tokens((piece, style or None) for piece, style in [*line, ("\n", "")])
        self.out.print(text, soft_wrap=True, end="")
        self.flush()

    def flush(self) -> None:
        """Hands everything printed to the operating system, so that a failure shows now."""
        sys.stdout.flush()


class _Console(Console):
    """A console that tells of a reader who has left as any other file does."""

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 (called while the error is handled; rich would end the process)


def console(*, stderr: bool) -> Console:
    """A console on standard output or standard error that changes nothing of what is printed."""
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False)
