"""The whole command line: every command, and what `lavagna --help` says."""

import inspect
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from lavagna_cli import exits, options
from lavagna_cli.command import COORDINATION, SERVER, shared
from lavagna_cli.commands import (
    activations,
    agents,
    boards,
    exporting,
    history,
    importing,
    reading,
    regions,
    triggers,
    trying,
    watching,
    writing,
)
from lavagna_cli.options import Options

_ABOUT = """A blackboard on which crews of agents think together.

Start a server:  [bold]lavagna serve[/]
Write and read from another terminal:  [bold]lavagna put plan/goal "ship it"[/]  [bold]lavagna watch[/]
Every command has an example:  [bold]lavagna put --help[/]"""


def _application() -> typer.Typer:
    app = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback(help=_ABOUT, epilog=f"[dim]Exit codes[/]\n{exits.table()}")(_root())
    for module in (writing, reading, history, watching, trying):
        app.add_typer(module.app)
    for name, group, about in (
        ("triggers", triggers.app, "The standing preconditions that wake agents."),
        ("activations", activations.app, "The work that triggers fired."),
        ("agents", agents.app, "Who may act on a board."),
        ("regions", regions.app, "Subtrees of a board with rules of their own."),
    ):
        app.add_typer(group, name=name, help=about, rich_help_panel=COORDINATION)
    app.add_typer(boards.app, name="boards", help="The boards of a server.", rich_help_panel=SERVER)
    for module in (exporting, importing):
        app.add_typer(module.app)
    return app


def _root() -> Callable[..., None]:
    """What runs before every command: it keeps the shared options that stand before its name."""

    def root(ctx: typer.Context, *, version: bool, **said: object) -> None:
        ctx.obj = Options(**said)  # type: ignore[arg-type]

    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    root.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [context, _VERSION, *shared(options.NAMES)]
    )
    root.__annotations__ = {}
    return root


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lavagna {version('lavagna')}")
        raise typer.Exit


_VERSION = inspect.Parameter(
    "version",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ],
)

app = _application()
"""The command line; calling it runs one."""
