"""Claims: what each agent holds to be true about a key, and the merge of all that it becomes (C4).

A merge is computed from the whole set of live claims, never from an earlier merge. What it used (the rules, each claim's version and weight) is recorded with
the value, so that it can be computed again from history, bit for bit, whatever rules and standings say by then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lavagna_server.domain.consensus.pens import Pen
from lavagna_server.domain.entries import Change, ChangeType, Entry, EntryId, Kind
from lavagna_server.domain.merging import Merged, MergeRules, Position, Testimony, merged
from lavagna_server.domain.merging.rules import LINES
from lavagna_server.domain.merging.voices import ValueType, listened
from lavagna_server.domain.patches import compact
from lavagna_server.domain.regions import Region
from lavagna_server.domain.standings import Standings
from lavagna_server.domain.values import Form, Json, Value
from lavagna_server.domain.weighing.weights import Scale, Weight, weigh

RECONCILED = "reconciled@1"
_AVERAGED = frozenset({ValueType.NUMBER, ValueType.COLLECTION, ValueType.RECORD})
"""Where a probability weighs as it is; whole values are voted on, by its log odds."""
RESOLVED_MIN = 20
"""How many resolved claims every claimant must have before votes are weighed by log odds. Before, boldness would pass for evidence: see
the experiment in the benchmarks, in which the log odds of confidences that nothing was learnt about lose against a plain majority."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge with all that it was computed from besides the claims' values."""

    rules: MergeRules
    scale: Scale
    base_version: int
    """The version of the entry from which texts were changed; 0 for none."""
    weights: tuple[Weight, ...]
    versions: Mapping[str, int]
    """The version of each agent's claim."""
    reconciled_by: str
    result: Merged


def claim_key(key: str, agent: str) -> str:
    """Where an agent's claim about a key lies. The sign keeps it apart from what people name."""
    return f"{key}/@{agent}"


def claimed_key(claim: Entry) -> str:
    """What a claim is about."""
    return claim.key.rpartition("/")[0]


def claimed(
    change: Change, before: Entry | None, value: Value | None, pen: Pen, *, base_version: int
) -> Entry:
    """The claim that a write becomes; without a value the end of the one before."""
    if value is None:
        assert before is not None
        return before.ended(
            ChangeType.DELETED,
            revision=pen.revision,
            author=pen.author,
            at=pen.at,
            cause=pen.cause,
        )
    existed = before is not None and before.exists
    return Entry(
        Kind.CLAIM,
        claim_key(change.id.key, pen.author),
        (before.version if before else 0) + 1,
        pen.revision,
        ChangeType.UPDATED if existed else ChangeType.CREATED,
        value,
        pen.author,
        pen.at,
        change.tags,
        change.confidence,
        change.sources,
        pen.at + change.ttl if change.ttl else None,
        pen.cause,
        compact({"claim": {"base_version": base_version}}),
    )


def weighed(
    claims: Sequence[Entry],
    region: Region,
    standings: Standings,
    text_of: Callable[[int], str | None],
) -> Merge:
    """What the live claims about a key come to now; `text_of` gives a version of the entry, where that is a text.

    Raises:
        Invalid: They have no merge: a sum is more than a number may be.
    """
    merging = region.merging
    heard = listened(_testimonies(claims, {}))
    types = {voice.type for voice in heard}
    voters = [standings.voter(claim.author, claim.confidence, region.path) for claim in claims]
    is_known = all(voter.calibration.claims >= RESOLVED_MIN for voter in voters)
    scale = Scale.LOG_ODDS if is_known and not types <= _AVERAGED else Scale.PROBABILITY
    weights = weigh(
        voters,
        group_cap=merging.group_cap or None,
        scale=scale,
        alternatives=_alternatives(region),
    )
    is_of_lines = types == {ValueType.TEXT} and merging.rules.text == LINES
    # Who claimed before there was an entry changed nothing: that text is what the others began with.
    bases = [version for version in map(_base_version, claims) if version] if is_of_lines else []
    base_version = min(bases, default=0)
    base = text_of(base_version) if base_version else None
    result = _merged(claims, weights, merging.rules, base)
    reconciler = ""
    if result.is_open:
        may = standings.named(merging.reconcilers or (region.owner,))
        reconciler = next(
            (each.author for each in claims if each.author in may and _covers(each, claims)), ""
        )
        if reconciler:
            result = _reconciled(result, reconciler, claims)
    versions = {claim.author: claim.version for claim in claims}
    return Merge(merging.rules, scale, base_version, weights, versions, reconciler, result)


