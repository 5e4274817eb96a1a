"""Times and durations; theirs have nanoseconds and ours microseconds, so reading rounds down.

Built from integers: the conversions that protobuf offers take four times as long.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from lavagna_server.domain.errors import Invalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9000, 1, 1, tzinfo=UTC)
"""Times from here on are refused, so that adding any allowed duration stays within what a `datetime` holds."""

LONGEST = timedelta(days=3_660)
"""The longest duration of any field: ten years."""

_DAY_SECONDS = 86_400
_LATEST_SECONDS = (LATEST - EPOCH).days * _DAY_SECONDS
_NANOS = 1_000_000_000


def moment_to_wire(moment: datetime) -> Timestamp:
    """The time as a timestamp."""
    since = moment - EPOCH
    return Timestamp(
        seconds=since.days * _DAY_SECONDS + since.seconds, nanos=since.microseconds * 1_000
    )


def optional_moment(moment: datetime | None) -> Timestamp | None:
    """The time as a timestamp, or None to leave the field unset."""
    return None if moment is None else moment_to_wire(moment)


def moment_from_wire(timestamp: Timestamp, *, field: str) -> datetime:
    """The time that a timestamp means.

    Raises:
        Invalid: It is malformed, or before 1970 or after 8999.
    """
    if not 0 <= timestamp.nanos < _NANOS:
        raise Invalid(field, f"nanos must be from 0 to 999999999, not {timestamp.nanos}")
    if not 0 <= timestamp.seconds < _LATEST_SECONDS:
        raise Invalid(
            field, f"must lie between the years 1970 and 8999; {timestamp.seconds} s does not"
        )
    return EPOCH + timedelta(seconds=timestamp.seconds, microseconds=timestamp.nanos // 1_000)


def span_to_wire(span: timedelta) -> Duration:
    """The duration as a message."""
    return Duration(
        seconds=span.days * _DAY_SECONDS + span.seconds, nanos=span.microseconds * 1_000
    )


def optional_span(span: timedelta | None) -> Duration | None:
    """The duration as a message, or None to leave the field unset."""
    return None if span is None else span_to_wire(span)


def span_from_wire(
    duration: Duration, *, field: str, least: timedelta = timedelta(0), most: timedelta = LONGEST
) -> timedelta:
    """The duration that a message means.

    Raises:
        Invalid: It is malformed, or not from `least` to `most`.
    """
    seconds, nanos = duration.seconds, duration.nanos
    if not -_NANOS < nanos < _NANOS or seconds * nanos < 0:
        raise Invalid(
            field, f"nanos must be below a second and have the sign of seconds, unlike {nanos}"
        )
    inside = abs(seconds) <= LONGEST.days * _DAY_SECONDS
    span = timedelta(seconds=seconds, microseconds=nanos // 1_000) if inside else None
    if span is None or not least <= span <= most:
        raise Invalid(
            field,
            f"must be from {_seconds(least)} to {_seconds(most)}, not {seconds}.{abs(nanos):09d} s",
        )
    return span


def _seconds(span: timedelta) -> str:
    return f"{span.total_seconds():g} s"
