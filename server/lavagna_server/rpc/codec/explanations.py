"""Explanations: how an entry came about, as data and in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lavagna.v1 import consensus_pb2
from lavagna_server.domain.consensus.claims import Merge
from lavagna_server.domain.consensus.polls import Poll
from lavagna_server.domain.entries import Entry
from lavagna_server.engine.consensus import Proposal
from lavagna_server.engine.explanations import Explanation, Judgement
from lavagna_server.rpc.codec.consensus import proposal_to_wire
from lavagna_server.rpc.codec.entries import entry_to_wire
from lavagna_server.rpc.codec.enums import POLICIES
from lavagna_server.rpc.codec.spaces import header


def explain_response(found: Explanation) -> consensus_pb2.ExplainResponse:
    """How an entry, or the decision on a proposal, came about."""
    name, entry, merge = found.space.name, found.entry, found.merge
    response = consensus_pb2.ExplainResponse(
        header=header(found.space, found.at, revision=found.revision),
        entry=None if entry is None else entry_to_wire(entry, name),
        policy=POLICIES.to_wire(found.policy),
        proposal=None if found.proposal is None else proposal_to_wire(found.proposal),
        judgements=[_judgement(each) for each in found.judgements],
        lines=_lines(found),
    )
    if merge is not None:
        result = merge.result
        response.rule, response.conflicts = result.rule, result.conflicts
        response.dissent.extend(result.dissent)
        response.open = result.is_open
        response.contributions.extend(_contributions(found, merge))
    return response


def _contributions(found: Explanation, merge: Merge) -> Iterator[consensus_pb2.Contribution]:
    shares = {share.agent: share for share in merge.result.support}
    for weight in merge.weights:
        claim, share = found.claims.get(weight.agent), shares[weight.agent]
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
