"""What can go wrong on a board, as a tree by remedy.

Errors are raised where the rule lives and carry typed attributes; the message is built in the class.
The table that maps families to gRPC statuses lives in `rpc.errors` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from datetime import datetime

    from lavagna_server.domain.entries import Entry


class BoardError(Exception):
    """Anything that a caller can be told about; `reason` is its stable name on the wire."""

    reason: ClassVar[str] = ""

    @property
    def numbers(self) -> dict[str, str]:
        """Every name and number of the message, for programs; set attributes become entries."""
        return {name: str(value) for name, value in vars(self).items() if not name.startswith("_")}


class NotFound(BoardError):
    """Nothing of that name exists for this caller."""

    reason = "NOT_FOUND"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} does not exist or may not be read")
        self.what = what


@dataclass(frozen=True, slots=True)
class FailedCondition:
    """A condition that did not hold, with what the loser needs to decide again."""

    key: str
    current: Entry | None
    """The entry as it is now; None when there is none that the caller may read."""
    message: str


class Conflict(BoardError):
    """The board moved on since the caller last looked; look again and retry."""


class ConditionFailed(Conflict):
    """At least one condition of a commit does not hold."""

    reason = "CONDITION_FAILED"

    def __init__(self, failed: Sequence[FailedCondition]) -> None:
        super().__init__("; ".join(each.message for each in failed))
        self._failed = tuple(failed)

    @property
    def failed(self) -> tuple[FailedCondition, ...]:
        """The conditions that do not hold, in the request's order."""
        return self._failed


class StaleVersion(ConditionFailed):
    """A write expected a version that is not the entry's newest."""

    reason = "STALE_VERSION"


class StaleRecord(Conflict):
    """A board, region or trigger was changed since the caller last looked."""

    reason = "STALE_RECORD"

    def __init__(self, name: str, *, expected: int, current: int) -> None:
        super().__init__(f"{name} is at version {current}, not {expected}: get it again")
        self.name, self.expected, self.current = name, expected, current


class AlreadyExists(Conflict):
    """Something of that name exists already."""

    reason = "ALREADY_EXISTS"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} exists already")
        self.name = name


class Refused(BoardError):
    """A rule of the board forbids it; retrying the same changes nothing."""


class VersionRequired(Refused):
    """A guarded entry exists, or may exist, and the write did not say which version it saw."""

    reason = "VERSION_REQUIRED"

    def __init__(self, key: str, *, current: Entry | None) -> None:
        super().__init__(
            f"{key} may not be read by you, so that you cannot know its version: say overwrite, or append"
            if current is None
            else f"{key} exists at version {current.version}, written by {current.author}: "
            "give the expected version that you saw, or say overwrite"
        )
        self.key, self._current = key, current

    @property
    def failed(self) -> tuple[FailedCondition, ...]:
        """The entry in the way as far as the caller may read it, in the form that conflicts use."""
        return (FailedCondition(self.key, self._current, str(self)),)


class LeaseLost(Refused):
    """A lease token is not, or no longer, the right to work on its activation."""

    reason = "LEASE_LOST"

    def __init__(self, activation: str, why: str) -> None:
        super().__init__(f"the lease on activation {activation} is lost: {why}; acquire again")
        self.activation, self.why = activation, why


class WrongState(Refused):
    """An activation is in a state in which this cannot be done to it."""

    reason = "WRONG_STATE"

    def __init__(self, activation: str, *, state: str, needs: str) -> None:
        super().__init__(f"activation {activation} is {state}; this needs it to be {needs}")
        self.activation, self.state, self.needs = activation, state, needs


class NotVoted(Refused):
    """Nobody votes on what is written there."""

    reason = "NOT_VOTED"

    def __init__(self, key: str, *, policy: str) -> None:
        super().__init__(
            f"a write of {key} waits for nobody's vote: the policy there is {policy}; just write it"
        )
        self.key, self.policy = key, policy


class NotMerged(Refused):
    """No claims are merged into what is written there."""

    reason = "NOT_MERGED"

    def __init__(self, key: str, *, policy: str) -> None:
        super().__init__(f"claims about {key} are not merged: the policy there is {policy}")
        self.key, self.policy = key, policy


class QuorumImpossible(Refused):
    """A region asks for more agreement than its electorate can give."""

    reason = "QUORUM_IMPOSSIBLE"

    def __init__(self, region: str, *, needs: str, has: str) -> None:
        super().__init__(
            f"nothing can be accepted in region {region}: it needs {needs}, but has {has}; "
            "register agents, or name other voters"
        )
        self.region, self.needs, self.has = region, needs, has


class ContentMismatch(Refused):
    """A vote names something else than what is proposed."""

    reason = "CONTENT_MISMATCH"

    def __init__(self, proposal: str, *, content_hash: str, base_version: int) -> None:
        super().__init__(
            f"the ballot is about something else than {proposal}, whose content hash is {content_hash} "
            f"and base version {base_version}: look at it again"
        )
        self.proposal, self.content_hash, self.base_version = proposal, content_hash, base_version


