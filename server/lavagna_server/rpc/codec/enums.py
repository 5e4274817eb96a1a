"""Enums: each member's number on the wire.

Enums of proto3 are open, so any number may arrive; one that the server does not know is refused rather than guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Generic, TypeVar

from lavagna.v1 import (
    activations_pb2,
    agents_pb2,
    boards_pb2,
    consensus_pb2,
    entries_pb2,
    triggers_pb2,
    watch_pb2,
)
from lavagna_server.domain.agenda import ActivationState
from lavagna_server.domain.agents import Role
from lavagna_server.domain.consensus.polls import Choice, Outcome
from lavagna_server.domain.entries import ChangeType, Kind, Occasion
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.regions import Policy
from lavagna_server.domain.triggers import Mode
from lavagna_server.engine.evaluation import Verdict

E = TypeVar("E", bound=Enum)
N = TypeVar("N", bound=int)


class EnumCodec(Generic[E, N]):
    """One enum in both forms."""

    def __init__(self, title: str, numbers: Mapping[E, N], *, default: E | None = None) -> None:
        self._title = title
        self._numbers = dict(numbers)
        self._members: dict[int, E] = {number: member for member, number in numbers.items()}
        if default is not None:
            self._members[0] = default

    def to_wire(self, member: E) -> N:
        """The number of a member."""
        return self._numbers[member]

    def from_wire(self, number: int, *, field: str) -> E:
        """The member of a number; 0 is the default where the contract names one.

        Raises:
            Invalid: The number means nothing to this server.
        """
        member = self._members.get(number)
        if member is None:
            raise Invalid(field, f"{number} is not a {self._title} that this server knows")
        return member

    def set_from_wire(self, numbers: Iterable[int], *, field: str) -> frozenset[E]:
        """The members of a repeated field."""
        return frozenset(
            self.from_wire(number, field=f"{field}[{index}]")
            for index, number in enumerate(numbers)
        )

    @property
    def members(self) -> Iterable[E]:
        """Every member that has a number."""
        return self._numbers.keys()


KINDS: EnumCodec[Kind, entries_pb2.Kind.ValueType] = EnumCodec(
    "kind",
    {
        Kind.NOTE: entries_pb2.KIND_NOTE,
        Kind.PROPOSAL: entries_pb2.KIND_PROPOSAL,
        Kind.BALLOT: entries_pb2.KIND_BALLOT,
        Kind.CLAIM: entries_pb2.KIND_CLAIM,
    },
    default=Kind.NOTE,
)

CHANGE_TYPES: EnumCodec[ChangeType, entries_pb2.ChangeType.ValueType] = EnumCodec(
    "type of change",
    {
        ChangeType.CREATED: entries_pb2.CHANGE_TYPE_CREATED,
        ChangeType.UPDATED: entries_pb2.CHANGE_TYPE_UPDATED,
        ChangeType.DELETED: entries_pb2.CHANGE_TYPE_DELETED,
        ChangeType.EXPIRED: entries_pb2.CHANGE_TYPE_EXPIRED,
        ChangeType.PROPOSED: entries_pb2.CHANGE_TYPE_PROPOSED,
        ChangeType.DECIDED: entries_pb2.CHANGE_TYPE_DECIDED,
    },
)

OCCASIONS: EnumCodec[Occasion, watch_pb2.Occasion.ValueType] = EnumCodec(
    "occasion",
    {
        Occasion.WRITE: watch_pb2.OCCASION_WRITE,
        Occasion.EXPIRY: watch_pb2.OCCASION_EXPIRY,
        Occasion.QUIESCENCE: watch_pb2.OCCASION_QUIESCENCE,
        Occasion.COMPACTION: watch_pb2.OCCASION_COMPACTION,
    },
)

POLICIES: EnumCodec[Policy, boards_pb2.Policy.ValueType] = EnumCodec(
    "policy",
    {
        Policy.LATEST: boards_pb2.POLICY_LATEST,
        Policy.GUARDED: boards_pb2.POLICY_GUARDED,
        Policy.OWNER: boards_pb2.POLICY_OWNER,
        Policy.QUORUM: boards_pb2.POLICY_QUORUM,
        Policy.WEIGHTED: boards_pb2.POLICY_WEIGHTED,
    },
    default=Policy.GUARDED,
)

ROLES: EnumCodec[Role, agents_pb2.Role.ValueType] = EnumCodec(
    "role",
    {
        Role.OBSERVER: agents_pb2.ROLE_OBSERVER,
        Role.AGENT: agents_pb2.ROLE_AGENT,
        Role.ADMIN: agents_pb2.ROLE_ADMIN,
    },
    default=Role.AGENT,
)

CHOICES: EnumCodec[Choice, consensus_pb2.Choice.ValueType] = EnumCodec(
    "choice",
    {
        Choice.ACCEPT: consensus_pb2.CHOICE_ACCEPT,
        Choice.REJECT: consensus_pb2.CHOICE_REJECT,
        Choice.ABSTAIN: consensus_pb2.CHOICE_ABSTAIN,
    },
)

OUTCOMES: EnumCodec[Outcome, consensus_pb2.Outcome.ValueType] = EnumCodec(
    "outcome",
    {
        Outcome.OPEN: consensus_pb2.OUTCOME_OPEN,
        Outcome.ACCEPTED: consensus_pb2.OUTCOME_ACCEPTED,
        Outcome.REJECTED: consensus_pb2.OUTCOME_REJECTED,
        Outcome.UNDECIDED: consensus_pb2.OUTCOME_UNDECIDED,
        Outcome.SUPERSEDED: consensus_pb2.OUTCOME_SUPERSEDED,
        Outcome.WITHDRAWN: consensus_pb2.OUTCOME_WITHDRAWN,
    },
)

MODES: EnumCodec[Mode, triggers_pb2.TriggerMode.ValueType] = EnumCodec(
    "trigger mode",
    {
        Mode.EDGE: triggers_pb2.TRIGGER_MODE_EDGE,
        Mode.EVERY: triggers_pb2.TRIGGER_MODE_EVERY,
        Mode.DUE: triggers_pb2.TRIGGER_MODE_DUE,
    },
    default=Mode.EDGE,
)

VERDICTS: EnumCodec[Verdict, triggers_pb2.Verdict.ValueType] = EnumCodec(
    "verdict",
    {
        Verdict.TRUE: triggers_pb2.VERDICT_TRUE,
        Verdict.FALSE: triggers_pb2.VERDICT_FALSE,
        Verdict.ERROR: triggers_pb2.VERDICT_ERROR,
    },
)

ACTIVATION_STATES: EnumCodec[ActivationState, activations_pb2.ActivationState.ValueType] = (
    EnumCodec(
        "state of an activation",
        {
            ActivationState.WAITING: activations_pb2.ACTIVATION_STATE_WAITING,
            ActivationState.HELD: activations_pb2.ACTIVATION_STATE_HELD,
            ActivationState.LEASED: activations_pb2.ACTIVATION_STATE_LEASED,
            ActivationState.COMPLETED: activations_pb2.ACTIVATION_STATE_COMPLETED,
            ActivationState.OBVIATED: activations_pb2.ACTIVATION_STATE_OBVIATED,
            ActivationState.DEAD: activations_pb2.ACTIVATION_STATE_DEAD,
            ActivationState.CANCELLED: activations_pb2.ACTIVATION_STATE_CANCELLED,
            ActivationState.EXPIRED: activations_pb2.ACTIVATION_STATE_EXPIRED,
            ActivationState.OVERRUN: activations_pb2.ACTIVATION_STATE_OVERRUN,
        },
    )
)
