"""Polls: who may vote on a proposal, how the ballots stand, and when they have decided.

Pure: an outcome is a function of the frozen poll and the set of ballots, whatever their order. Weights are added exactly (`math.fsum`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from lavagna_server.domain.entries import Entry, Operation
from lavagna_server.domain.values import Value

NEARLY = 1e-14
"""Sums of weights that differ by less, in proportion, are the same: a share of a total is rarely a binary fraction. In proportion, because
light voters count too; far more than what rounding makes of any electorate."""

_SPANS = ("ttl", "deadline")
"""The terms of a poll that are spans of time."""


class Choice(StrEnum):
    """What a ballot says."""

    ACCEPT = "accept"
    REJECT = "reject"
    ABSTAIN = "abstain"


class Outcome(StrEnum):
    """How a poll stands or ended."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNDECIDED = "undecided"
    """A tie, or the deadline came first."""
    SUPERSEDED = "superseded"
    """The entry, or the rule it must obey, changed since the proposal was made."""
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Elector:
    """Somebody who may vote, as frozen when the poll opened (C1)."""

    agent: str
    weight: float = 1.0
    group: str = ""
    """Whom it is no independent witness of; its own name when nothing else was said."""
    veto: bool = False


@dataclass(frozen=True, slots=True)
class Ballot:
    """One agent's vote."""

    voter: str
    choice: Choice
    confidence: float | None = None
    reason: str = ""
    version: int = 1
    """Of the ballot's entry; a voter may change its mind while the poll is open."""


@dataclass(frozen=True, slots=True)
class Poll:
    """A proposal's terms, frozen when it opens, and how it ended."""

    target: str
    """The key of the entry that would change."""
    operation: Operation
    """PUT or DELETE; a patch is proposed as what it comes to."""
    base_version: int
    """The version of the target that the proposal would follow."""
    author: str
    """Who proposed it."""
    content_hash: str
    electors: tuple[Elector, ...]
    threshold: float
    """The weight that must accept."""
    strict: bool = False
    """Whether more than the threshold is needed, so that half is no majority."""
    groups_min: int = 0
    """From how many voter groups acceptance must come at least."""
    ttl: timedelta | None = None
    """How long the target lives once accepted."""
    outcome: Outcome = Outcome.OPEN
    ballots: tuple[Ballot, ...] = ()
    """All that counted, once decided; by voter, and without their reasons, which stay in the ballots' own entries."""
    decided_by: str = ""
    """The deciding ballot's key and version; empty for a deadline, a withdrawal, or a moved base."""
    reason: str = ""
    """Why it ended so, for people."""
    deadline: timedelta | None = None
    """How long after it was made it ends."""

    def elector(self, agent: str) -> Elector | None:
        """The agent's place in the electorate."""
        return next((each for each in self.electors if each.agent == agent), None)


@dataclass(frozen=True, slots=True)
class Tally:
    """How the weights stand."""

    accept: float
    reject: float
    abstain: float
    open: float
    """Of those who have not voted."""
    groups: frozenset[str]
    """The groups from which acceptance came."""
    groups_open: frozenset[str]
    """Those from which it may still come; none once everybody has voted."""


def content_hash(
    target: str, base_version: int, operation: Operation, value: Value, labels: tuple[object, ...]
) -> str:
    """The SHA-256 of everything that a vote is about, in hexadecimal (C2)."""
    raw = value.content if isinstance(value.content, bytes) else value.content.encode()
    head = json.dumps([target, base_version, operation.value, value.form.value, labels])
    return hashlib.sha256(f"{head}\n".encode() + raw).hexdigest()


def tally(poll: Poll, ballots: Iterable[Ballot]) -> Tally:
    """How the ballots stand; those of agents outside the electorate do not count."""
    by_voter = {ballot.voter: ballot.choice for ballot in ballots}
    weights: dict[Choice | None, list[float]] = {}
    groups: dict[Choice | None, set[str]] = {}
    for elector in poll.electors:
        choice = by_voter.get(elector.agent)
        weights.setdefault(choice, []).append(elector.weight)
        groups.setdefault(choice, set()).add(elector.group or elector.agent)
    accept, reject, abstain, unsaid = (
        math.fsum(weights.get(choice, ()))
        for choice in (Choice.ACCEPT, Choice.REJECT, Choice.ABSTAIN, None)
    )
    return Tally(
        accept,
        reject,
        abstain,
        unsaid,
        frozenset(groups.get(Choice.ACCEPT, ())),
        frozenset(groups.get(None, ())),
    )


