"""regions: subtrees of the shared space with rules of their own."""

import json
from datetime import timedelta
from typing import Annotated, Any, cast

import typer

from lavagna import Policy, Region, Retention
from lavagna.values import JsonText
from lavagna_cli import documents, regionwords, values
from lavagna_cli.arguments import Yes, confirmed
from lavagna_cli.choices import one_of
from lavagna_cli.command import Scope, command
from lavagna_cli.durations import duration, spelt
from lavagna_cli.invocation import Invocation
from lavagna_cli.layout import Column
from lavagna_cli.regionspecs import (
    Approvals,
    Deadline,
    GroupCap,
    GroupsMin,
    MergeRules,
    Reconcilers,
    Share,
    Terms,
    Threshold,
    VoterNames,
)
from lavagna_cli.screen import Rows, Screen
from lavagna_cli.values import Form

app = typer.Typer(no_args_is_help=True)

RegionPath = Annotated[
    str, typer.Argument(metavar="PATH", help="The key at the root of the region.")
]
Owner = Annotated[
    str,
    typer.Option(
        help="Who may always read, write and change it: AGENT or team:TEAM.", metavar="WHO"
    ),
]
Readers = Annotated[
    list[str] | None,
    typer.Option(help="Who may read: AGENT, team:TEAM or *; everyone if left out.", metavar="WHO"),
]
Writers = Annotated[
    list[str] | None,
    typer.Option(help="Who may write: AGENT, team:TEAM or *; everyone if left out.", metavar="WHO"),
]
PolicyChoice = Annotated[
    Policy,
    one_of(
        Policy,
        explained="What a write comes to: it needs the version seen (guarded), the last one wins,"
        " the owner decides, the voters decide (quorum), claims are merged (weighted).",
    ),
]
Schema = Annotated[
    str,
    typer.Option(
        help="A JSON Schema that every value must satisfy, so that text is refused; @FILE reads a file.",
        metavar="JSON",
    ),
]
KeepFor = Annotated[
    timedelta | None,
    typer.Option(
        help="Give up superseded versions older than this.", metavar="DURATION", parser=duration
    ),
]
KeepVersions = Annotated[
    int,
    typer.Option(
        help="Keep at most this many versions of an entry; all if left out.",
        metavar="COUNT",
        min=0,
        show_default=False,
    ),
]
RegionVersion = Annotated[
    int,
    typer.Option(
        help="Only if the region is still at this version.", metavar="VERSION", show_default=False
    ),
]


@command(app, name="list", scope=Scope.BOARD, example="lavagna regions list")
async def list_(invocation: Invocation) -> None:
    """List the regions that you may read, by path."""
    async with invocation.board() as board:
        found = await board.regions.list()
    columns = [
        Column("PATH", "bold", folds=True),
        Column("POLICY"),
        Column("HOW", wraps=True),
        Column("OWNER", "magenta"),
        Column("READERS"),
        Column("WRITERS"),
        Column("SCHEMA"),
    ]
    rows = [
        (
            values.printable(each.path),
            each.policy.value,
            regionwords.shortly(each),
            each.owner,
            ",".join(each.readers) or "everyone",
            ",".join(each.writers) or "everyone",
            "" if each.schema is None else "yes",
        )
        for each in found
    ]
    document = {"regions": [documents.of(each) for each in found]}
    invocation.screen.rows(document, Rows(columns, rows, nothing="There is no region."))


@command(app, scope=Scope.BOARD, example="lavagna regions get plan")
async def get(invocation: Invocation, path: RegionPath) -> None:
    """Show the rules of a region."""
    async with invocation.board() as board:
        _show(invocation.screen, await board.regions.get(path))


@command(
    app,
    name="set",
    scope=Scope.BOARD,
    example="""
    lavagna regions set plan --owner cto --writer cto --writer team:leads
    lavagna regions set status --policy latest --schema @status.schema.json --keep-versions 100
    lavagna regions set design --policy quorum --voter ada --voter bob:2 --voter cto:1:veto --share 0.6
    lavagna regions set effort --policy weighted --owner ceo --merge number=mean --merge field:days=median
    """,
)
async def set_(
    invocation: Invocation,
    path: RegionPath,
    *,
    owner: Owner = "",
    reader: Readers = None,
    writer: Writers = None,
    policy: PolicyChoice = Policy.GUARDED,
    schema: Schema = "",
    keep_for: KeepFor = None,
    keep_versions: KeepVersions = 0,
    voter: VoterNames = None,
    approvals: Approvals = None,
    share: Share = None,
    deadline: Deadline = None,
    groups_min: GroupsMin = None,
    group_cap: GroupCap = None,
    merge: MergeRules = None,
    threshold: Threshold = None,
    reconciler: Reconcilers = None,
    expect: RegionVersion = 0,
) -> None:
    """Create a region, or replace all rules of one."""
    terms = Terms(
        voter, approvals, share, deadline, groups_min, group_cap, merge, threshold, reconciler
    )
    region = Region(
        path=path,
        owner=owner,
        readers=reader or (),
        writers=writer or (),
        policy=policy,
        schema=_schema(schema),
        retention=_retention(keep_for, keep_versions),
        electorate=terms.electorate(policy),
        merging=terms.merging(policy),
        version=expect,
    )
    async with invocation.board() as board:
        _show(invocation.screen, await board.regions.set(region))


@command(app, scope=Scope.BOARD, example="lavagna regions delete plan --yes")
async def delete(invocation: Invocation, path: RegionPath, *, yes: Yes = False) -> None:
    """Delete a region; its entries stay, under the rules of the region around it."""
    confirmed(f"Delete the rules of {path}?", yes=yes)
    async with invocation.board() as board:
        await board.regions.delete(path)
    invocation.screen.done({"deleted": path}, bare=path, remark=f"Deleted the rules of {path}")


def _show(screen: Screen, region: Region) -> None:
    retention = region.retention or Retention()
    age = retention.age_seconds
    screen.properties(
        documents.of(region),
        {
            "path": values.printable(region.path),
            "version": str(region.version),
            "policy": region.policy.value,
            "owner": region.owner,
            **regionwords.properties(region),
            "readers": ", ".join(region.readers) or "everyone",
            "writers": ", ".join(region.writers) or "everyone",
            "keep for": "" if age is None else spelt(timedelta(seconds=age)),
            "keep versions": str(retention.versions_max or ""),
            "schema": "" if region.schema is None else json.dumps(region.schema),
        },
    )


def _retention(keep_for: timedelta | None, keep_versions: int) -> Retention | None:
    if keep_for is None and not keep_versions:
        return None
    age_seconds = None if keep_for is None else keep_for.total_seconds()
    return Retention(age_seconds=age_seconds, versions_max=keep_versions)


def _schema(argument: str) -> dict[str, Any] | bool | None:
    if not argument:
        return None
    read = values.read(argument, Form.JSON)
    schema: Any = json.loads(read.text) if isinstance(read, JsonText) else None
    if not isinstance(schema, dict | bool):
        raise typer.BadParameter("A JSON Schema is an object, true or false.")
    return cast("dict[str, Any] | bool", schema)
