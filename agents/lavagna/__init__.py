"""What an agent needs to join a board."""

from lavagna.activations import Activation, ActivationState, Lease
from lavagna.agent import Agent
from lavagna.board import Board, connect
from lavagna.boards import BoardSettings
from lavagna.changes import Append, Delete, Patch, Put
from lavagna.channel import Tls
from lavagna.conditions import Absent, Exists, UnchangedSince, ValueIs, VersionIs
from lavagna.entries import (
    Cause,
    ChangeType,
    Committed,
    Difference,
    Entry,
    FailedCondition,
    Kind,
    Space,
    Written,
)
from lavagna.errors import (
    AlreadyExists,
    BrokenChain,
    Compacted,
    Conflict,
    EpochChanged,
    Exhausted,
    FutureRevision,
    Invalid,
    LavagnaError,
    LeaseLost,
    NotFound,
    OutOfRange,
    PermissionDenied,
    Refused,
    SlowConsumer,
    Unauthenticated,
    Unavailable,
)
from lavagna.members import Member, Role, Welcome
from lavagna.regions import Policy, Region, Retention
from lavagna.retry import Retry
from lavagna.triggers import Evaluation, Limits, Mode, Schedule, Source, Trial, Trigger, Verdict
from lavagna.watch import Commit, Occasion, State, Target, Watch
from lavagna.work import Work

__all__ = [
    "Absent",
    "Activation",
    "ActivationState",
    "Agent",
    "AlreadyExists",
    "Append",
    "Board",
    "BoardSettings",
    "BrokenChain",
    "Cause",
    "ChangeType",
    "Commit",
    "Committed",
    "Compacted",
    "Conflict",
    "Delete",
    "Difference",
    "Entry",
    "EpochChanged",
    "Evaluation",
    "Exhausted",
    "Exists",
    "FailedCondition",
    "FutureRevision",
    "Invalid",
    "Kind",
    "LavagnaError",
    "Lease",
    "LeaseLost",
    "Limits",
    "Member",
    "Mode",
    "NotFound",
    "Occasion",
    "OutOfRange",
    "Patch",
    "PermissionDenied",
    "Policy",
    "Put",
    "Refused",
    "Region",
    "Retention",
    "Retry",
    "Role",
    "Schedule",
    "SlowConsumer",
    "Source",
    "Space",
    "State",
    "Target",
    "Tls",
    "Trial",
    "Trigger",
    "Unauthenticated",
    "Unavailable",
    "UnchangedSince",
    "ValueIs",
    "Verdict",
    "VersionIs",
    "Watch",
    "Welcome",
    "Work",
    "Written",
    "connect",
]
