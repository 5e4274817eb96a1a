"""Times and lengths of time, as Python has them and as the wire has them.

Every time that the SDK gives is aware and in UTC. A length of time is a `timedelta` or a number of
seconds.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from lavagna.checks import checked_number, checked_type
from lavagna.errors import Invalid

Seconds: TypeAlias = float | timedelta
"""A length of time: a number of seconds, or a `timedelta`."""

_SECONDS_MAX = 315_576_000_000
"""What a `google.protobuf.Duration` can hold: about 10,000 years."""


def seconds(length: Seconds, *, field: str) -> float:
    """The length in seconds.

    Raises:
        Invalid: It is no length of time, negative, or longer than the wire can say.
    """
    if isinstance(length, timedelta):
        length = length.total_seconds()
    count = checked_number(length, field=field)
    if not 0 <= count <= _SECONDS_MAX:
        raise Invalid.field(field, f"{count} is not a length of time from 0 to {_SECONDS_MAX} s")
    return count


def duration(length: Seconds, *, field: str) -> Duration:
    """The length as the wire has it.

    Raises:
        Invalid: It is no length of time, negative, or longer than the wire can say.
    """
    count = seconds(length, field=field)
    whole = int(count)
    nanos = round((count - whole) * 1e9)
    return Duration(seconds=whole + nanos // 10**9, nanos=nanos % 10**9)


def seconds_of(message: Duration) -> float:
    """The seconds of a length on the wire."""
    return message.seconds + message.nanos / 1e9


def timestamp(time: datetime, *, field: str) -> Timestamp:
    """The time as the wire has it.

    Raises:
        Invalid: It is no time, or has no zone, so that nobody can know when it is.
    """
    checked_type(time, datetime, field=field)
    if time.tzinfo is None:
        raise Invalid.field(field, f"{time} has no time zone; say `.replace(tzinfo=...)`")
    message = Timestamp()
    message.FromDatetime(time)
    return message


def optional_time(message: Message, field: str) -> datetime | None:
    """The time in a field of the message; None where it is unset."""
    return time_of(getattr(message, field)) if message.HasField(field) else None


def time_of(message: Timestamp) -> datetime:
    """The time on the wire, aware and in UTC, to the microsecond."""
    return message.ToDatetime(tzinfo=UTC)
