"""boards: the workspaces on a server."""

from typing import Annotated

import typer

from lavagna import BoardSettings
from lavagna_cli import documents, moments, values
from lavagna_cli.arguments import Yes, confirmed
from lavagna_cli.command import Scope, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.layout import Cells, Column
from lavagna_cli.listing import Listing

app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="BOARD", help="The board's name.")]


@command(app, name="list", scope=Scope.BOARD, example="lavagna boards list")
async def list_(invocation: Invocation) -> None:
    """List the boards that you belong to, by name."""
    async with invocation.board() as board:
        await _BOARDS.show(invocation.screen, board.boards.list())


def _row(board: BoardSettings) -> Cells:
    title = values.printable(board.display_name)
    return board.id, moments.shown(board.created_at), board.epoch, title


_BOARDS = Listing(
    "boards",
    (
        Column("BOARD", "bold", folds=True),
        Column("CREATED", "dim"),
        Column("EPOCH", "dim"),
        Column("TITLE", fills=True),
    ),
    _row,
    nothing="You belong to no board.",
)


@command(app, scope=Scope.BOARD, example="lavagna boards create research --title 'Research crew'")
async def create(
    invocation: Invocation,
    name: Name,
    *,
    title: Annotated[str, typer.Option(help="A title for people.", metavar="TEXT")] = "",
    cascade_max: Annotated[
        int,
        typer.Option(
            help="The most activations that may descend from one first cause; 10,000 if left out.",
            min=0,
            metavar="COUNT",
            show_default=False,
        ),
    ] = 0,
    rating_min: Annotated[
        int | None,
        typer.Option(
            help="Activations rated below this wait; none do if left out.",
            metavar="RATING",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Create a board."""
    async with invocation.board() as board:
        made = await board.boards.create(
            name, display_name=title, cascade_max=cascade_max, rating_min=rating_min
        )
    invocation.screen.done(documents.of(made), bare=made.id, remark=f"Created board {made.id}")


@command(app, scope=Scope.BOARD, example="lavagna boards delete research --yes")
async def delete(invocation: Invocation, name: Name, *, yes: Yes = False) -> None:
    """Delete a board and everything on it, for good."""
    confirmed(f"Delete board {name} and everything on it, for good?", yes=yes)
    async with invocation.board() as board:
        await board.boards.delete(name)
    invocation.screen.done({"deleted": name}, bare=name, remark=f"Deleted board {name}")


@command(
    app,
    example="""
    lavagna boards compact 1000
    lavagna boards compact --private --yes
    """,
)
async def compact(
    invocation: Invocation,
    revision: Annotated[
        int,
        typer.Argument(
            metavar="REVISION",
            show_default=False,
            help="The oldest revision that stays readable; the newest if left out.",
            min=0,
        ),
    ] = 0,
    *,
    yes: Yes = False,
) -> None:
    """Give up the history of the board's space before a revision."""
    before = f"revision {revision}" if revision else "now"
    confirmed(f"Give up all history before {before}?", yes=yes)
    async with invocation.board() as board:
        oldest = await board.compact(revision)
    invocation.screen.done(
        {"oldest_revision": oldest},
        bare=str(oldest),
        remark=f"The oldest readable revision is {oldest}",
    )
