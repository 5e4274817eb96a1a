"""Triggers as a command line says them: the options of `triggers set` and `try`."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import typer

from lavagna import ChangeType, Kind, Limits, Mode, Schedule, Source
from lavagna_cli.choices import one_of
from lavagna_cli.durations import duration
from lavagna_cli.moments import moment

On = Annotated[
    list[str] | None,
    typer.Option(
        help="Which entries wake it: tasks/{task} binds a segment; may be given again.",
        metavar="PATTERN",
    ),
]
Reads = Annotated[
    list[str] | None,
    typer.Option(
        help="Further entries that the condition looks at, as board[KEY]; may be given again.",
        metavar="PATTERN",
    ),
]
When = Annotated[
    str,
    typer.Option(help="What must hold, in CEL over entry, old, board, bind, now.", metavar="CEL"),
]
Rating = Annotated[
    str, typer.Option(help="How urgent it is: a CEL integer, higher first.", metavar="CEL")
]
Cron = Annotated[
    str,
    typer.Option(help="Fire at the times of this rule, such as '0 9 * * 1-5'.", metavar="RULE"),
]
DueAt = Annotated[
    datetime | None,
    typer.Option(help="Fire once, at this time.", metavar="TIME", parser=moment),
]
TimeZone = Annotated[
    str, typer.Option(help="The IANA zone of the cron rule; UTC if left out.", metavar="ZONE")
]
ModeChoice = Annotated[
    Mode | None,
    one_of(
        Mode, explained="When it becomes true (the default), at every matching change, or by time."
    ),
]
Changes = Annotated[
    list[ChangeType] | None,
    one_of(ChangeType, "--change", explained="Only this type of change; may be given again."),
]
Kinds = Annotated[
    list[Kind] | None,
    one_of(
        Kind,
        "--kind",
        explained="Only entries of this kind, else notes, or proposals and claims where"
        " --change says proposed or decided; may be given again.",
    ),
]
LimitPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        help="A bound: lease, backoff, cooldown, start-deadline, run-deadline (durations); attempts,"
        " concurrency, binding-concurrency, causal-depth, firings-per-minute (numbers).",
        metavar="NAME=BOUND",
    ),
]

_NEVER_OF_NOTES = frozenset({ChangeType.PROPOSED, ChangeType.DECIDED})
_DURATIONS = {
    "lease": "lease_seconds",
    "backoff": "backoff_seconds",
    "cooldown": "cooldown_seconds",
    "start-deadline": "start_deadline_seconds",
    "run-deadline": "run_deadline_seconds",
}
_NUMBERS = {
    "attempts": "attempts_max",
    "concurrency": "concurrency_max",
    "binding-concurrency": "binding_concurrency_max",
    "causal-depth": "causal_depth_max",
    "firings-per-minute": "firings_per_minute_max",
}


def timing(
    mode: Mode | None, *, cron: str, due_at: datetime | None, zone: str
) -> tuple[Mode, Schedule | None]:
    """When a trigger fires; a time or a rule makes it `due` without saying so.

    Raises:
        typer.BadParameter: The mode and the times contradict each other.
    """
    if cron and due_at:
        raise typer.BadParameter("Pass only one of --cron and --due-at.")
    if zone and not cron:
        raise typer.BadParameter("--time-zone goes with --cron.")
    is_due = bool(cron or due_at)
    if mode is not None and (mode is Mode.DUE) != is_due:
        raise typer.BadParameter("--mode due and --cron or --due-at go together.")
    if is_due:
        return Mode.DUE, Schedule(at=due_at, cron=cron, time_zone=zone)
    return mode or Mode.EDGE, None


def sources(
    patterns: list[str] | None, changes: list[ChangeType] | None, kinds: list[Kind] | None
) -> list[Source]:
    """What a trigger is about: each pattern with those types of change, of entries of those kinds.

    Raises:
        typer.BadParameter: The changes are of several kinds, and no kind is said.
    """
    chosen = kinds or _kinds_of(changes or [])
    return [Source(pattern, chosen, changes or ()) for pattern in patterns or ()]


def _kinds_of(changes: list[ChangeType]) -> list[Kind]:
    """The kinds that are meant where none is said: notes, or all that can be proposed or decided."""
    never_of_notes = _NEVER_OF_NOTES.intersection(changes)
    if not never_of_notes:
        return [Kind.NOTE]
    if not _NEVER_OF_NOTES.issuperset(changes):
        raise typer.BadParameter("Say --kind as well: a note is never proposed or decided.")
    return []


def limits(pairs: list[str] | None) -> Limits:
    """The bounds that `NAME=BOUND` pairs say.

    Raises:
        typer.BadParameter: A pair has no such name, or its bound does not fit.
    """
    chosen = Limits()
    for pair in pairs or ():
        name, _, bound = pair.partition("=")
        if name in _DURATIONS:
            chosen = _with(chosen, _DURATIONS[name], duration(bound).total_seconds())
        elif name in _NUMBERS and bound.isdecimal():
            chosen = _with(chosen, _NUMBERS[name], int(bound))
        else:
            names = ", ".join([*_DURATIONS, *_NUMBERS])
            raise typer.BadParameter(f"{pair!r} is not NAME=BOUND with a NAME of {names}.")
    return chosen


def _with(limits: Limits, name: str, bound: Any) -> Limits:
    return replace(limits, **{name: bound})
