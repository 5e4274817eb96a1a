"""Proposals: what a write becomes where others have a say, and the ballots on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from lavagna_server.domain.consensus.pens import Pen
from lavagna_server.domain.consensus.polls import (
    Ballot,
    Choice,
    Elector,
    Outcome,
    Poll,
    content_hash,
    outcome,
    poll_basis,
    poll_of,
)
from lavagna_server.domain.entries import (
    Change,
    ChangeType,
    Entry,
    EntryId,
    Kind,
    Operation,
)
from lavagna_server.domain.errors import (
    ContentMismatch,
    Exhausted,
    NotAVoter,
    PollClosed,
    QuorumImpossible,
)
from lavagna_server.domain.keys import normal_key
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.patches import compact
from lavagna_server.domain.regions import EVERYONE, Electorate, Policy, Region
from lavagna_server.domain.standings import Standings
from lavagna_server.domain.values import Form, Json, Value

_NOTHING = Value(Form.JSON, "null")
"""What a proposal to delete holds."""
_TOO_LATE = "its deadline has come, and no vote counts any more"


def opened(
    change: Change,
    before: Entry | None,
    value: Value | None,
    *,
    region: Region,
    standings: Standings,
    ordinal: int,
    pen: Pen,
    limits: Limits,
    field: str,
) -> Entry:
    """The proposal that a change becomes, with its electorate frozen (C1).

    Raises:
        QuorumImpossible: The electorate could never accept it.
        Exhausted: The electorate is larger than any may be.
        Invalid: The key is too long for a proposal's and its ballots'.
    """
    key = f"{change.id.key}/{pen.revision:012d}-{ordinal:03d}"
    key = normal_key(key, field=f"{field}.key", limits=limits)
    terms = region.electorate if region.policy is Policy.QUORUM else Electorate.of(region.owner)
    electors = standings.electors(_seeing(terms, region, standings))
    if len(electors) > limits.electors_max:
        raise Exhausted("electors_max", maximum=limits.electors_max, subject=region.path)
    poll = _poll(change, before, value, terms, electors, pen.author)
    _check_possible(poll, region)
    longest = max((each.agent for each in poll.electors), key=len)
    normal_key(ballot_key(key, longest), field=f"{field}.key", limits=limits)
    return Entry(
        Kind.PROPOSAL,
        key,
        1,
        pen.revision,
        ChangeType.PROPOSED,
        value or _NOTHING,
        pen.author,
        pen.at,
        change.tags,
        change.confidence,
        change.sources,
        pen.at + terms.deadline,
        pen.cause,
        poll_basis(poll),
    )


def threshold(terms: Electorate, electors: Iterable[Elector]) -> tuple[float, bool]:
    """The weight that must accept, and whether more than that is needed.

    A share of up to one half must be exceeded, so that half of all is no majority and no tie wins.
    """
    if terms.approvals:
        return terms.approvals, False
    share = Fraction(terms.share or 0.5).limit_denominator(10**6)
    total = Fraction(math.fsum(each.weight for each in electors))
    return float(share * total), share <= Fraction(1, 2)


def check_open(proposal: Entry, at: datetime) -> Poll:
    """The poll of a proposal on which something may still be said.

    Raises:
        PollClosed: It is decided, or about to be: its deadline has come.
    """
    poll = poll_of(proposal)
    if poll.outcome is not Outcome.OPEN:
        raise PollClosed(proposal.key, outcome=poll.outcome.value, why=poll.reason)
    if is_over(proposal, at):
        raise PollClosed(proposal.key, outcome=Outcome.OPEN.value, why=_TOO_LATE)
    return poll


def is_over(proposal: Entry, at: datetime) -> bool:
    """Whether the deadline of a proposal has come, so that time alone decides on it."""
    return proposal.expires_at is not None and proposal.expires_at <= at


def cast(
    proposal: Entry,
    before: Entry | None,
    ballot: Ballot,
    *,
    hashed: str,
    base_version: int,
    pen: Pen,
) -> Entry:
    """The entry that a vote becomes; a later one of the same voter takes the place of the earlier (C1).

    Raises:
        NotAVoter: The voter is not in the electorate.
        PollClosed: The proposal is decided, or about to be: its deadline has come.
        ContentMismatch: The vote is about something else than what is proposed (C2).
    """
    poll = poll_of(proposal)
    if poll.elector(ballot.voter) is None:
        raise NotAVoter(proposal.key, agent=ballot.voter)
    check_open(proposal, pen.at)
    if (hashed, base_version) != (poll.content_hash, poll.base_version):
        raise ContentMismatch(
            proposal.key, content_hash=poll.content_hash, base_version=poll.base_version
        )
    return _written(proposal, poll, before, ballot, pen)


def authors_ballot(proposal: Entry, pen: Pen) -> Entry | None:
    """The vote that lies in proposing; None when the author has none."""
    poll = poll_of(proposal)
    if poll.elector(proposal.author) is None:
        return None
    ballot = Ballot(proposal.author, Choice.ACCEPT, proposal.confidence, "proposed it")
    return _written(proposal, poll, None, ballot, pen)


def closed(
    proposal: Entry,
    ended: Outcome,
    why: str,
    ballots: Iterable[Ballot],
    *,
    decided_by: str,
    is_new: bool,
    pen: Pen,
) -> Entry:
    """The version that ends a proposal, with all ballots, the dissenting ones too.

    It is the only version of one that was opened in the same commit (`is_new`), and so still holds what was proposed.
    """
    poll = replace(
        poll_of(proposal),
        outcome=ended,
        ballots=tuple(sorted(ballots, key=lambda ballot: ballot.voter)),
        decided_by=decided_by,
        reason=why,
    )
    end = proposal.ended(
        ChangeType.DECIDED,
        revision=pen.revision,
        author=pen.author,
        at=pen.at,
        cause=pen.cause,
    )
    if is_new:
        end = replace(
            end,
            version=proposal.version,
            value=proposal.value,
            tags=proposal.tags,
            confidence=proposal.confidence,
            sources=proposal.sources,
        )
    return replace(end, basis=poll_basis(poll))


def ballot_key(proposal: str, voter: str) -> str:
    """Where a voter's ballot lies. The sign keeps it apart from what people name: no agent's or region's own name begins with it."""
    return f"{proposal}/@{voter}"


