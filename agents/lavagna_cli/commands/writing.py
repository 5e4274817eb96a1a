"""put, rm, revert: the commands that change entries."""

from shlex import quote
from typing import Annotated

import typer

from lavagna import ChangeType, Kind, Written
from lavagna_cli import documents, values
from lavagna_cli.arguments import (
    AsData,
    AsJson,
    AsText,
    Confidence,
    Expect,
    Key,
    Overwrite,
    SourceNames,
    StoredValue,
    Tags,
    Ttl,
)
from lavagna_cli.command import ENTRIES, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.screen import Screen

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
    value: StoredValue,
    *,
    as_json: AsJson = False,
    as_text: AsText = False,
    as_data: AsData = False,
    expect: Expect = None,
    overwrite: Overwrite = False,
    tag: Tags = None,
    confidence: Confidence = None,
    source: SourceNames = None,
    ttl: Ttl = None,
) -> None:
    """Store a value under a key.

    Without --json, --text or --data it is JSON if it parses as JSON, else text (with a warning where
    it begins like JSON), else (when it is not UTF-8) bytes; it is kept byte for byte. To replace an
    entry, say which version you saw with --expect, or --overwrite.

    In a region where others have a say it becomes a proposal or a claim, and the answer names that.
    """
    form = values.form_said(as_json=as_json, as_text=as_text, as_data=as_data)
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
    values.warn_of_text(invocation.screen.remark, content, form)


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


def _show(screen: Screen, written: Written) -> None:
    """What a write came to; bare text is the new version, for the next --expect.

    Where others have a say it is the key of what the write became, for the next command.
    """
    key = values.printable(written.key)
    is_note = written.kind is Kind.NOTE
    screen.done(
        documents.of(written),
        bare=str(written.version) if is_note else key,
        remark=f"{_became(written, key)}, at revision {written.revision}",
    )
    if written.kind is Kind.PROPOSAL and written.exists:
        screen.remark(f"See how it stands: lavagna proposals get {quote(written.key)}")
    elif written.kind is Kind.CLAIM:
        screen.remark(f"See what it came to: lavagna explain {quote(_claimed(written.key))}")


def _became(written: Written, key: str) -> str:
    match written.kind, written.change:
        case Kind.PROPOSAL, ChangeType.DECIDED:
            return f"Proposed as {key} and decided at once"
        case Kind.PROPOSAL, _:
            return f"Proposed as {key}, which waits for votes"
        case Kind.CLAIM, ChangeType.DELETED:
            return f"Withdrew your claim {key}"
        case Kind.CLAIM, _:
            return f"Claimed as {key}, version {written.version}"
        case _:
            return f"{key} is at version {written.version}, {written.change}"


def _claimed(claim_key: str) -> str:
    """What a claim is about."""
    return claim_key.rpartition("/")[0]
