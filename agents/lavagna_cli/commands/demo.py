"""demo: a crew that builds a tested program."""

from pathlib import Path
from typing import Annotated

import typer

from lavagna_cli import local
from lavagna_cli.command import SERVER, Scope, command
from lavagna_cli.invocation import Invocation

app = typer.Typer()


@command(
    app,
    panel=SERVER,
    scope=Scope.BOARD,
    example="""
    lavagna demo
    lavagna demo --task "a stack calculator" --out calculator
    OPENAI_BASE_URL=http://127.0.0.1:8080/v1 lavagna demo --task "a tiny spell checker" --out speller
    """,
)
def demo(
    invocation: Invocation,
    *,
    task: Annotated[
        str | None,
        typer.Option(help="What to build; the first scripted task if left out.", metavar="TEXT"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the program goes.", metavar="DIR")] = Path(
        "lavagna-demo"
    ),
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Where its own server keeps its data; a temporary folder if left out.",
            metavar="DIR",
        ),
    ] = None,
    pace: Annotated[
        float, typer.Option(help="How fast a script is played; 0: at once.", min=0)
    ] = 1.0,
) -> None:
    """Watch a CEO, a CTO, two programmers and a tester build a tested program over a board.

    It starts a server of its own, unless --target names one. With OPENAI_API_KEY or OPENAI_BASE_URL
    set the crew thinks with that model; otherwise a scripted model plays recorded replies.
    """
    given = {"task": task, "out": out, "data_dir": data_dir, "pace": pace}
    if invocation.said.target:
        options = invocation.options
        given |= {
            "target": options.target,
            "token": options.token,
            "tls_ca": options.tls_ca,
            "tls_cert": options.tls_cert,
            "tls_key": options.tls_key,
        }
    raise typer.Exit(local.demonstrate({**given, "board": invocation.said.board}))
