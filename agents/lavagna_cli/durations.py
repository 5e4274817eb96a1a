"""Durations as people type them: `30s`, `1h30m`, `500ms`, or plain seconds."""

import re
from datetime import timedelta

import typer

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")


def duration(text: str) -> timedelta:
    """The duration that the text says; a number without a unit counts seconds.

    Raises:
        typer.BadParameter: The text is no duration, or is too long to be one.
    """
    try:
        return timedelta(seconds=_seconds(text.strip()))
    except OverflowError:
        raise typer.BadParameter(f"{text!r} is too long.") from None


def _seconds(text: str) -> float:
    if _PLAIN.fullmatch(text):
        return float(text)
    if _WHOLE.fullmatch(text):
        return sum(float(amount) * _SECONDS[unit] for amount, unit in _PART.findall(text))
    raise typer.BadParameter(f"{text!r} is not a duration; write 30s, 5m, 1h30m or 500ms.")


def spelt(span: timedelta) -> str:
    """The duration in the form that `duration` reads, such as `1h30m`."""
    milliseconds = round(span / timedelta(milliseconds=1))
    parts: list[str] = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        amount, milliseconds = divmod(milliseconds, size)
        if amount:
            parts.append(f"{amount}{unit}")
    return "".join(parts) or "0s"
