"""Arguments and options that several commands have in common, with one meaning everywhere."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from lavagna import Kind
from lavagna_cli import completion
from lavagna_cli.choices import one_of
from lavagna_cli.durations import duration
from lavagna_cli.exits import ExitCode

Key = Annotated[
    str,
    typer.Argument(
        metavar="KEY", help="The entry's key, such as plan/goal.", autocompletion=completion.keys
    ),
]

Pattern = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN",
        help="A key or a pattern: plan/*/status one segment, plan/** any depth.",
        autocompletion=completion.keys,
    ),
]

At = Annotated[
    int | None,
    typer.Option(
        "--at", help="Read as of this revision instead of now.", metavar="REVISION", min=1
    ),
]

Expect = Annotated[
    int | None,
    typer.Option(
        "--expect",
        help="Only if the entry is still at this version, the one you saw; 0: if it never was.",
        metavar="VERSION",
        min=0,
    ),
]

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace whatever is there, unseen.")]

OverwriteFile = Annotated[
    bool, typer.Option("--overwrite", help="Replace the file if there is one.")
]

Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", help="A label; may be given again.", metavar="TAG"),
]

KindChoice = Annotated[
    Kind, one_of(Kind, "--kind", explained="Entries of this kind; notes if left out.")
]

ProposalKey = Annotated[
    str,
    typer.Argument(
        metavar="PROPOSAL",
        help="The proposal's key, such as design/000000000007-000.",
        autocompletion=completion.open_proposals,
    ),
]

StoredValue = Annotated[
    str,
    typer.Argument(
        metavar="VALUE",
        help="The value; - reads standard input, @FILE a file, @@TEXT a text that begins with @.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Store it as JSON.")]
AsText = Annotated[bool, typer.Option("--text", help="Store it as text.")]
AsData = Annotated[bool, typer.Option("--data", help="Store it as bytes.")]

Confidence = Annotated[
    float | None,
    typer.Option(
        "--confidence", help="How sure you are, from 0 to 1.", metavar="SHARE", min=0, max=1
    ),
]

SourceNames = Annotated[
    list[str] | None,
    typer.Option(
        "--source", help="Where the value comes from; may be given again.", metavar="SOURCE"
    ),
]

Patience = Annotated[
    timedelta | None,
    typer.Option(
        "--timeout",
        help="Give up after this long, with exit code 9.",
        metavar="DURATION",
        parser=duration,
    ),
]

Ttl = Annotated[
    timedelta | None,
    typer.Option(
        "--ttl",
        help="The entry expires after this long.",
        metavar="DURATION",
        parser=duration,
    ),
]

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Where the server keeps its boards. [dim]$LAVAGNA_DATA_DIR, else your directory for "
        "data[/]",
        metavar="DIR",
    ),
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether you are sure.")]


def confirmed(question: str, *, yes: bool) -> None:
    """Goes on only when the user is sure.

    Raises:
        typer.BadParameter: Nobody is there to ask.
        typer.Exit: The user is not sure.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"{question} Nobody is there to answer; pass --yes.")
    if not typer.confirm(question, err=True):
        raise typer.Exit(ExitCode.INTERRUPTED)