class PollClosed(Refused):
    """A proposal is decided; no vote counts any more."""

    reason = "POLL_CLOSED"

    def __init__(self, proposal: str, *, outcome: str, why: str) -> None:
        super().__init__(f"{proposal} is {outcome}: {why}")
        self.proposal, self.outcome, self.why = proposal, outcome, why


class EpochChanged(Refused):
    """A position belongs to another life of the board, before a restore."""

    reason = "EPOCH_CHANGED"

    def __init__(self, *, expected: str, current: str) -> None:
        super().__init__("the board was restored or made anew since: start with initial_state")
        self.expected, self.current = expected, current


class FilterMismatch(Refused):
    """A watch was resumed with other targets than it was started with."""

    reason = "FILTER_MISMATCH"

    def __init__(self) -> None:
        super().__init__("the token belongs to a watch with other targets: resume with the same")


class PermissionDenied(Refused):
    """The caller may know of it but not do it."""

    reason = "PERMISSION_DENIED"


class NotAWriter(PermissionDenied):
    """The caller may not write in the region that holds the key."""

    reason = "NOT_A_WRITER"

    def __init__(self, key: str, *, region: str, agent: str) -> None:
        super().__init__(f"{agent} may not write {key}: region {region} does not list it")
        self.key, self.region, self.agent = key, region, agent


class NotAVoter(PermissionDenied):
    """The caller was not in the electorate when the proposal was made."""

    reason = "NOT_A_VOTER"

    def __init__(self, proposal: str, *, agent: str) -> None:
        super().__init__(f"{agent} is not in the electorate of {proposal}")
        self.proposal, self.agent = proposal, agent


class RoleRequired(PermissionDenied):
    """The method needs a higher role than the caller has."""

    reason = "ROLE_REQUIRED"

    def __init__(self, *, agent: str, role: str, needs: str) -> None:
        super().__init__(f"{agent} is {role}; this needs {needs}")
        self.agent, self.role, self.needs = agent, role, needs


class Unauthenticated(BoardError):
    """The caller did not say who it is, or could not prove it."""

    reason = "UNAUTHENTICATED"

    def __init__(self, why: str) -> None:
        super().__init__(why)


class Invalid(BoardError):
    """The request breaks a rule that does not depend on the board."""

    reason = "INVALID_REQUEST"

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")
        self.field, self.rule = field, rule


class RequestReused(Invalid):
    """A request id was used before, for something else."""

    reason = "REQUEST_ID_REUSED"

    def __init__(self, request_id: str) -> None:
        super().__init__("request_id", f"{request_id} was used for another request: make a new id")


class OutOfRange(BoardError):
    """A revision cannot be read, and nothing else is given in its place."""


class Compacted(OutOfRange):
    """The history at a revision was given up."""

    reason = "COMPACTED"

    def __init__(self, *, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} was compacted; the oldest readable is {oldest}")
        self.revision, self.oldest = revision, oldest


class FutureRevision(OutOfRange):
    """A revision has not happened yet."""

    reason = "FUTURE_REVISION"

    def __init__(self, *, revision: int, newest: int) -> None:
        super().__init__(f"revision {revision} has not happened; the newest is {newest}")
        self.revision, self.newest = revision, newest


class Exhausted(BoardError):
    """A named limit or quota is used up."""

    reason = "LIMIT_REACHED"

    def __init__(
        self, limit: str, *, maximum: int, subject: str, retry_seconds: float | None = None
    ) -> None:
        super().__init__(f"{subject}: {limit} is limited to {maximum}")
        self.limit, self.maximum, self.subject = limit, maximum, subject
        self._retry_seconds = retry_seconds

    @property
    def retry_seconds(self) -> float | None:
        """When it is worth trying again; None when waiting does not help."""
        return self._retry_seconds


class SlowConsumer(Exhausted):
    """A watcher did not take what it was sent for too long."""

    reason = "SLOW_CONSUMER"

    def __init__(self, *, stall_seconds: int, token: str) -> None:
        super().__init__("stall seconds", maximum=stall_seconds, subject="this watch")
        self._token = token

    @property
    def token(self) -> str:
        """Where to take up the stream again."""
        return self._token


class Unavailable(BoardError):
    """The server cannot answer now; the same request may succeed soon."""


class ShuttingDown(Unavailable):
    """The server is going down."""

    reason = "SHUTTING_DOWN"

    def __init__(self) -> None:
        super().__init__("the server is going down: retry, and resume streams with their tokens")


class StorageFailed(Unavailable):
    """The storage refused a group of commits; nothing of it took effect."""

    reason = "STORAGE_FAILED"

    def __init__(self, why: str) -> None:
        super().__init__(f"nothing was written: {why}")


class StartRefused(Unavailable):
    """The server cannot start on what it was given."""

    reason = "START_REFUSED"

    def __init__(self, why: str) -> None:
        super().__init__(why)


def expired(moment: datetime) -> str:
    """How an expiry is worded in messages."""
    return f"it ended at {moment.isoformat(timespec='milliseconds')}"
