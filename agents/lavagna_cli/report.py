"""Reports errors: one clear line on standard error, and the exit code of the error's family."""

import asyncio
import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import typer
from rich.text import Text

from lavagna import FailedCondition, errors
from lavagna_cli import documents, hints, jsontext, values
from lavagna_cli.exits import ExitCode
from lavagna_cli.failures import Failure
from lavagna_cli.jsontext import Document
from lavagna_cli.options import Format
from lavagna_cli.screen import console

_FAMILIES: tuple[tuple[type[errors.LavagnaError], ExitCode], ...] = (
    (errors.NotFound, ExitCode.NOT_FOUND),
    (errors.Conflict, ExitCode.CONFLICT),
    (errors.Refused, ExitCode.REFUSED),
    (errors.Invalid, ExitCode.INVALID),
    (errors.Exhausted, ExitCode.EXHAUSTED),
    (errors.Unavailable, ExitCode.UNAVAILABLE),
)
_VALUE_LENGTH_MAX = 200
_TRACEBACK_VARIABLE = "LAVAGNA_TRACEBACK"


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error as the user is told it."""

    code: ExitCode
    reason: str
    message: str
    hint: str = ""
    aside: str = ""
    """What people want to see besides; programs find it in the details."""
    details: dict[str, Document] = field(default_factory=dict[str, Document])
    """What only some errors have, for programs."""

    def line(self) -> str:
        """The error and what to do next, on one line; the message's own text made harmless."""
        parts = [part.strip().rstrip(".") for part in (self.message, self.aside, self.hint)]
        return values.printable(". ".join(part for part in parts if part))

    def document(self) -> Document:
        """The error as a JSON object."""
        return {
            "error": {
                "family": self.code.family,
                "exit_code": int(self.code),
                "reason": self.reason,
                "message": self.message,
                "hint": self.hint,
                **self.details,
            }
        }


@contextmanager
def errors_reported(form: Format | None) -> Generator[None]:
    """Reports what its block raises and ends the command with the right exit code.

    Raises:
        typer.Exit: The block raised; the user has been told.
    """
    try:
        yield
    except typer.Exit:
        raise
    except BrokenPipeError:
        raise typer.Exit(reader_gone()) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except Exception as error:  # noqa: BLE001 (whatever it is, the user is told in one line)
        raise typer.Exit(told(error, form)) from None


def told(error: Exception, form: Format | None) -> ExitCode:
    """Tells the user of the error on standard error, and gives its exit code."""
    complaint = complaint_about(error)
    if os.environ.get(_TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    if not complaint.message:
        # For a command without its arguments typer has printed the help, and says nothing more.
        return complaint.code
    with suppress(BrokenPipeError):  # nobody listens; the exit code says it all the same
        if form is Format.JSON:
            sys.stderr.write(jsontext.dumped(complaint.document()) + "\n")
        else:
            line = Text.assemble(("error: ", "bold red"), complaint.line())
            console(stderr=True).print(line, soft_wrap=True)
    return complaint.code


def complaint_about(error: Exception) -> Complaint:
    """What to tell the user about an error."""
    match error:
        case Failure():
            return Complaint(error.exit_code, error.reason, error.message, error.hint)
        case errors.LavagnaError():
            return _from_the_board(error)
        case _ if (message := _usage_message(error)) is not None:
            hint = "See `lavagna --help`, or `--help` after a command."
            return Complaint(ExitCode.USAGE, "USAGE", message, hint)
        case OSError(strerror=str(reason)):
            message = f"{error.filename}: {reason}" if error.filename else reason
            return Complaint(ExitCode.UNEXPECTED, "SYSTEM", message)
        case _:
            message = f"{type(error).__name__}: {error}"
            hint = f"Run it again with {_TRACEBACK_VARIABLE}=1 to see where."
            return Complaint(ExitCode.UNEXPECTED, "UNEXPECTED", message, hint)


def _usage_message(error: Exception) -> str | None:
    """What typer says is wrong with a command line; None when it is about something else.

    The class of these errors has no public name, and has moved between versions.
    """
    format_message = getattr(error, "format_message", None)
    if not callable(format_message):
        return None
    return str(format_message()).removeprefix("Invalid value: ")


def _from_the_board(error: errors.LavagnaError) -> Complaint:
    code = next((c for family, c in _FAMILIES if isinstance(error, family)), ExitCode.UNEXPECTED)
    details: dict[str, Document] = {"metadata": error.metadata}
    aside = ""
    if isinstance(error, errors.Conflict):
        aside = _found(error)
        details["failed"] = [_failed(each) for each in error.failed]
        details["current"] = documents.entry(error.current) if error.current else None
    elif isinstance(error, errors.Invalid):
        details["violations"] = [documents.of(each) for each in error.violations]
    elif isinstance(error, errors.Exhausted):
        details["retry_after"] = error.retry_after
    hint = " ".join(getattr(error, "__notes__", ())) or hints.for_error(error)
    # Who typed one key has no list of changes in mind.
    message = error.message.removeprefix("changes[0].")
    return Complaint(code, error.reason, message, hint, aside, details)


def _found(conflict: errors.Conflict) -> str:
    """The value that the first failed condition found, so that the loser can decide again."""
    current = conflict.current
    if current is None:
        return ""
    if not current.exists:
        return f"It was {current.change}"
    shown = values.shortened(values.shown(current), _VALUE_LENGTH_MAX)
    return f"Its value is now {shown or 'empty'}"


def _failed(failed: FailedCondition) -> Document:
    return {
        "key": failed.key,
        "message": failed.message,
        "current": documents.entry(failed.current) if failed.current else None,
    }


def reader_gone() -> ExitCode:
    """The exit code after whoever read standard output has left; the rest of it goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.OK
