"""Registers functions as commands: shared options, an example in the help, errors as exit codes."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Concatenate, ParamSpec

import typer

from lavagna_cli import options, report
from lavagna_cli.invocation import Invocation
from lavagna_cli.options import Options
from lavagna_cli.screen import Screen

ENTRIES = "Entries"
CONSENSUS = "Consensus"
COORDINATION = "Coordination"
SERVER = "Server"
"""The panels of `lavagna --help`."""

P = ParamSpec("P")
Body = Callable[Concatenate[Invocation, P], Awaitable[None] | None]


class Scope(tuple[str, ...], Enum):
    """Which of the shared options a command takes."""

    NONE = ()
    """A command that answers in its own way."""
    LOCAL = ("output",)
    """A command of this machine; it calls no server."""
    BOARD = tuple(name for name in options.NAMES if name != "private")
    """A command about a board as a whole."""
    SPACE = options.NAMES
    """A command about a space of a board."""


def command(
    app: typer.Typer,
    *,
    example: str,
    scope: Scope = Scope.SPACE,
    name: str | None = None,
    panel: str | None = None,
) -> Callable[[Body[P]], Body[P]]:
    """Makes a function a command of `app`; its name is the function's unless `name` says else.

    The function gets an `Invocation` first, then what its own annotations ask for. It may be a
    coroutine function. `example` has one command line per line.
    """

    def register(body: Body[P]) -> Body[P]:
        app.command(
            name=name or body.__name__.strip("_").replace("_", "-"),
            help=_paragraphs(inspect.getdoc(body) or ""),
            epilog=_epilog(example),
            rich_help_panel=panel,
        )(_entry_point(body, scope))
        return body

    return register


def _paragraphs(text: str) -> str:
    """The text with each paragraph on one line, to be wrapped to the reader's terminal."""
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))


def _epilog(example: str) -> str:
    lines = [line.strip().replace("[", r"\[") for line in example.strip().splitlines()]
    title = "Examples" if len(lines) > 1 else "Example"
    return "\n".join([f"[dim]{title}[/]", *(f"  {line}" for line in lines)])


def _entry_point(body: Body[P], scope: Scope) -> Callable[..., None]:
    """A function with the signature that typer reads: the body's own, then the shared options."""

    def entry_point(ctx: typer.Context, **arguments: object) -> None:
        own = Options(**{name: arguments.pop(name) for name in scope.value})  # type: ignore[arg-type]
        said = own.over(_before_the_command(ctx))
        _require_in_scope(ctx, said, scope)
        chosen = said.over(options.from_environment())
        invocation = Invocation(chosen, said, Screen(chosen.output))
        with report.errors_reported(chosen.output):
            _run(body, invocation, arguments)
            invocation.screen.flush()

    entry_point.__signature__ = _signature(body, scope)  # type: ignore[attr-defined]
    entry_point.__annotations__ = {}
    return entry_point


def _run(body: Body[...], invocation: Invocation, arguments: dict[str, object]) -> None:
    pending = body(invocation, **arguments)
    if pending is not None:
        asyncio.run(_awaited(pending))


async def _awaited(pending: Awaitable[None]) -> None:
    await pending


def _before_the_command(ctx: typer.Context) -> Options:
    said = ctx.find_root().obj
    return said if isinstance(said, Options) else Options()


def _require_in_scope(ctx: typer.Context, said: Options, scope: Scope) -> None:
    for name in options.NAMES:
        if getattr(said, name) and name not in scope.value:
            option = name.replace("_", "-")
            raise typer.BadParameter(f"--{option} means nothing to `{ctx.command_path}`.")


def _signature(body: Body[...], scope: Scope) -> inspect.Signature:
    _invocation, *own = inspect.signature(body).parameters.values()
    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    return inspect.Signature([context, *keywords, *shared(scope.value)])


def shared(names: tuple[str, ...]) -> list[inspect.Parameter]:
    """The shared options of these names, as parameters that typer reads."""
    declared = inspect.signature(Options).parameters
    return [declared[name].replace(kind=inspect.Parameter.KEYWORD_ONLY) for name in names]
