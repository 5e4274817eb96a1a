"""agents: who may act on a board."""

from dataclasses import replace
from typing import Annotated

import typer

from lavagna import Member, Role
from lavagna_cli import bars, contents, documents, moments, values
from lavagna_cli.arguments import Yes, confirmed
from lavagna_cli.choices import one_of
from lavagna_cli.command import Scope, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.jsontext import Document
from lavagna_cli.layout import Cells, Column
from lavagna_cli.listing import Listing
from lavagna_cli.screen import Screen

app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's name.")]


@command(app, name="list", scope=Scope.BOARD, example="lavagna agents list -o json")
async def list_(invocation: Invocation) -> None:
    """List the agents of the board, by name."""
    async with invocation.board() as board:
        await _AGENTS.show(invocation.screen, board.agents.list())


def _row(member: Member) -> Cells:
    return (
        member.id,
        "revoked" if member.revoked else member.role.value,
        ",".join(member.teams),
        moments.shown(member.last_seen_at),
        values.printable(member.session),
    )


_AGENTS = Listing(
    "agents",
    (
        Column("AGENT", "bold", folds=True),
        Column("ROLE"),
        Column("TEAMS"),
        Column("LAST SEEN", "dim"),
        Column("SESSION", fills=True),
    ),
    _row,
    nothing="There is no agent.",
)


@command(
    app,
    scope=Scope.BOARD,
    example="""
    lavagna agents register programmer --team developers
    lavagna agents register ops --role admin --whole-server > token
    """,
)
async def register(
    invocation: Invocation,
    name: Name,
    *,
    role: Annotated[Role, one_of(Role, explained="What it may do at most.")] = Role.AGENT,
    team: Annotated[
        list[str] | None,
        typer.Option(help="A team it works in; may be given again.", metavar="TEAM"),
    ] = None,
    whole_server: Annotated[
        bool, typer.Option("--whole-server", help="For every board, not this one alone.")
    ] = False,
) -> None:
    """Register an agent and print its token, which cannot be read again."""
    async with invocation.board() as board:
        registered = await board.agents.register(
            name, role=role, teams=team or (), whole_server=whole_server
        )
    document = {"agent": documents.of(registered.member), "token": registered.token}
    _show_token(invocation.screen, name, registered.token, document)


@command(app, scope=Scope.BOARD, example="lavagna agents rotate programmer --yes")
async def rotate(invocation: Invocation, name: Name, *, yes: Yes = False) -> None:
    """Print a new token for an agent; the old one ends at once, on open streams too."""
    confirmed(f"End the present token of {name}?", yes=yes)
    async with invocation.board() as board:
        token = await board.agents.rotate(name)
    _show_token(invocation.screen, name, token, {"token": token})


@command(app, scope=Scope.BOARD, example="lavagna agents revoke programmer --yes")
async def revoke(invocation: Invocation, name: Name, *, yes: Yes = False) -> None:
    """End an agent's access at once, on open streams too."""
    confirmed(f"End the access of {name}?", yes=yes)
    async with invocation.board() as board:
        member = await board.agents.revoke(name)
    invocation.screen.done(
        documents.of(member), bare=member.id, remark=f"{member.id} has no access any more"
    )


@command(
    app,
    scope=Scope.BOARD,
    example="""
    lavagna agents standing programmer
    lavagna agents standing programmer --trust 0.8 --group small-models
    """,
)
async def standing(
    invocation: Invocation,
    name: Name,
    *,
    trust: Annotated[
        float | None,
        typer.Option(
            help="How far its word is trusted, from 0 to 1.", metavar="SHARE", min=0, max=1
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="Its voter group: agents of one, such as copies of one model, are no independent"
            " witnesses; '' for its own.",
            metavar="GROUP",
        ),
    ] = None,
) -> None:
    """Show how much an agent's word weighs, or say it with --trust and --group.

    Open proposals keep the weights that they began with.
    """
    async with invocation.board() as board:
        known = await board.agents.standing(name)
        if trust is not None or group is not None:
            wanted = replace(
                known,
                trust=known.trust if trust is None else trust,
                group=known.group if group is None else group,
            )
            known = await board.agents.set_standing(wanted)
    invocation.screen.properties(
        documents.of(known),
        {
            "agent": known.agent,
            "trust": f"{contents.share(known.trust)} {bars.bar(known.trust, 1.0)}".rstrip(),
            "group": known.group or f"{known.agent} (its own)",
            "version": str(known.version),
        },
    )


@command(app, scope=Scope.BOARD, example="lavagna agents whoami")
async def whoami(invocation: Invocation) -> None:
    """Show who you are to the server, and what you may do."""
    async with invocation.board() as board:
        welcome = await board.agents.hello(session="lavagna")
    methods = " ".join(method.rpartition(".")[2] for method in welcome.methods)
    invocation.screen.properties(
        documents.of(welcome),
        {
            **_properties(welcome.member),
            "named by": "what you say (trusted loopback)" if welcome.trusted else "your token",
            "board": board.name,
            "revision": str(welcome.revision),
            "epoch": welcome.epoch,
            "server": welcome.server_version,
            "methods": methods,
        },
    )


def _properties(member: Member) -> dict[str, str]:
    return {
        "agent": member.id,
        "role": member.role.value,
        "teams": ", ".join(member.teams),
        "revoked": "yes" if member.revoked else "",
        "last seen": moments.shown(member.last_seen_at),
    }


def _show_token(screen: Screen, agent: str, token: str, document: Document) -> None:
    """Prints the bare token, so that `$(…)` and `>` take it, and tells people what it is."""
    screen.done(document, bare=token, remark=token)
    screen.remark(
        f"This is the token of {agent}, which cannot be read again; {agent} says it as LAVAGNA_TOKEN."
    )
