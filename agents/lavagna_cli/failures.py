"""Failures of the command line itself, each with what to do next."""

from lavagna_cli.exits import ExitCode


class Failure(Exception):
    """The command cannot do what was asked."""

    exit_code = ExitCode.UNEXPECTED
    reason = "FAILED"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        """What went wrong."""
        self.hint = hint
        """What to do next."""


class BadInput(Failure):
    """A file or stream that the command reads is malformed."""

    exit_code = ExitCode.INVALID
    reason = "BAD_INPUT"


class NotAllowed(Failure):
    """The data on this machine is not in a state for that."""

    exit_code = ExitCode.REFUSED
    reason = "REFUSED"


class NotUsable(Failure):
    """The data on this machine cannot be read or written."""

    exit_code = ExitCode.UNAVAILABLE
    reason = "STORAGE_FAILED"


class NotInstalled(Failure):
    """The command needs a part of Lavagna that is not installed."""

    exit_code = ExitCode.UNAVAILABLE
    reason = "NOT_INSTALLED"


class TimedOut(Failure):
    """What the command waited for did not come in time."""

    exit_code = ExitCode.TIMED_OUT
    reason = "TIMED_OUT"
