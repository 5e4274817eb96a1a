"""What can go wrong, as a tree by remedy.

Everything that the SDK raises for the board's sake is a `LavagnaError`; no type of gRPC leaves it.
A family says what to do next: `NotFound` and `Conflict` look again, `Refused` and `Invalid` change
something, `Exhausted` and `NotInTime` wait, `Unavailable` try later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from lavagna.entries import Entry, FailedCondition


class LavagnaError(Exception):
    """The board did not do what was asked; also raised itself, for faults inside the server."""

    default_reason = "UNKNOWN"
    """The reason of an error that the SDK itself raises."""

    def __init__(
        self, message: str, *, reason: str = "", metadata: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        """What went wrong and what to do, for people."""
        self.reason = reason or self.default_reason
        """The error's name, such as `STALE_VERSION`; stable, for programs."""
        self.metadata: Mapping[str, str] = dict(metadata or {})
        """Every name and number of the message."""


class NotFound(LavagnaError):
    """There is no such thing, or it may not be seen."""

    default_reason = "NOT_FOUND"


class Conflict(LavagnaError):
    """The board moved on since the caller last looked; look again and retry."""

    default_reason = "CONDITION_FAILED"

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        failed: Sequence[FailedCondition] = (),
    ) -> None:
        super().__init__(message, reason=reason, metadata=metadata)
        self.failed = tuple(failed)
        """The conditions that did not hold, each with the entry that was found."""

    @property
    def current(self) -> Entry | None:
        """The entry that the first failed condition found; None when there is none."""
        return self.failed[0].current if self.failed else None


class AlreadyExists(Conflict):
    """There is one of that name already."""

    default_reason = "ALREADY_EXISTS"


class Refused(LavagnaError):
    """A rule of the board forbids it; the same call will be refused again."""

    default_reason = "REFUSED"


class VersionRequired(Refused):
    """The entry exists, and the write said neither which version it saw nor `overwrite`."""

    default_reason = "VERSION_REQUIRED"

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        failed: Sequence[FailedCondition] = (),
    ) -> None:
        super().__init__(message, reason=reason, metadata=metadata)
        self.failed = tuple(failed)
        """The entries in the way."""


class LeaseLost(Refused):
    """The lease ended, or another holder has the activation now; nothing was changed."""

    default_reason = "LEASE_LOST"


class NotVoted(Refused):
    """Nobody votes on what is written there; just write it."""

    default_reason = "NOT_VOTED"


class NotMerged(Refused):
    """Claims are not merged into what is written there."""

    default_reason = "NOT_MERGED"


class QuorumImpossible(Refused):
    """The region asks for more agreement than its electorate can give."""

    default_reason = "QUORUM_IMPOSSIBLE"


class ContentMismatch(Refused):
    """The ballot is about something else than what is proposed; look at the proposal again."""

    default_reason = "CONTENT_MISMATCH"


class PollClosed(Refused):
    """The proposal is decided; no vote counts any more."""

    default_reason = "POLL_CLOSED"

    @property
    def outcome(self) -> str:
        """How it was decided, as `Outcome` spells it; empty when the server did not say."""
        return self.metadata.get("outcome", "")


class Unauthenticated(Refused):
    """The server does not know who is calling."""

    default_reason = "UNAUTHENTICATED"


class PermissionDenied(Refused):
    """The caller may not do this."""

    default_reason = "PERMISSION_DENIED"


class NotAVoter(PermissionDenied):
    """The caller was not in the electorate when the proposal was made."""

    default_reason = "NOT_A_VOTER"


class EpochChanged(Refused):
    """The board was restored from a backup; revisions and tokens from before mean nothing now."""

    default_reason = "EPOCH_CHANGED"


class OutOfRange(Refused):
    """The revision that was asked for cannot be read."""

    default_reason = "OUT_OF_RANGE"


class Compacted(OutOfRange):
    """The revision was given up."""

    default_reason = "COMPACTED"

    @property
    def oldest_revision(self) -> int | None:
        """The oldest revision that can be read, when the server named it."""
        oldest = self.metadata.get("oldest")
        return None if oldest is None else int(oldest)


class FutureRevision(OutOfRange):
    """The revision has not come about yet."""

    default_reason = "FUTURE_REVISION"


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that breaks a rule."""

    field: str
    """The path of the field in the request."""
    description: str
    """The rule and its limit."""


class Invalid(LavagnaError):
    """The request is malformed; nothing was done."""

    default_reason = "INVALID_ARGUMENT"

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[Violation] = (),
    ) -> None:
        super().__init__(message, reason=reason, metadata=metadata)
        self.violations = tuple(violations)
        """The fields that break a rule."""

    @classmethod
    def field(cls, field: str, description: str) -> Self:
        """The error for one field that the SDK itself can tell is wrong."""
        return cls(f"{field}: {description}", violations=[Violation(field, description)])


class Exhausted(LavagnaError):
    """A quota or a limit is used up."""

    default_reason = "RESOURCE_EXHAUSTED"

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[Violation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, reason=reason, metadata=metadata)
        self.violations = tuple(violations)
        """The quotas that are used up: whose in `field`, which in `description`."""
        self.retry_after = retry_after
        """How many seconds to wait before the next try, when the server said so."""


class SlowConsumer(Exhausted):
    """The watch was read too slowly, so the server closed it; `token` goes on from there."""

    default_reason = "SLOW_CONSUMER"

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        token: str = "",
    ) -> None:
        super().__init__(message, reason=reason, metadata=metadata)
        self.token = token
        """Resumes the watch."""


class Unavailable(LavagnaError):
    """The server cannot be reached or is going down; the SDK has retried within its bounds."""

    default_reason = "UNAVAILABLE"


class TimedOut(Unavailable):
    """There was no answer in the time that the call was given."""

    default_reason = "DEADLINE_EXCEEDED"


class Closed(Unavailable):
    """The connection was closed on this side."""

    default_reason = "CLOSED"


class NotInTime(LavagnaError, TimeoutError):
    """What was waited for did not come about in the time that the wait was given."""

    default_reason = "TIMED_OUT"


class BrokenChain(LavagnaError):
    """A watch did not prove that it is complete, so changes may be missing."""

    default_reason = "BROKEN_CHAIN"