def outcome(
    poll: Poll, ballots: Collection[Ballot], *, is_over: bool = False
) -> tuple[Outcome, str]:
    """What the ballots come to, and why: accepted as soon as enough accept, rejected as soon as that cannot happen any more (C3).

    A tie of all votes is undecided. A veto rejects at once; with enough votes, the holder of a veto is waited for until the deadline
    (`is_over`).
    """
    vetoed = _vetoed(poll, ballots)
    if vetoed:
        return Outcome.REJECTED, f"vetoed by {vetoed}"
    stand = tally(poll, ballots)
    score = f"{stand.accept:g} of {_total(poll):g} accept, {_needed(poll)}"
    if _reaches(poll, stand.accept, stand.groups):
        waited_for = [] if is_over else _silent_vetoes(poll, ballots)
        if not waited_for:
            return Outcome.ACCEPTED, score
        score += f"; waiting for {', '.join(waited_for)}, who may veto"
    elif not _reaches(poll, stand.accept + stand.open, stand.groups | stand.groups_open):
        if not stand.groups_open and _is_tie(stand):
            return Outcome.UNDECIDED, f"a tie: {stand.accept:g} accept, {stand.reject:g} reject"
        return Outcome.REJECTED, f"{score}, which cannot be reached any more"
    elif is_over:
        return Outcome.UNDECIDED, f"the deadline came first: {score}"
    return Outcome.OPEN, score


def standing(poll: Poll, entries: Iterable[Entry]) -> Poll:
    """The poll with the outcome, its reason and the ballots as they stand, each with its own reason as far as its entry is known.

    While it is open all of that is counted anew; once it is decided, what counted is on record.
    """
    cast = [ballot_of(entry) for entry in entries]
    if poll.outcome is Outcome.OPEN:
        return replace(poll, ballots=tuple(cast), reason=outcome(poll, cast)[1])
    reasons = {(each.voter, each.version): each.reason for each in cast}
    told = (
        replace(each, reason=reasons.get((each.voter, each.version), "")) for each in poll.ballots
    )
    return replace(poll, ballots=tuple(told))


def ballot_of(entry: Entry) -> Ballot:
    """The ballot that an entry of the kind `ballot` holds."""
    assert entry.value is not None
    said = entry.value.decoded()
    return Ballot(
        entry.author, Choice(said["choice"]), entry.confidence, said["reason"], entry.version
    )


def poll_of(entry: Entry) -> Poll:
    """The poll of an entry of the kind `proposal`."""
    stored: dict[str, Any] = json.loads(entry.basis)["poll"]
    stored["operation"] = Operation(stored["operation"])
    stored["electors"] = tuple(Elector(**each) for each in stored["electors"])
    stored["outcome"] = Outcome(stored["outcome"])
    stored["ballots"] = tuple(
        Ballot(**each | {"choice": Choice(each["choice"])}) for each in stored["ballots"]
    )
    for span in _SPANS:
        if stored.get(span) is not None:
            stored[span] = timedelta(microseconds=stored[span])
    return Poll(**stored)


def poll_basis(poll: Poll) -> str:
    """The poll as its proposal carries it."""
    stored = {each.name: getattr(poll, each.name) for each in fields(poll)}
    stored |= {
        "operation": poll.operation.value,
        "electors": [asdict(each) for each in poll.electors],
        "ballots": [_counted(each) for each in poll.ballots],
    }
    for span in _SPANS:
        if stored[span] is not None:
            stored[span] //= timedelta(microseconds=1)
    return json.dumps({"poll": stored}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _counted(ballot: Ballot) -> dict[str, Any]:
    """A ballot as a decision rests on it: without its reason, because the reasons of many are too much for one entry."""
    counted = asdict(ballot)
    del counted["reason"]
    return counted


def _total(poll: Poll) -> float:
    return math.fsum(each.weight for each in poll.electors)


def _needed(poll: Poll) -> str:
    groups = f" from {poll.groups_min} groups" if poll.groups_min > 1 else ""
    return f"{'more than' if poll.strict else 'at least'} {poll.threshold:g}{groups} needed"


def _reaches(poll: Poll, weight: float, groups: frozenset[str]) -> bool:
    margin, nearly = weight - poll.threshold, NEARLY * poll.threshold
    enough = margin > nearly if poll.strict else weight > 0 and margin >= -nearly
    return enough and len(groups) >= poll.groups_min


def _is_tie(stand: Tally) -> bool:
    return abs(stand.accept - stand.reject) <= NEARLY * max(stand.accept, stand.reject)


def _vetoed(poll: Poll, ballots: Iterable[Ballot]) -> str:
    holders = {each.agent for each in poll.electors if each.veto}
    vetoes = (each.voter for each in ballots if each.choice is Choice.REJECT)
    return next((voter for voter in sorted(vetoes) if voter in holders), "")


def _silent_vetoes(poll: Poll, ballots: Iterable[Ballot]) -> list[str]:
    voted = {each.voter for each in ballots}
    return [each.agent for each in poll.electors if each.veto and each.agent not in voted]
