"""put, rm, revert: the commands that change entries."""

from typing import Annotated

import typer

from lavagna import Written
from lavagna_cli import documents, values
from lavagna_cli.arguments import Expect, Key, Overwrite, Tags, Ttl
from lavagna_cli.command import ENTRIES, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.screen import Screen
from lavagna_cli.values import Form

app = typer.Typer()


@command(
    app,
    panel=ENTRIES,
    example="""
    lavagna put plan/goal '{"status": "ready"}'
    lavagna put plan/goal @goal.json --expect 3
    git diff | lavagna put review/diff - --text --tag review
    lavagna put temperature -- -5
    """,
)
async def put(
    invocation: Invocation,
    key: Key,
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE",
            help="The value; - reads standard input, @FILE a file, @@TEXT a text that begins with @.",
        ),
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Store it as JSON.")] = False,
    as_text: Annotated[bool, typer.Option("--text", help="Store it as text.")] = False,
    as_data: Annotated[bool, typer.Option("--data", help="Store it as bytes.")] = False,
    expect: Expect = None,
    overwrite: Overwrite = False,
    tag: Tags = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="How sure you are, from 0 to 1.", metavar="SHARE", min=0, max=1),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(help="Where the value comes from; may be given again.", metavar="SOURCE"),
    ] = None,
    ttl: Ttl = None,
) -> None:
    """Store a value under a key.

    Without --json, --text or --data it is JSON if it parses as JSON, else text (with a warning where
    it begins like JSON), else (when it is not UTF-8) bytes; it is kept byte for byte. To replace an entry, say which version you saw with
    --expect, or --overwrite.
    """
    form = _form(as_json=as_json, as_text=as_text, as_data=as_data)
    content = values.read(value, form)
    async with invocation.board() as board:
        written = await board.put(
            key,
            content,
            expected_version=expect,
            overwrite=overwrite,
            tags=tag or (),
            confidence=confidence,
            sources=source or (),
            ttl=ttl,
        )
    _show(invocation.screen, written)
    if form is None and isinstance(content, str) and values.begins_like_json(content):
        invocation.screen.remark(
            "It begins like JSON but does not parse, so it is kept as text."
            " Pass --text if it is meant so, or --json to have such a value refused."
        )


@command(
    app,
    panel=ENTRIES,
    example="""
    lavagna rm plan/goal --expect 4
    lavagna rm scratch/notes --overwrite
    """,
)
async def rm(
    invocation: Invocation, key: Key, *, expect: Expect = None, overwrite: Overwrite = False
) -> None:
    """Delete an entry; its history stays."""
    async with invocation.board() as board:
        written = await board.delete(key, expected_version=expect, overwrite=overwrite)
    _show(invocation.screen, written)


@command(app, panel=ENTRIES, example="lavagna revert plan/goal 2 --expect 4")
async def revert(
    invocation: Invocation,
    key: Key,
    version: Annotated[
        int,
        typer.Argument(
            metavar="VERSION", help="The version to write again; see `lavagna history`.", min=1
        ),
    ],
    *,
    expect: Expect = None,
    overwrite: Overwrite = False,
) -> None:
    """Write an older version of an entry again, as a new version."""
    async with invocation.board() as board:
        written = await board.revert(key, version, expected_version=expect, overwrite=overwrite)
    _show(invocation.screen, written)


def _form(*, as_json: bool, as_text: bool, as_data: bool) -> Form | None:
    asked = [
        form
        for form, said in ((Form.JSON, as_json), (Form.TEXT, as_text), (Form.DATA, as_data))
        if said
    ]
    if len(asked) > 1:
        raise typer.BadParameter("Pass only one of --json, --text and --data.")
    return asked[0] if asked else None


def _show(screen: Screen, written: Written) -> None:
    """What a write came to; bare text is the new version, for the next --expect."""
    screen.done(
        documents.of(written),
        bare=str(written.version),
        remark=f"{values.printable(written.key)} is at version {written.version}, "
        f"{written.change}, at revision {written.revision}",
    )
