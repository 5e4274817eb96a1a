"""history and diff: what became of entries over time."""

from typing import Annotated

import typer
from rich.text import Text

from lavagna import Difference, Entry, Kind
from lavagna.values import JsonText
from lavagna_cli import contents, documents, moments, values
from lavagna_cli.arguments import Key, KindChoice, Pattern
from lavagna_cli.command import ENTRIES, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.jsontext import Document
from lavagna_cli.layout import Cells, Column
from lavagna_cli.listing import Listing, first
from lavagna_cli.screen import CHANGE_STYLES, Screen

app = typer.Typer()

_LINE_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@command(
    app,
    panel=ENTRIES,
    example="""
    lavagna history plan/goal
    lavagna history effort/@ada --kind claim
    """,
)
async def history(
    invocation: Invocation,
    key: Key,
    *,
    limit: Annotated[
        int | None, typer.Option(help="At most this many versions.", metavar="COUNT", min=1)
    ] = None,
    kind: KindChoice = Kind.NOTE,
) -> None:
    """List the versions of an entry, newest first, deletions included."""
    async with invocation.board() as board:
        versions = first(board.history(key, kind=kind), limit)
        await _VERSIONS.show(invocation.screen, versions, {"key": key})


def _version(entry: Entry) -> Cells:
    return (
        str(entry.version),
        str(entry.revision),
        moments.shown(entry.committed_at),
        values.printable(entry.author),
        Text(entry.change, CHANGE_STYLES[entry.change]),
        _content(entry),
    )


def _content(entry: Entry) -> str:
    said, ground = contents.said(entry), contents.ground(entry)
    return f"{said}  [{ground}]" if ground else said


_VERSIONS = Listing(
    "versions",
    (
        Column("VERSION", "bold", right=True),
        Column("REVISION", "cyan", right=True),
        Column("COMMITTED", "dim"),
        Column("AUTHOR", "magenta"),
        Column("CHANGE"),
        Column("VALUE", fills=True),
    ),
    _version,
    nothing="It was never written.",
    document=documents.entry,
)


@command(
    app,
    panel=ENTRIES,
    example="""
    lavagna diff plan/goal 10 12
    lavagna diff 'plan/**' 10
    """,
)
async def diff(
    invocation: Invocation,
    pattern: Pattern,
    from_revision: Annotated[
        int,
        typer.Argument(metavar="FROM", help="The revision to compare from; 0 is empty.", min=0),
    ],
    to_revision: Annotated[
        int,
        typer.Argument(
            metavar="TO",
            show_default=False,
            help="The revision to compare to; the newest if left out.",
        ),
    ] = 0,
) -> None:
    """Show how entries differ between two revisions, as a unified diff."""
    async with invocation.board() as board:
        differences = await board.diff(pattern, from_revision, to_revision)
    screen = invocation.screen
    if screen.is_json:
        screen.document({"differences": [_document(each) for each in differences]})
        return
    for difference in differences:
        _show(screen, difference)
    if not differences:
        screen.remark("No difference.")


def _document(difference: Difference) -> Document:
    before, after = difference.before, difference.after
    return {
        "key": difference.key,
        "before": documents.entry(before) if before else None,
        "after": documents.entry(after) if after else None,
        "merge": JsonText(difference.merge_json) if difference.merge_json else None,
        "unified": difference.unified,
    }


def _without_lines(difference: Difference) -> str:
    """Why there is no diff of lines."""
    before, after = difference.before, difference.after
    if before is not None and after is not None and before.value == after.value:
        return "the values are the same"
    return "the values are bytes, or too large to compare line by line"


def _show(screen: Screen, difference: Difference) -> None:
    versions = " → ".join(
        f"version {each.version} by {values.printable(each.author)}" if each else "nothing"
        for each in (difference.before, difference.after)
    )
    screen.line(Text.assemble((values.printable(difference.key), "bold"), f"  {versions}"))
    if not difference.unified:
        screen.line(Text(f"  {_without_lines(difference)}", "dim"))
        return
    for line in difference.unified.rstrip("\n").split("\n"):
        screen.line(Text(values.printable(line, keep="\t"), _LINE_STYLES.get(line[:1], "")))
