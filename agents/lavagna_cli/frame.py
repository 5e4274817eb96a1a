"""What surrounds every command: the general help, the version, completion, the shared options."""

import inspect
from collections.abc import Callable
from importlib.metadata import version as installed_version
from typing import Annotated

import typer

from lavagna_cli import exits, options
from lavagna_cli.command import shared
from lavagna_cli.options import Options

_ABOUT = """A blackboard on which crews of agents think together.

Start a server:  [bold]lavagna serve[/]
Write and watch from other terminals:  [bold]lavagna put plan/goal "ship it"[/]  [bold]lavagna watch[/]
Every command has an example:  [bold]lavagna put --help[/]"""


def frame() -> typer.Typer:
    """A command line that has no commands yet."""
    app = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback(help=_ABOUT, epilog=f"[dim]Exit codes[/]\n{exits.table()}")(_root())
    return app


def _shown(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lavagna {installed_version('lavagna')}")
        raise typer.Exit


def _root() -> Callable[..., None]:
    """What runs before a command: it keeps the shared options that stand before the name."""

    def root(ctx: typer.Context, *, version: bool, **said: object) -> None:
        ctx.obj = Options(**said)  # type: ignore[arg-type]

    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    wanted = inspect.Parameter(
        "version",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[
            bool,
            typer.Option(
                "--version", help="Print the version and exit.", callback=_shown, is_eager=True
            ),
        ],
    )
    parameters = [context, wanted, *shared(options.NAMES)]
    root.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    root.__annotations__ = {}
    return root
