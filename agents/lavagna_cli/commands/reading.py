"""get and ls: the commands that read entries."""

from typing import Annotated

import typer

from lavagna import Entry, Kind
from lavagna_cli import completion, contents, documents, moments, values
from lavagna_cli.arguments import At, Key, KindChoice, Tags
from lavagna_cli.command import ENTRIES, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.layout import Cells, Column
from lavagna_cli.listing import Listing
from lavagna_cli.options import Format
from lavagna_cli.screen import Screen
from lavagna_cli.values import Form

app = typer.Typer()


@command(
    app,
    panel=ENTRIES,
    example="""
    lavagna get plan/goal
    lavagna get plan/goal --at 12 -o json
    lavagna get report.pdf > report.pdf
    """,
)
async def get(
    invocation: Invocation, key: Key, *, at: At = None, kind: KindChoice = Kind.NOTE
) -> None:
    """Print the value of an entry, byte for byte.

    With -o table or -o json: with its version, author, time and labels.
    """
    async with invocation.board() as board:
        entry = await board.get(key, at=at, kind=kind)
    screen = invocation.screen
    if screen.format in {Format.TABLE, Format.JSON}:
        screen.properties(documents.entry(entry), _properties(entry))
    else:
        _print_value(screen, entry)


def _print_value(screen: Screen, entry: Entry) -> None:
    """Gives a pipe the exact bytes, and a terminal nothing that it would obey."""
    if not screen.is_terminal:
        screen.raw(values.stored(entry))
    elif values.form_of(entry) is Form.DATA:
        screen.remark(f"{values.shown(entry)}; redirect standard output to get them.")
    else:
        text = values.printable(values.stored(entry).decode(), keep="\n\t")
        screen.raw(text.encode() + b"\n")


def _properties(entry: Entry) -> dict[str, str]:
    return {
        "key": values.printable(entry.key),
        "kind": "" if entry.kind is Kind.NOTE else entry.kind.value,
        "version": f"{entry.version}, {entry.change}",
        "revision": str(entry.revision),
        "author": values.printable(entry.author),
        "committed": moments.shown(entry.committed_at),
        "tags": values.printable(", ".join(entry.tags)),
        "confidence": "" if entry.confidence is None else f"{entry.confidence:g}",
        "sources": values.printable(", ".join(entry.sources)),
        "expires": moments.shown(entry.expires_at),
        "because of": _because_of(entry),
        "rests on": contents.ground(entry),
        "value": values.shown(entry),
    }


def _because_of(entry: Entry) -> str:
    cause = entry.cause
    if cause is None:
        return ""
    return f"{cause.trigger_id}, fired at revision {cause.fired_revision} ({cause.activation_id})"


@command(
    app,
    panel=ENTRIES,
    example="""
    lavagna ls
    lavagna ls 'plan/*/status' --tag ready
    lavagna ls 'plan/**' --at 12 -o json
    lavagna ls --kind claim
    """,
)
async def ls(
    invocation: Invocation,
    pattern: Annotated[
        str,
        typer.Argument(
            metavar="PATTERN",
            help="Which keys: plan/*/status one segment, plan/** any depth; all when left out.",
            autocompletion=completion.keys,
        ),
    ] = "",
    *,
    tag: Tags = None,
    keys: Annotated[bool, typer.Option("--keys", help="Leave the values out.")] = False,
    at: At = None,
    kind: KindChoice = Kind.NOTE,
) -> None:
    """List the entries that match a pattern, in key order, all of one revision."""
    async with invocation.board() as board:
        found = board.entries(pattern, tags=tag or (), at=at, keys_only=keys, kind=kind)
        await _listing(keys_only=keys).show(invocation.screen, found)


def _listing(*, keys_only: bool) -> Listing[Entry]:
    columns = (
        Column("KEY", "bold", folds=True),
        Column("VERSION", right=True),
        Column("REVISION", "cyan", right=True),
        Column("AUTHOR", "magenta"),
        Column("COMMITTED", "dim"),
        Column("TAGS"),
        Column("VALUE", fills=True),
    )
    kept = len(columns) - keys_only

    def row(entry: Entry) -> Cells:
        return (
            values.printable(entry.key),
            str(entry.version),
            str(entry.revision),
            values.printable(entry.author),
            moments.shown(entry.committed_at),
            values.printable(",".join(entry.tags)),
            contents.said(entry),
        )[:kept]

    return Listing("entries", columns[:kept], row, "No entry matches.", documents.entry)
