"""Moments in time: read from the command line, and shown in the reader's own zone."""

from datetime import datetime

import typer


def moment(text: str) -> datetime:
    """The moment that the text says in ISO 8601; one without an offset is in the local zone.

    Raises:
        typer.BadParameter: The text is no moment.
    """
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is not a time; write 2026-03-01T09:00 or 2026-03-01T09:00:00Z."
        ) from None


def shown(at: datetime | None) -> str:
    """The moment in the reader's zone, to the second; empty for none."""
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def to_the_minute(at: datetime | None) -> str:
    """The moment in the reader's zone, to the minute; empty for none."""
    return shown(at)[:-3]


def clock_time(at: datetime) -> str:
    """The time of day in the reader's zone, to the second."""
    return at.astimezone().strftime("%H:%M:%S")