def replayed(basis: str, claims: Sequence[Entry], text_of: Callable[[int], str | None]) -> Merge:
    """The merge that a version of an entry rests on, computed again from the claims of its time."""
    stored: dict[str, Any] = json.loads(basis)["merge"]
    rules = MergeRules(**stored["rules"])
    weights = tuple(Weight(**each["weight"]) for each in stored["claims"])
    base_version = stored["base_version"]
    base = text_of(base_version) if base_version else None
    result = _merged(claims, weights, rules, base)
    if stored["reconciled_by"]:
        result = _reconciled(result, stored["reconciled_by"], claims)
    versions = {each["weight"]["agent"]: each["version"] for each in stored["claims"]}
    scale = Scale(stored["scale"])
    return Merge(rules, scale, base_version, weights, versions, stored["reconciled_by"], result)


def merge_basis(merge: Merge) -> str:
    """The merge as the entry carries it: what it was computed from, and who agrees."""
    result = merge.result
    shares = {share.agent: share for share in result.support}
    claims: list[Json] = [
        {
            "agreement": shares[weight.agent].agreement,
            "position": shares[weight.agent].position.value,
            "version": merge.versions[weight.agent],
            "weight": asdict(weight),
        }
        for weight in merge.weights
    ]
    stored: dict[str, Json] = {
        "base_version": merge.base_version,
        "claims": claims,
        "conflicts": result.conflicts,
        "dissent": list(result.dissent),
        "open": result.is_open,
        "reconciled_by": merge.reconciled_by,
        "rule": result.rule,
        "rules": asdict(merge.rules),
        "scale": merge.scale.value,
    }
    return compact({"merge": stored})


def of_claim(key: str, agent: str) -> EntryId:
    """The name of an agent's claim about a key."""
    return EntryId(Kind.CLAIM, claim_key(key, agent))


def _merged(
    claims: Sequence[Entry], weights: Sequence[Weight], rules: MergeRules, base: str | None
) -> Merged:
    counted = {weight.agent: weight.after_cap for weight in weights}
    result = merged(_testimonies(claims, counted), rules, base=base)
    assert result is not None, "there are claims"
    return result


def _testimonies(claims: Sequence[Entry], weights: Mapping[str, float]) -> list[Testimony]:
    return [
        Testimony(
            claim.author,
            claim.value,
            weights.get(claim.author, 1.0),
            1.0 if claim.confidence is None else claim.confidence,
        )
        for claim in claims
        if claim.value is not None
    ]


def _base_version(claim: Entry) -> int:
    version: int = json.loads(claim.basis)["claim"]["base_version"]
    return version


def _alternatives(region: Region) -> int:
    """Between how many values a vote is cast: those that the region's schema names, else two."""
    schema: Json = json.loads(region.schema_json) if region.schema_json else None
    named = schema.get("enum") if isinstance(schema, dict) else None
    return max(2, len(named)) if isinstance(named, list) else 2


def _covers(claim: Entry, claims: Sequence[Entry]) -> bool:
    """Whether a claim names all others, as they are now, among its sources."""
    others = {f"{each.key}@{each.version}" for each in claims if each.id != claim.id}
    return others <= set(claim.sources)


def _reconciled(result: Merged, reconciler: str, claims: Sequence[Entry]) -> Merged:
    """The result that somebody entitled put in place of an open one, with the claims that differ from it as dissent."""
    values = {claim.author: claim.value for claim in claims}
    chosen = next(claim for claim in claims if claim.author == reconciler)
    assert chosen.value is not None
    support = tuple(
        replace(
            share,
            position=Position.SAME if values[share.agent] == chosen.value else Position.DISSENT,
            agreement=float(values[share.agent] == chosen.value),
        )
        for share in result.support
    )
    return replace(
        result,
        value=chosen.value,
        confidence=1.0 if chosen.confidence is None else chosen.confidence,
        rule=RECONCILED,
        support=support,
        dissent=tuple(share.agent for share in support if not share.is_for),
        working=(f"{reconciler} reconciled all claims as they stand", *result.working),
        is_open=False,
    )


def text_in(entry: Entry | None) -> str | None:
    """The text that a version of an entry holds; None when it holds none."""
    if entry is None or entry.value is None or entry.value.form is not Form.TEXT:
        return None
    assert isinstance(entry.value.content, str)
    return entry.value.content
