"""Explanations: how an entry came about, as data and in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lavagna.v1 import consensus_pb2
from lavagna_server.domain.consensus.claims import Merge
from lavagna_server.domain.consensus.polls import Poll
from lavagna_server.domain.entries import Entry
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.values import utf8_bytes
from lavagna_server.engine.consensus import Proposal
from lavagna_server.engine.explanations import Explanation, Judgement
from lavagna_server.rpc.codec.consensus import proposal_to_wire
from lavagna_server.rpc.codec.entries import entry_to_wire
from lavagna_server.rpc.codec.enums import POLICIES
from lavagna_server.rpc.codec.spaces import header

_SHORT = "what was claimed, proposed or given as a reason is left out here where it is too much for one answer: read it as entries"


@dataclass(slots=True)
class _Room:
    """How many bytes a response has left for what can also be read elsewhere."""

    left: int
    is_short: bool = False
    """Whether something was left out."""

    def takes(self, size: int) -> bool:
        """Whether so much more fits; takes it if so."""
        if size > self.left:
            self.is_short = True
            return False
        self.left -= size
        return True


def explain_response(found: Explanation, *, limits: Limits) -> consensus_pb2.ExplainResponse:
    """How an entry, or the decision on a proposal, came about, in as much detail as fits into one message."""
    name, entry, merge = found.space.name, found.entry, found.merge
    room = _Room(2 * limits.page_bytes_max - (0 if entry is None else entry.weight_bytes))
    response = consensus_pb2.ExplainResponse(
        header=header(found.space, found.at, revision=found.revision),
        entry=None if entry is None else entry_to_wire(entry, name),
        policy=POLICIES.to_wire(found.policy),
        proposal=None if found.proposal is None else _proposal(found.proposal, room),
        judgements=[_judgement(each) for each in found.judgements],
    )
    if merge is not None:
        result = merge.result
        response.rule, response.conflicts = result.rule, result.conflicts
        response.dissent.extend(result.dissent)
        response.open = result.is_open
        response.contributions.extend(_contributions(found, merge, room))
    response.lines.extend(_within(_lines(found), limits.page_bytes_max // 2))
    if room.is_short:
        response.lines.append(_SHORT)
    return response


def _within(lines: Iterable[str], bytes_max: int) -> Iterator[str]:
    """The lines as far as they fit, and how many do not."""
    rest, missing = bytes_max, 0
    for line in lines:
        rest -= utf8_bytes(line)
        if rest < 0:
            missing += 1
        else:
            yield line
    if missing:
        yield f"{missing} more lines are too much for one answer"


def _proposal(proposal: Proposal, room: _Room) -> consensus_pb2.Proposal:
    """The proposal, without what was proposed and the reasons of ballots where those are too much."""
    told = proposal_to_wire(proposal)
    if not room.takes(told.value.ByteSize()):
        told.ClearField("value")
    for ballot in told.ballots:
        if not room.takes(utf8_bytes(ballot.reason)):
            ballot.ClearField("reason")
    return told


def _contributions(
    found: Explanation, merge: Merge, room: _Room
) -> Iterator[consensus_pb2.Contribution]:
    shares = {share.agent: share for share in merge.result.support}
    for weight in merge.weights:
        claim, share = found.claims.get(weight.agent), shares[weight.agent]
        if claim is not None and not room.takes(claim.weight_bytes):
            claim = None
        yield consensus_pb2.Contribution(
            claim=None if claim is None else entry_to_wire(claim, found.space.name),
            agent=weight.agent,
            group=weight.group,
            trust=weight.trust,
            confidence=weight.confidence,
            calibrated=weight.calibrated,
            strength=weight.strength,
            before_cap=weight.before_cap,
            weight=share.weight,
            supports=share.is_for,
            agreement=share.agreement,
        )


def _judgement(judgement: Judgement) -> consensus_pb2.Judgement:
    known = judgement.reliability
    return consensus_pb2.Judgement(
        agent=judgement.agent,
        calibration=[
            consensus_pb2.CalibrationBucket(
                low=line.low,
                high=line.high,
                claims=line.claims,
                stated=line.stated,
                seen=line.seen,
                used=line.used,
            )
            for line in judgement.calibration.table()
            if line.claims
        ],
        reliability=None if known is None else known.accuracy,
        polls=0 if known is None else known.answered,
    )


def _lines(found: Explanation) -> Iterator[str]:
    entry = found.entry
    if entry is not None:
        yield _headline(entry)
        basis: dict[str, Any] = json.loads(entry.basis) if entry.basis else {}
        if "emptied" in basis:
            yield f"no claim about it is left: {basis['emptied']['claim']} ended the last one"
        if "resolution" in basis:
            yield from _resolution(entry, basis["resolution"])
        if "merge" in basis:
            yield from _merge(found, basis["merge"])
    if found.proposal is not None:
        yield from _poll(found.proposal)
    for judgement in found.judgements:
        yield from _record(judgement)


def _headline(entry: Entry) -> str:
    by = entry.author or "the server"
    when = entry.committed_at.isoformat(timespec="seconds")
    said = f"{entry.key} version {entry.version}, {entry.change.value} by {by} at revision {entry.revision}, {when}"
    return said if entry.basis else f"{said}: a plain write, decided by nobody else"


def _resolution(entry: Entry, resolution: dict[str, Any]) -> Iterator[str]:
    yield f"resolved: {entry.author} said what is true, within {resolution['tolerance']:g}"
    for verdict in ("right", "wrong"):
        if resolution[verdict]:
            yield f"{verdict}: {', '.join(resolution[verdict])}"


def _merge(found: Explanation, stored: dict[str, Any]) -> Iterator[str]:
    merge = found.merge
    if merge is None:
        yield (
            f"merged by {stored['rule']} of {len(stored['claims'])} claims, not all of which history still holds: "
            "the arithmetic cannot be shown"
        )
        return
    yield f"merged by {merge.result.rule} of {len(merge.weights)} claims, confidence {merge.result.confidence:.4g}"
    for weight in merge.weights:
        yield f"weight of {weight.working(merge.scale)}"
    yield from merge.result.working
    if merge.result.dissent:
        yield f"dissent: {', '.join(merge.result.dissent)}"
    if merge.result.is_open:
        yield "open: the claims differ, and nobody has reconciled them yet"


def _poll(proposal: Proposal) -> Iterator[str]:
    poll = proposal.poll
    yield f"proposal {proposal.newest.key} by {poll.author}: {poll.outcome.value}, {poll.reason}"
    for ballot in poll.ballots:
        sure = "" if ballot.confidence is None else f", confidence {ballot.confidence:.4g}"
        reason = f": {ballot.reason}" if ballot.reason else ""
        yield f"{ballot.voter} ({_weight(poll, ballot.voter)}): {ballot.choice.value}{sure}{reason}"
    if poll.decided_by:
        yield f"decided by {poll.decided_by}"


def _weight(poll: Poll, voter: str) -> str:
    elector = poll.elector(voter)
    assert elector is not None
    group = f", group {elector.group}" if elector.group not in {"", voter} else ""
    return f"weight {elector.weight:.4g}{group}{', may veto' if elector.veto else ''}"


def _record(judgement: Judgement) -> Iterator[str]:
    for line in judgement.calibration.table():
        if line.claims:
            yield (
                f"{judgement.agent} when stating {line.low:g} to {line.high:g}: right in {line.seen:.4g} of "
                f"{line.claims} resolved claims, taken for {line.used:.4g}"
            )
    known = judgement.reliability
    if known is not None:
        yield f"{judgement.agent} in {known.answered} decided polls: reliability {known.accuracy:.4g} (Dawid-Skene)"
