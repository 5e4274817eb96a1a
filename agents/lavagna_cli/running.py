"""Runs one command line, from its words to its exit code."""

import sys
from io import TextIOWrapper

from lavagna_cli.application import app
from lavagna_cli.exits import ExitCode
from lavagna_cli.options import Format
from lavagna_cli.report import reader_gone, told


def run(arguments: list[str]) -> int:
    """Runs one command line and gives the exit code of the family of what went wrong."""
    _speak_utf8()
    try:
        code = app(arguments, prog_name="lavagna", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        return reader_gone()
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # rich, where it prints the help
            return reader_gone()
        raise
    except Exception as error:  # noqa: BLE001 (a wrong command line, whose class typer hides)
        return told(error, _format_asked_for(arguments))
    return code if isinstance(code, int) else ExitCode.OK


def _speak_utf8() -> None:
    """Keys and values are Unicode, whatever the terminal's locale says."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _format_asked_for(arguments: list[str]) -> Format | None:
    """The format that a command line too wrong to be parsed asks for."""
    spelt = " ".join(arguments) + " "
    asked = ("-o json ", "-ojson ", "--output json ", "--output=json ")
    return Format.JSON if any(each in spelt for each in asked) else None
