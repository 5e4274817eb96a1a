"""Turns what gRPC reports into the SDK's own errors.

The details lie in the trailer `grpc-status-details-bin`; they are decoded with messages of this
package, so that no further one is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from lavagna.entries import FailedCondition, failed_of
from lavagna.errors import (
    AlreadyExists,
    Compacted,
    Conflict,
    ContentMismatch,
    EpochChanged,
    Exhausted,
    FutureRevision,
    Invalid,
    LavagnaError,
    LeaseLost,
    NotAVoter,
    NotFound,
    NotMerged,
    NotVoted,
    OutOfRange,
    PermissionDenied,
    PollClosed,
    QuorumImpossible,
    Refused,
    SlowConsumer,
    TimedOut,
    Unauthenticated,
    Unavailable,
    VersionRequired,
    Violation,
)
from lavagna.times import seconds_of
from lavagna.unreachable import explained
from lavagna.v1 import errors_pb2 as wire

_BY_REASON: dict[str, type[LavagnaError]] = {
    "ALREADY_EXISTS": AlreadyExists,
    "COMPACTED": Compacted,
    "CONTENT_MISMATCH": ContentMismatch,
    "EPOCH_CHANGED": EpochChanged,
    "FUTURE_REVISION": FutureRevision,
    "LEASE_LOST": LeaseLost,
    "NOT_A_VOTER": NotAVoter,
    "NOT_MERGED": NotMerged,
    "NOT_VOTED": NotVoted,
    "POLL_CLOSED": PollClosed,
    "QUORUM_IMPOSSIBLE": QuorumImpossible,
    "SLOW_CONSUMER": SlowConsumer,
    "VERSION_REQUIRED": VersionRequired,
}
_BY_CODE: dict[grpc.StatusCode, type[LavagnaError]] = {
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ABORTED: Conflict,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: Refused,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.OUT_OF_RANGE: OutOfRange,
    grpc.StatusCode.INVALID_ARGUMENT: Invalid,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Exhausted,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: TimedOut,
}

_HOW_TO_SAY_WHO = (
    "Give a token as `token` or in LAVAGNA_TOKEN;"
    " an administrator makes one with `lavagna agents register`."
)


@dataclass
class _Details:
    """What the trailer says, as far as this SDK knows it."""

    message: str = ""
    """The message in full; what the status itself says may be cut."""
    reason: str = ""
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    violations: list[Violation] = field(default_factory=list[Violation])
    failed: list[FailedCondition] = field(default_factory=list[FailedCondition])
    retry_after: float | None = None
    token: str = ""


def error_of(report: grpc.aio.AioRpcError, *, target: str) -> LavagnaError:
    """The SDK's error for what a call to `target` came to."""
    code, details = report.code(), _details_of(report)
    message = details.message or report.details() or code.name
    family = _BY_REASON.get(details.reason) or _BY_CODE.get(code, LavagnaError)
    if not details.reason:
        details.reason = code.name
        if code is grpc.StatusCode.UNAVAILABLE:
            # No server said this, so it says nothing of what the user did or can do.
            message = explained(target, message)
        if code is grpc.StatusCode.CANCELLED:
            # This side did not, so it was a server that goes down with calls at its door.
            family, message = Unavailable, f"{target} broke the call off; it may be going down"
    error = _built(family, message, details)
    if family is Unauthenticated:
        error.add_note(_HOW_TO_SAY_WHO)
    return error


def _built(family: type[LavagnaError], message: str, details: _Details) -> LavagnaError:
    reason, metadata = details.reason, details.metadata
    if issubclass(family, Conflict | VersionRequired):
        return family(message, reason=reason, metadata=metadata, failed=details.failed)
    if issubclass(family, Invalid):
        return family(message, reason=reason, metadata=metadata, violations=details.violations)
    if issubclass(family, SlowConsumer):
        return family(message, reason=reason, metadata=metadata, token=details.token)
    if issubclass(family, Exhausted):
        return family(
            message,
            reason=reason,
            metadata=metadata,
            violations=details.violations,
            retry_after=details.retry_after,
        )
    return family(message, reason=reason, metadata=metadata)


def _details_of(report: grpc.aio.AioRpcError) -> _Details:
    details = _Details()
    for name, value in report.trailing_metadata() or ():
        if name == "grpc-status-details-bin" and isinstance(value, bytes):
            try:
                _read_status(wire.ErrorStatus.FromString(value), details)
            except DecodeError:
                # The code and the message still say what happened; a garbled trailer adds nothing.
                return _Details()
    return details


def _read_status(status: wire.ErrorStatus, details: _Details) -> None:
    details.message = status.message
    for packed in status.details:
        match packed.type_url.rpartition("/")[2]:
            case "google.rpc.ErrorInfo":
                told = wire.ErrorInfo.FromString(packed.value)
                details.reason, details.metadata = told.reason, dict(told.metadata)
            case "google.rpc.BadRequest":
                fields = wire.BadRequest.FromString(packed.value).field_violations
                details.violations += [Violation(each.field, each.description) for each in fields]
            case "google.rpc.QuotaFailure":
                quotas = wire.QuotaFailure.FromString(packed.value).violations
                details.violations += [Violation(each.subject, each.description) for each in quotas]
            case "google.rpc.RetryInfo":
                delay = wire.RetryInfo.FromString(packed.value).retry_delay
                details.retry_after = seconds_of(delay)
            case "lavagna.v1.ConflictDetail":
                conflict = wire.ConflictDetail.FromString(packed.value)
                details.failed += [failed_of(each) for each in conflict.failed_conditions]
            case "lavagna.v1.ResumeDetail":
                details.token = wire.ResumeDetail.FromString(packed.value).token
            case _:
                pass
