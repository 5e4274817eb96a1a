"""Exit codes: one per family of errors, so that a script can tell them apart."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the command's exit code says."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    REFUSED = 5
    INVALID = 6
    EXHAUSTED = 7
    UNAVAILABLE = 8
    TIMED_OUT = 9
    UNHEALTHY = 10
    REJECTED = 11
    UNDECIDED = 12
    SUPERSEDED = 13
    WITHDRAWN = 14
    INTERRUPTED = 130

    @property
    def family(self) -> str:
        """The name of the family as it stands in a JSON error."""
        return self.name.lower()


MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.UNEXPECTED: "an unexpected error",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.NOT_FOUND: "no such thing, or it may not be seen",
    ExitCode.CONFLICT: "the board moved on; look again",
    ExitCode.REFUSED: "a rule or the caller's role forbids it",
    ExitCode.INVALID: "the server or a file's reader refuses the input",
    ExitCode.EXHAUSTED: "a limit or quota is reached",
    ExitCode.UNAVAILABLE: "no server, or something needed is not installed",
    ExitCode.TIMED_OUT: "`wait` or `proposals wait` saw its timeout pass",
    ExitCode.UNHEALTHY: "`doctor` found what is not repaired, or `serve` damaged data",
    ExitCode.REJECTED: "`proposals wait` saw the proposal rejected",
    ExitCode.UNDECIDED: "it ended undecided: a tie, or the deadline came first",
    ExitCode.SUPERSEDED: "it was superseded: what it would change has changed",
    ExitCode.WITHDRAWN: "it was withdrawn by its author",
    ExitCode.INTERRUPTED: "stopped by the user",
}


def table() -> str:
    """All exit codes with their meanings, a line each, as `lavagna --help` shows them."""
    return "\n".join(f"{code:>3}  {meaning}" for code, meaning in MEANINGS.items())
