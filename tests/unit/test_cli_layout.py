"""The layout of tables: what gives way where room is short, and what never does."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from lavagna_cli.layout import Cells, Column, Layout

COLUMNS = (
    Column("KEY", folds=True),
    Column("VERSION", right=True),
    Column("AUTHOR"),
    Column("COMMITTED"),
    Column("VALUE", fills=True),
)


def terminal(width: int) -> Console:
    """A terminal of this width."""
    return Console(file=io.StringIO(), force_terminal=True, width=width)


def row(key: str = "notes/item-1", value: str = "x") -> Cells:
    """A row of an ordinary list."""
    return (key, "1", "ada", "2026-03-01 09:00:00", value)


def shown(console: Console, *rows: Cells) -> list[str]:
    """The lines of a table of these rows."""
    layout = Layout.of(COLUMNS, console).suiting(rows)
    lines = [*layout.header(), *(line for each in rows for line in layout.lines(each))]
    return ["".join(text for text, _style in line) for line in lines]


def test_a_table_is_as_narrow_as_its_cells() -> None:
    assert shown(terminal(80), row()) == [
        "KEY          VERSION AUTHOR COMMITTED           VALUE",
        "notes/item-1       1 ada    2026-03-01 09:00:00 x",
    ]


@pytest.mark.parametrize("width", [80, 60])
def test_a_long_value_leaves_the_other_columns_their_room(width: int) -> None:
    for length in (70, 180, 100_000):
        header, line = shown(terminal(width), row(value="x" * length))

        assert header.split() == ["KEY", "VERSION", "AUTHOR", "COMMITTED", "VALUE"]
        assert line.split()[:3] == ["notes/item-1", "1", "ada"]
        assert line.endswith("x…")
        assert cell_len(line) == width


def test_other_text_is_cut_before_a_key_is_folded() -> None:
    header, line = shown(terminal(50), row(value="x" * 70))

    assert header.split() == ["KEY", "VERSION", "AUTHOR", "COMMITTED", "VALUE"]
    assert line.split() == ["notes/item-1", "1", "ada", "2026-03-01", "0…", "xxxxxxx…"]


def test_a_key_is_folded_at_last_and_whole_even_then() -> None:
    key = "notes/" + "日本" * 20
    _, *lines = shown(terminal(60), row(key, "x" * 70))

    assert "".join(line.split()[0] for line in lines) == key
    assert max(map(cell_len, lines)) <= 60
    assert lines[0].endswith("xxxxxxx…")


def test_what_cannot_fit_is_still_all_there() -> None:
    header, *_ = shown(terminal(10), row(value="x" * 70))

    assert header.split() == ["KEY", "VERSION", "AUTHOR", "COMMITTED", "VALUE"]


def test_a_pipe_gets_everything_but_a_huge_value() -> None:
    pipe = Console(file=io.StringIO(), width=40)
    _, line = shown(pipe, row("k" * 300, "x" * 1_000))

    assert line.split() == ["k" * 300, "1", "ada", "2026-03-01", "09:00:00", "x" * 199 + "…"]


def test_later_rows_widen_a_column_and_never_narrow_it() -> None:
    layout = Layout.of(COLUMNS, terminal(80)).suiting([row("a/1", "x" * 70)])
    wider = layout.suiting([row("a/1000", "y")])
    same = wider.suiting([row("b", "z")])

    assert (layout.widths[0], wider.widths[0]) == (3, 6)
    assert same.widths == wider.widths
    assert sum(wider.widths) == sum(layout.widths)


def test_text_to_read_is_folded_between_words_and_keeps_its_colour() -> None:
    columns = (Column("", "bold", folds=True), Column("", wraps=True))
    rows = [("what", Text("one two three four five six", "red"))]
    layout = Layout.of(columns, terminal(20)).suiting(rows)

    assert list(layout.header()) == []
    assert list(layout.lines(rows[0])) == [
        [("what ", "bold"), ("one two three", "red")],
        [("     ", "bold"), ("four five six", "red")],
    ]


def test_what_stays_is_never_cut_where_others_are() -> None:
    columns = (Column("GROUP"), Column("", stays=True))
    row = ("small-models-of-one-maker", "█" * 10)
    layout = Layout.of(columns, terminal(20)).suiting([row])
    [line] = layout.lines(row)

    assert "".join(text for text, _ in line) == "small-mo… " + "█" * 10
