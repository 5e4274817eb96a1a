"""Proposals: writes that wait, or waited, for votes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from lavagna.values import Value


class Choice(StrEnum):
    """What a ballot says."""

    ACCEPT = "accept"
    REJECT = "reject"
    ABSTAIN = "abstain"
    """Neither; the weight can no longer be won for it."""
    UNKNOWN = "unknown"


class Outcome(StrEnum):
    """How a proposal stands or ended."""

    OPEN = "open"
    """It waits for votes."""
    ACCEPTED = "accepted"
    """Enough accepted; the entry was changed in the same revision."""
    REJECTED = "rejected"
    """It cannot be accepted any more, or somebody vetoed it."""
    UNDECIDED = "undecided"
    """A tie, or the deadline came first."""
    SUPERSEDED = "superseded"
    """The entry, or the schema it must obey, changed since it was proposed."""
    WITHDRAWN = "withdrawn"
    """Its author, or an administrator, took it back."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Elector:
    """Somebody who may vote on a proposal, as frozen when it was made."""

    agent: str
    weight: float
    """How much its ballot weighs, after the cap of its group."""
    group: str
    """The voter group: agents of one are no independent witnesses of each other."""
    veto: bool
    """Whether it can reject alone; acceptance waits for its ballot until the deadline."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """One agent's vote."""

    agent: str
    choice: Choice
    confidence: float | None
    """How sure the voter is, from 0 to 1."""
    reason: str
    """Why, in the voter's words."""
    version: int
    """Rises when the voter changes its mind."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A write that waits, or waited, for votes, as it stood when it was looked at."""

    key: str
    """Its own key: that of the entry it would change, and a number that the server made."""
    target: str
    """The key of the entry that it would change."""
    base_version: int
    """The version of that entry that it would follow; 0 when there is none."""
    deletes: bool
    """Whether it would delete the entry instead of giving it a value."""
    value: Value
    """What is proposed; None when it would delete, and when history no longer holds it."""
    content_hash: str = field(repr=False)
    """The SHA-256 of all that a vote is about; a ballot names it."""
    author: str
    proposed_at: datetime
    deadline_at: datetime | None
    """When it ends undecided."""
    electors: tuple[Elector, ...]
    """Who may vote."""
    threshold: float
    """The weight that must accept."""
    strict: bool
    """Whether more than that must."""
    groups_min: int
    """From how many voter groups acceptance must come at least."""
    outcome: Outcome
    reason: str
    """Why it stands or ended so, with the count, for people."""
    ballots: tuple[Ballot, ...]
    """By agent; once it is decided those that counted, the dissent among them."""
    decided_by: str
    """The key and version of the deciding ballot; empty where no ballot decided."""
    decided_revision: int
    """The revision at which it was decided; 0 while it is open."""

    @property
    def is_open(self) -> bool:
        """Whether it waits for votes."""
        return self.outcome is Outcome.OPEN

    def ballot(self, agent: str) -> Ballot | None:
        """The agent's vote; None when there is none."""
        return next((each for each in self.ballots if each.agent == agent), None)

    def awaits(self, agent: str) -> bool:
        """Whether it is open, and the agent may vote on it and has not."""
        may_vote = any(each.agent == agent for each in self.electors)
        return self.is_open and may_vote and self.ballot(agent) is None
