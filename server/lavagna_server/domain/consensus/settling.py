"""Settling: what follows, within the same commit, from the proposals, ballots, claims and values in it.

One place for the rule, whatever made the commit: a write, a vote, a deadline. So a deciding ballot and its effect are one revision, and a crash leaves
both or neither.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.consensus.claims import claimed_key, merge_basis
from lavagna_server.domain.consensus.merges import Merges
from lavagna_server.domain.consensus.pens import Pen
from lavagna_server.domain.consensus.polls import Outcome, ballot_of, outcome, poll_of
from lavagna_server.domain.consensus.proposals import authors_ballot, closed, proposal_of
from lavagna_server.domain.entries import ChangeType, Entry, EntryId, Kind, Operation
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.patches import compact
from lavagna_server.domain.regions import Policy, Region, Regions
from lavagna_server.domain.standings import Standings
from lavagna_server.domain.values import Json, Value

_VOTED = frozenset({Policy.OWNER, Policy.QUORUM})
"""Where a write may wait for votes."""

Step: TypeAlias = "tuple[Entry | None, Entry]"
"""What an entry was, and what it becomes."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a proposal ends."""

    proposal: Entry
    outcome: Outcome
    why: str
    decided_by: str = ""
    """The deciding ballot's key and version."""


class Hall(Protocol):
    """What settling may look at: the space as it is, before the commit."""

    @property
    def regions(self) -> Regions:
        """The rules of the space."""
        ...

    def newest(self, entry: EntryId) -> Entry | None:
        """The newest version of an entry, also when that is its end."""
        ...

    def below(self, kind: Kind, key: str) -> Iterable[Entry]:
        """The entries of a kind that exist directly below a key."""
        ...

    @property
    def standings(self) -> Standings:
        """How much whose word weighs."""
        ...

    @property
    def limits(self) -> Limits:
        """What bounds a value."""
        ...

    def check_schema(self, region: Region, value: Value, field: str) -> None:
        """Raises `Invalid` when the region's schema refuses the value."""
        ...


def settled(
    hall: Hall,
    steps: Iterable[Step],
    pen: Pen,
    *,
    endings: Iterable[Ending] = (),
    caller: Caller | None = None,
) -> tuple[Step, ...]:
    """The steps and the endings, and after them all that follows from them; for a caller when one made the steps."""
    settling = _Settling(hall, pen, Merges(hall, caller))
    for before, after in steps:
        settling.put(before, after)
    for ending in endings:
        settling.close(ending)
    return settling.done()


def overdue(hall: Hall, proposal: Entry) -> Ending:
    """How a proposal ends whose deadline has come."""
    ballots = [ballot_of(entry) for entry in hall.below(Kind.BALLOT, proposal.key)]
    return Ending(proposal, *outcome(poll_of(proposal), ballots, is_over=True))


def needs_settling(regions: Regions, entry: Entry) -> bool:
    """Whether anything can follow from a change of `entry`; most writes pay nothing for consensus."""
    if entry.kind is not Kind.NOTE:
        return True
    region = regions.of(entry.key)
    return region is not None and region.policy in _VOTED


