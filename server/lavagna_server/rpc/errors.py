"""From board errors to gRPC statuses, in one table and one place.

An error's details follow AIP-193. They travel as a trailer, and peers drop a call whose trailers pass 8 kB, so everything in
them is clipped to a budget; what is left out is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import (
    BadRequest,
    ErrorInfo,
    PreconditionFailure,
    QuotaFailure,
    RetryInfo,
)
from google.rpc.status_pb2 import Status

from lavagna.v1 import errors_pb2
from lavagna_server.domain import errors
from lavagna_server.rpc.codec.commits import failures_to_wire

DOMAIN = "lavagna"
INTERNAL_REASON = "INTERNAL"
DETAILS_KEY = "grpc-status-details-bin"

DETAILS_BYTES_MAX = 5_000
"""Of the whole trailer, before the base64 that adds a third."""
MESSAGE_BYTES_MAX = 800
"""Of the message; outside ASCII each byte takes three on the wire, so such a message is cut to a third."""
WORD_BYTES_MAX = 600
"""Of one name or number; the longest key takes 512."""
CONDITION_BYTES_MAX = 300
"""Of what is said about one failed condition."""

RETRY_SECONDS = 1.0
"""When to try again what failed because the server is not available."""

STATUS_OF: Mapping[type[errors.BoardError], grpc.StatusCode] = MappingProxyType(
    {
        errors.NotFound: grpc.StatusCode.NOT_FOUND,
        errors.Conflict: grpc.StatusCode.ABORTED,
        errors.AlreadyExists: grpc.StatusCode.ALREADY_EXISTS,
        errors.Refused: grpc.StatusCode.FAILED_PRECONDITION,
        errors.PermissionDenied: grpc.StatusCode.PERMISSION_DENIED,
        errors.Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
        errors.Invalid: grpc.StatusCode.INVALID_ARGUMENT,
        errors.OutOfRange: grpc.StatusCode.OUT_OF_RANGE,
        errors.Exhausted: grpc.StatusCode.RESOURCE_EXHAUSTED,
        errors.Unavailable: grpc.StatusCode.UNAVAILABLE,
    }
)


WITH_ENTRIES = (errors.ConditionFailed, errors.VersionRequired)
"""The errors that carry current entries, so that the loser can decide again without another call."""


class Refusal(NamedTuple):
    """An error in the form in which a call ends with it."""

    code: grpc.StatusCode
    message: str
    trailers: tuple[tuple[str, bytes], ...]


def status_of(error: errors.BoardError) -> grpc.StatusCode:
    """The status of the nearest ancestor of `error` in `STATUS_OF`."""
    return next(STATUS_OF[cls] for cls in type(error).__mro__ if cls in STATUS_OF)


def reason_of(error: errors.BoardError) -> str:
    """The error's stable name; `StaleVersion` would be `STALE_VERSION` if it had none of its own."""
    return error.reason or re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).upper()


def refusal(error: errors.BoardError) -> Refusal:
    """How a call ends with an error that its caller can be told about."""
    message = _clipped(str(error), MESSAGE_BYTES_MAX)
    status = Status(code=status_of(error).value[0], message=message)
    for detail in (_info(reason_of(error), _numbers(error)), *_remedies(error)):
        status.details.add().Pack(detail)
    if isinstance(error, WITH_ENTRIES):
        _add_failures(status, error.failed)
    return _ended(status_of(error), message, status)


def fault(request_id: str) -> Refusal:
    """How a call ends with an error of the server's own; its story is in the log under the request's id."""
    message = "internal error; the server's log tells more"
    status = Status(code=grpc.StatusCode.INTERNAL.value[0], message=message)
    status.details.add().Pack(_info(INTERNAL_REASON, {"request": request_id}))
    return _ended(grpc.StatusCode.INTERNAL, message, status)


def _ended(code: grpc.StatusCode, message: str, status: Any) -> Refusal:
    short = message if message.isascii() else _clipped(message, MESSAGE_BYTES_MAX // 3)
    return Refusal(code, short, ((DETAILS_KEY, status.SerializeToString()),))


def _numbers(error: errors.BoardError) -> Mapping[str, str]:
    """What the message says, for programs; of several failed conditions the first stands for all."""
    numbers = error.numbers
    if isinstance(error, WITH_ENTRIES):
        first = error.failed[0]
        numbers |= {"key": first.key, "failed_conditions": str(len(error.failed))}
        if first.current is not None:
            numbers |= {"version": str(first.current.version), "author": first.current.author}
    return numbers


def _info(reason: str, numbers: Mapping[str, str]) -> Message:
    metadata = {name: _clipped(value, WORD_BYTES_MAX) for name, value in numbers.items()}
    info: Message = ErrorInfo(reason=reason, domain=DOMAIN, metadata=metadata)
    return info


def _remedies(error: errors.BoardError) -> Iterator[Message]:
    """The standard messages that tell a program what to change, or when to try again."""
    match error:
        case errors.Invalid():
            violation = BadRequest.FieldViolation(
                field=_clipped(error.field, WORD_BYTES_MAX),
                description=_clipped(error.rule, MESSAGE_BYTES_MAX),
            )
            yield BadRequest(field_violations=[violation])
        case errors.Refused():
            precondition = PreconditionFailure.Violation(
                type=reason_of(error),
                subject=_clipped(next(iter(error.numbers.values()), ""), WORD_BYTES_MAX),
                description=_clipped(str(error), MESSAGE_BYTES_MAX),
            )
            yield PreconditionFailure(violations=[precondition])
        case errors.Exhausted():
            quota = QuotaFailure.Violation(
                subject=_clipped(error.subject, WORD_BYTES_MAX),
                description=f"{error.limit}: {error.maximum}",
            )
            yield QuotaFailure(violations=[quota])
            if error.retry_seconds is not None:
                yield _retry(error.retry_seconds)
            if isinstance(error, errors.SlowConsumer) and error.token:
                yield errors_pb2.ResumeDetail(token=error.token)
        case errors.Unavailable():
            yield _retry(RETRY_SECONDS)
        case _:  # what it is called and says is all there is to know
            return


def _retry(seconds: float) -> Message:
    whole, rest = divmod(max(0.0, seconds), 1.0)
    info: Message = RetryInfo(retry_delay=Duration(seconds=int(whole), nanos=int(rest * 1e9)))
    return info


def _add_failures(status: Any, failed: tuple[errors.FailedCondition, ...]) -> None:
    """Adds as many of the failed conditions as fit, each with what the board holds instead."""
    left = DETAILS_BYTES_MAX - status.ByteSize()
    detail = errors_pb2.ConflictDetail()
    for each in failed:
        (message,) = failures_to_wire([each], None, bytes_max=left - 3 * CONDITION_BYTES_MAX)
        message.message = _clipped(message.message, CONDITION_BYTES_MAX)
        left -= message.ByteSize() + 8
        if left < 0:
            break
        detail.failed_conditions.append(message)
    status.details.add().Pack(detail)


def _clipped(text: str, bytes_max: int) -> str:
    """The text as it fits into `bytes_max`, its end replaced by `…` when it does not."""
    raw = text.encode(errors="replace")
    if len(raw) <= bytes_max:
        return raw.decode()
    return raw[: bytes_max - 3].decode(errors="ignore") + "…"
