"""explain: how a value or a decision came about."""

from typing import Annotated

import typer

from lavagna import LavagnaError
from lavagna_cli import completion, documents, explained, polls, values
from lavagna_cli.arguments import At
from lavagna_cli.command import CONSENSUS, Scope, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.options import Format

app = typer.Typer()


@command(
    app,
    scope=Scope.BOARD,
    panel=CONSENSUS,
    example="""
    lavagna explain effort
    lavagna explain design/000000000007-000
    lavagna explain effort --at 12 -o json
    """,
)
async def explain(
    invocation: Invocation,
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY",
            help="The key of an entry, or of a proposal.",
            autocompletion=completion.keys,
        ),
    ],
    *,
    at: At = None,
) -> None:
    """Show how an entry, or the decision on a proposal, came about.

    Each claim or ballot with its weight as a bar and where that comes from, the rule, the
    arithmetic, and who disagrees. With -o text the lines alone, with -o json everything.
    """
    async with invocation.board() as board:
        try:
            explanation = await board.explain(key, at=at)
        except LavagnaError as error:
            await polls.name_open(board, key, error)
            raise
    screen = invocation.screen
    if screen.is_json:
        screen.document(documents.of(explanation))
    elif screen.format is Format.TEXT:
        screen.bare([values.printable(line)] for line in explanation.lines)
    else:
        explained.show(screen, explanation)