@dataclass(slots=True)
class _Settling:
    """A commit whose consequences are being worked out."""

    hall: Hall
    pen: Pen
    merges: Merges
    made: dict[EntryId, Step] = field(default_factory=dict[EntryId, Step])
    queue: deque[Entry] = field(default_factory=deque[Entry])

    def put(self, before: Entry | None, after: Entry) -> None:
        """Takes a step in; its consequences are still to come."""
        self.made[after.id] = (before, after)
        self.queue.append(after)

    def done(self) -> tuple[Step, ...]:
        """Works everything out."""
        while self.queue:
            entry = self.queue.popleft()
            match entry.kind:
                case Kind.PROPOSAL:
                    self._second(entry)
                case Kind.BALLOT:
                    self._count(entry)
                case Kind.NOTE:
                    self._supersede(entry)
                case Kind.CLAIM:
                    self._merge(entry)
        return tuple(self.made.values())

    def close(self, ending: Ending) -> None:
        """Ends a proposal, and carries it out when it was accepted. What moved on is superseded, however the votes stand (C2)."""
        proposal = ending.proposal
        if ending.outcome is not Outcome.WITHDRAWN:
            moved = self._moved(proposal)
            if not moved and ending.outcome is Outcome.ACCEPTED:
                moved = self._refused(proposal)
            if moved:
                ending = Ending(proposal, Outcome.SUPERSEDED, moved)
        ballots = [ballot_of(entry) for entry in self._below(Kind.BALLOT, proposal.key)]
        is_new = proposal.id in self.made  # opened and decided in one commit: one version says both
        end = closed(
            proposal,
            ending.outcome,
            ending.why,
            ballots,
            decided_by=ending.decided_by,
            is_new=is_new,
            pen=self.pen,
        )
        self.made[proposal.id] = (None if is_new else proposal, end)
        if ending.outcome is Outcome.ACCEPTED:
            self._carry_out(proposal, ending.decided_by)

    def _second(self, proposal: Entry) -> None:
        """Whoever proposes votes for it."""
        ballot = authors_ballot(proposal, self.pen) if proposal.exists else None
        if ballot is not None:
            self.put(None, ballot)

    def _count(self, ballot: Entry) -> None:
        proposal = self._newest(proposal_of(ballot))
        if proposal is None or not proposal.exists:
            return
        ballots = [ballot_of(entry) for entry in self._below(Kind.BALLOT, proposal.key)]
        ended, why = outcome(poll_of(proposal), ballots)
        if ended is not Outcome.OPEN or self._moved(proposal):
            self.close(Ending(proposal, ended, why, f"{ballot.key}@{ballot.version}"))

    def _moved(self, proposal: Entry) -> str:
        """Why a proposal's base is no longer what was voted on; empty when it is (C2).

        Its electorate stays as it was frozen (C1), whoever owns the region or votes there by now; but nothing comes of votes where none are asked for
        any more.
        """
        poll = poll_of(proposal)
        current = self._newest(EntryId(Kind.NOTE, poll.target))
        version = current.version if current else 0
        if version != poll.base_version:
            return f"{poll.target} moved on to version {version}"
        region = self.hall.regions.of(poll.target)
        if region is None or region.policy not in _VOTED:
            policy = (region.policy if region else Policy.GUARDED).value
            return f"nobody votes on {poll.target} any more: the policy there is {policy}"
        return ""

    def _refused(self, proposal: Entry) -> str:
        """Why the region no longer takes what is proposed; empty when it does."""
        poll = poll_of(proposal)
        region = self.hall.regions.of(poll.target)
        if region is None or not region.schema_json or poll.operation is Operation.DELETE:
            return ""
        assert proposal.value is not None
        try:
            self.hall.check_schema(region, proposal.value, "proposal")
        except Invalid as fault:
            return f"the schema changed since: {fault}"
        return ""

    def _carry_out(self, proposal: Entry, decided_by: str) -> None:
        poll = poll_of(proposal)
        before = self._newest(EntryId(Kind.NOTE, poll.target))
        decision: Json = {"decision": {"ballot": decided_by, "proposal": proposal.key}}
        if poll.operation is Operation.DELETE:
            change, value = ChangeType.DELETED, None
        else:
            existed = before is not None and before.exists
            change, value = (ChangeType.UPDATED if existed else ChangeType.CREATED), proposal.value
        lives = poll.ttl if value is not None else None
        self.put(
            before,
            Entry(
                Kind.NOTE,
                poll.target,
                poll.base_version + 1,
                self.pen.revision,
                change,
                value,
                proposal.author,
                self.pen.at,
                proposal.tags if value is not None else (),
                proposal.confidence if value is not None else None,
                proposal.sources if value is not None else (),
                self.pen.at + lives if lives else None,
                self.pen.cause,
                compact(decision),
            ),
        )

    def _supersede(self, note: Entry) -> None:
        """What was proposed for an older version of an entry is off."""
        region = self.hall.regions.of(note.key)
        if region is None or region.policy not in _VOTED:
            return
        for proposal in list(self._below(Kind.PROPOSAL, note.key)):
            if moved := self._moved(proposal):
                self.close(Ending(proposal, Outcome.SUPERSEDED, moved))

    def _merge(self, claim: Entry) -> None:
        """The entry becomes what all live claims about it come to; without any it ends."""
        target = EntryId(Kind.NOTE, claimed_key(claim))
        region = self.hall.regions.of(target.key)
        if region is None or region.policy is not Policy.WEIGHTED:
            return
        made = self.made.get(target)
        # Only the expiry of the entry itself gives way: what the claims come to is newer.
        if claim.change is ChangeType.DECIDED or (
            made and made[1].change is not ChangeType.EXPIRED
        ):
            return
        before = made[0] if made else self._newest(target)
        claims = sorted(self._below(Kind.CLAIM, target.key), key=lambda each: each.key)
        if claims:
            self.put(before, self._of_claims(claim, before, claims, region))
        elif not made and before is not None and before.exists:
            pen = self.pen
            end = before.ended(
                ChangeType.DELETED,
                revision=pen.revision,
                author=pen.author,
                at=pen.at,
                cause=pen.cause,
            )
            last: Json = {"emptied": {"claim": f"{claim.key}@{claim.version}"}}
            self.put(before, replace(end, basis=compact(last)))

    def _of_claims(
        self, claim: Entry, before: Entry | None, claims: list[Entry], region: Region
    ) -> Entry:
        """The version of the entry that the claims come to, because of one of them."""
        pen, target = self.pen, EntryId(Kind.NOTE, claimed_key(claim))
        earlier, _ = self.made[claim.id]
        merge = self.merges.merge(claim, earlier, claims, region)
        tags = tuple(sorted({tag for each in claims for tag in each.tags}))
        return Entry(
            Kind.NOTE,
            target.key,
            (before.version if before else 0) + 1,
            pen.revision,
            ChangeType.UPDATED if before and before.exists else ChangeType.CREATED,
            merge.result.value,
            pen.author,
            pen.at,
            tags[: self.hall.limits.tags_max],
            merge.result.confidence,
            cause=pen.cause,
            basis=merge_basis(merge),
        )

    def _newest(self, entry: EntryId) -> Entry | None:
        step = self.made.get(entry)
        return step[1] if step is not None else self.hall.newest(entry)

    def _below(self, kind: Kind, key: str) -> Iterator[Entry]:
        """What exists directly below a key, as the commit leaves it so far."""
        for entry in self.hall.below(kind, key):
            if entry.id not in self.made:
                yield entry
        for _, entry in list(self.made.values()):
            if entry.kind is kind and entry.exists and entry.key.rpartition("/")[0] == key:
                yield entry
