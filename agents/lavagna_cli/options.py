"""The options that many commands share, and how their values from several places combine.

A value after the command beats one before it, and both beat the environment, so that
`lavagna -o json ls` and `lavagna ls -o json` mean the same.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lavagna.environment import Environment
from lavagna_cli.durations import duration

_CONNECTION = "Connection"
_OUTPUT = "Output"


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said about the connection and the output; unset is None or False."""

    target: Annotated[
        str | None,
        typer.Option(
            help="Where the server listens. [dim]$LAVAGNA_TARGET, else localhost:7443[/]",
            metavar="HOST:PORT",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    board: Annotated[
        str | None,
        typer.Option(
            help="The board. [dim]$LAVAGNA_BOARD, else main[/]",
            metavar="NAME",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    agent: Annotated[
        str | None,
        typer.Option(
            help="Your name, where names are trusted. [dim]$LAVAGNA_AGENT, else your login[/]",
            metavar="NAME",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    token: Annotated[
        str | None,
        typer.Option(
            help="Your bearer token; other users of this machine can read a command line, "
            "so the environment is the better place. [dim]$LAVAGNA_TOKEN[/]",
            metavar="TOKEN",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            help="Speak TLS and trust these certificates. [dim]$LAVAGNA_TLS_CA[/]",
            metavar="FILE",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            help="Your client certificate. [dim]$LAVAGNA_CLIENT_CERT[/]",
            metavar="FILE",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    tls_key: Annotated[
        Path | None,
        typer.Option(
            help="The key of your client certificate. [dim]$LAVAGNA_CLIENT_KEY[/]",
            metavar="FILE",
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    wait: Annotated[
        timedelta | None,
        typer.Option(
            help="Wait this long for a server that is not there yet.",
            metavar="DURATION",
            parser=duration,
            rich_help_panel=_CONNECTION,
        ),
    ] = None
    private: Annotated[
        bool,
        typer.Option(
            "--private",
            help="Your private space instead of the shared one.",
            rich_help_panel=_CONNECTION,
        ),
    ] = False
    output: Annotated[
        Format | None,
        typer.Option(
            "--output",
            "-o",
            help="How to print: a table, JSON, or bare text for scripts. Unset, each command's own.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None

    def over(self, outer: "Options") -> "Options":
        """These options, with what they leave unset taken from `outer`."""
        return Options(**{name: getattr(self, name) or getattr(outer, name) for name in NAMES})


NAMES = tuple(field.name for field in fields(Options))
"""The names of all shared options."""


def from_environment(environ: Mapping[str, str] = os.environ) -> Options:
    """The options that the environment sets, by the rule of the SDK."""
    return Options(**asdict(Environment.read(environ)))
