"""claim, claims, resolve: what agents hold to be true, and what turned out to be."""

from typing import Annotated

import typer

from lavagna import Claimed, Entry, Resolved
from lavagna_cli import contents, documents, moments, values
from lavagna_cli.arguments import (
    AsData,
    AsJson,
    AsText,
    At,
    Confidence,
    Key,
    SourceNames,
    StoredValue,
    Tags,
    Ttl,
)
from lavagna_cli.command import CONSENSUS, Scope, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.layout import Cells, Column
from lavagna_cli.listing import Listing

app = typer.Typer()


@command(
    app,
    scope=Scope.BOARD,
    panel=CONSENSUS,
    example="""
    lavagna claim effort 8 --confidence 0.7
    lavagna claim weather rain --confidence 0.9 --ttl 1h
    """,
)
async def claim(
    invocation: Invocation,
    key: Key,
    value: StoredValue,
    *,
    as_json: AsJson = False,
    as_text: AsText = False,
    as_data: AsData = False,
    tag: Tags = None,
    confidence: Confidence = None,
    source: SourceNames = None,
    ttl: Ttl = None,
) -> None:
    """State what you hold to be true about a key, and print what all claims come to.

    Any write there claims; this one refuses where claims are not merged. It takes the place of your
    earlier claim, and conflicts with nobody's. The value is read as by `lavagna put`.
    """
    form = values.form_said(as_json=as_json, as_text=as_text, as_data=as_data)
    content = values.read(value, form)
    async with invocation.board() as board:
        claimed = await board.claim(
            key,
            content,
            tags=tag or (),
            confidence=confidence,
            sources=source or (),
            ttl=ttl,
        )
    invocation.screen.done(
        documents.of(claimed), bare=values.shown(claimed.merged), remark=_claimed(claimed)
    )
    values.warn_of_text(invocation.screen.remark, content, form)


@command(
    app,
    scope=Scope.BOARD,
    panel=CONSENSUS,
    example="""
    lavagna claims effort
    lavagna claims effort --at 12 -o json
    """,
)
async def claims(invocation: Invocation, key: Key, *, at: At = None) -> None:
    """List the live claims about a key, by agent; `lavagna explain` says what each counts."""
    async with invocation.board() as board:
        await _CLAIMS.show(invocation.screen, board.claims.list(key, at=at), {"key": key})


@command(
    app,
    scope=Scope.BOARD,
    panel=CONSENSUS,
    example="""
    lavagna resolve effort 9 --tolerance 1
    lavagna resolve weather sun
    """,
)
async def resolve(
    invocation: Invocation,
    key: Key,
    value: StoredValue,
    *,
    as_json: AsJson = False,
    as_text: AsText = False,
    as_data: AsData = False,
    tolerance: Annotated[
        float,
        typer.Option(
            help="How far from it a claimed number may lie and still be right.",
            metavar="NUMBER",
            min=0,
            show_default=False,
        ),
    ] = 0.0,
) -> None:
    """Say what turned out to be true: the claims about the key end, and who was right is learnt.

    From then on, what an agent's stated confidence counts follows from how its claims fared. The
    region's owner and administrators.
    """
    form = values.form_said(as_json=as_json, as_text=as_text, as_data=as_data)
    content = values.read(value, form)
    async with invocation.board() as board:
        resolved = await board.claims.resolve(key, content, tolerance=tolerance)
    invocation.screen.done(
        documents.of(resolved), bare=str(resolved.entry.version), remark=_resolved(resolved)
    )
    values.warn_of_text(invocation.screen.remark, content, form)


def _claimed(claimed: Claimed) -> str:
    claim, merged = claimed.claim, claimed.merged
    return (
        f"You claim {contents.said(claim)}; {values.printable(merged.key)} is"
        f" {values.shown(merged)} at version {merged.version}, {contents.ground(merged)}"
    )


def _resolved(resolved: Resolved) -> str:
    entry = resolved.entry
    verdicts = (
        f"; {name}: {values.printable(', '.join(agents))}"
        for name, agents in (("right", resolved.right), ("wrong", resolved.wrong))
        if agents
    )
    is_now = f"{values.printable(entry.key)} is {values.shown(entry)}, version {entry.version}"
    return is_now + "".join(verdicts)


def _row(claim: Entry) -> Cells:
    return (
        values.printable(claim.author),
        contents.share(claim.confidence),
        str(claim.version),
        moments.to_the_minute(claim.committed_at),
        moments.to_the_minute(claim.expires_at),
        values.printable(",".join(claim.tags)),
        values.shown(claim),
    )


_CLAIMS = Listing(
    "claims",
    (
        Column("AGENT", "bold", folds=True),
        Column("SURE", right=True),
        Column("VERSION", right=True),
        Column("CLAIMED", "dim"),
        Column("UNTIL", "dim"),
        Column("TAGS"),
        Column("VALUE", fills=True),
    ),
    _row,
    nothing="Nobody claims anything about it.",
    document=documents.entry,
)