def proposal_of(ballot: Entry) -> EntryId:
    """The proposal that a ballot is about."""
    return EntryId(Kind.PROPOSAL, ballot.key.rpartition("/")[0])


def _poll(
    change: Change,
    before: Entry | None,
    value: Value | None,
    terms: Electorate,
    electors: tuple[Elector, ...],
    author: str,
) -> Poll:
    operation = Operation.DELETE if value is None else Operation.PUT
    base_version = before.version if before else 0
    labels = (change.tags, change.confidence, change.sources, change.ttl and str(change.ttl))
    return Poll(
        change.id.key,
        operation,
        base_version,
        author,
        content_hash(change.id.key, base_version, operation, value or _NOTHING, labels),
        electors,
        *threshold(terms, electors),
        groups_min=terms.groups_min,
        ttl=change.ttl,
        deadline=terms.deadline,
    )


def _seeing(terms: Electorate, region: Region, standings: Standings) -> Electorate:
    """The terms with only those voters who may read what they would vote on: nobody else could, and the poll would wait for them."""
    if not region.readers or EVERYONE in region.readers:
        return terms
    readers = standings.named((*region.readers, region.owner))
    seeing = (
        replace(voters, name=agent)
        for voters in terms.voters
        for agent in sorted(standings.named((voters.name,)) & readers)
    )
    return replace(terms, voters=tuple(seeing))


def _written(proposal: Entry, poll: Poll, before: Entry | None, ballot: Ballot, pen: Pen) -> Entry:
    said: dict[str, Json] = {
        "base_version": poll.base_version,
        "choice": ballot.choice.value,
        "content_hash": poll.content_hash,
        "reason": ballot.reason,
    }
    return Entry(
        Kind.BALLOT,
        ballot_key(proposal.key, ballot.voter),
        (before.version if before else 0) + 1,
        pen.revision,
        ChangeType.UPDATED if before is not None and before.exists else ChangeType.CREATED,
        Value(Form.JSON, compact(said)),
        ballot.voter,
        pen.at,
        confidence=ballot.confidence,
        cause=pen.cause,
    )


def _check_possible(poll: Poll, region: Region) -> None:
    """Checks that the electorate can accept, when all of it does."""
    everybody = [Ballot(each.agent, Choice.ACCEPT) for each in poll.electors]
    if outcome(poll, everybody)[0] is Outcome.ACCEPTED:
        return
    if not poll.electors:
        raise QuorumImpossible(region.path, needs="somebody who may vote and read", has="nobody")
    total = math.fsum(each.weight for each in poll.electors)
    groups = len({each.group or each.agent for each in poll.electors})
    raise QuorumImpossible(
        region.path,
        needs=f"{poll.threshold:g} from {max(poll.groups_min, 1)} group(s)",
        has=f"{len(poll.electors)} voter(s) of weight {total:g} in {groups} group(s)",
    )
