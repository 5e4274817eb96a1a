"""Claims: what each agent holds to be true about a key, and the merge of all that it becomes (C4).

A merge is computed from the whole set of live claims, never from an earlier merge. What it used (the rules, each claim's version and weight) is recorded with
the value, so that it can be computed again from the claims, bit for bit, whatever rules and standings say by then. A text that is to be merged by line carries
what it was changed from: nothing else of history is needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lavagna_server.domain.consensus.pens import Pen
from lavagna_server.domain.entries import Change, ChangeType, Entry, EntryId, Kind
from lavagna_server.domain.errors import Exhausted, Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.merging import Merged, MergeRules, Position, Testimony, merged
from lavagna_server.domain.merging.merges import merge_of
from lavagna_server.domain.merging.rules import LINES, SELECT, SELECTING
from lavagna_server.domain.merging.sizes import has_more, parts_of
from lavagna_server.domain.merging.voices import ValueType, Voice, listened, type_of
from lavagna_server.domain.merging.written import RULE as AS_WRITTEN
from lavagna_server.domain.merging.written import selected_as_written
from lavagna_server.domain.patches import compact
from lavagna_server.domain.regions import Region
from lavagna_server.domain.standings import Standings
from lavagna_server.domain.values import Form, Json, Value, utf8_bytes
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
    instead: str = ""
    """Why the region's rules were not applied and whole values voted on; empty when they were."""
    parts: int = 0
    """How much there was to look at; not recorded."""


def claim_key(key: str, agent: str) -> str:
    """Where an agent's claim about a key lies. The sign keeps it apart from what people name."""
    return f"{key}/@{agent}"


def claimed_key(claim: Entry) -> str:
    """What a claim is about."""
    return claim.key.rpartition("/")[0]


def claimed(
    change: Change,
    before: Entry | None,
    value: Value | None,
    pen: Pen,
    *,
    note: Entry | None,
    rules: MergeRules,
    limits: Limits,
) -> Entry:
    """The claim that a write becomes, about what `note` holds so far; without a value the end of the one before."""
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
        compact({"claim": _origin(note, value, rules, limits)}),
    )


def _origin(note: Entry | None, value: Value, rules: MergeRules, limits: Limits) -> Json:
    """What a claim was changed from: the version of the entry, and its text where lines will be compared with it."""
    version = note.version if note is not None and note.exists else 0
    if value.form is not Form.TEXT or rules.text != LINES:
        return {"base_version": version}
    text = text_in(note)
    if text is None:  # what was no text has no lines
        return {"base_version": 0}
    is_kept = utf8_bytes(compact(text)) <= limits.base_bytes_max
    return {"base": text, "base_version": version} if is_kept else {"base_version": version}


def weighed(claims: Sequence[Entry], region: Region, standings: Standings, limits: Limits) -> Merge:
    """What the live claims about a key come to now by the region's rules.

    Raises:
        Exhausted: There is more to merge than may be.
        Invalid: They have no merge: a sum is more than a number may be.
    """
    rules = region.merging.rules
    types = _types(claims)
    check_bytes(claims, limits)
    testimonies = _testimonies(claims, {})
    selects = all(rules.chosen(each, None) == SELECT for each in types)
    if selects and _has_more(testimonies, limits):
        return selected(claims, region, standings, "", as_written=True)
    weights, scale = _weights(claims, region, standings, is_vote=not types <= _AVERAGED)
    base_version, base = _base(claims, rules, limits)
    testimonies = _testimonies(claims, _counted(weights))
    voices, parts = _looked_into(testimonies, rules, base, limits, _subject(claims))
    result = merge_of(voices, testimonies, rules, base=base)
    reconciler = ""
    if result.is_open:
        may = standings.named(region.merging.reconcilers or (region.owner,))
        reconciler = next(
            (each.author for each in claims if each.author in may and _covers(each, claims)), ""
        )
        if reconciler:
            result = _reconciled(result, reconciler, claims)
    versions = {claim.author: claim.version for claim in claims}
    return Merge(rules, scale, base_version, weights, versions, reconciler, result, parts=parts)


def selected(
    claims: Sequence[Entry],
    region: Region,
    standings: Standings,
    why: str,
    *,
    as_written: bool = False,
) -> Merge:
    """The claim that is voted for where there is no merge, or too much to merge; `as_written` looks into none."""
    weights, scale = _weights(claims, region, standings, is_vote=True)
    rule = AS_WRITTEN if as_written else ""
    result = _result(claims, weights, SELECTING, None, rule, why)
    versions = {claim.author: claim.version for claim in claims}
    return Merge(SELECTING, scale, 0, weights, versions, "", result, why)


def check_bytes(claims: Sequence[Entry], limits: Limits) -> None:
    """Checks that claims are not too large to be looked into."""
    size = sum(claim.value.size_bytes for claim in claims if claim.value is not None)
    if size > limits.claims_bytes_max:
        raise Exhausted(
            "claims_bytes_max", maximum=limits.claims_bytes_max, subject=_subject(claims)
        )


def check_alone(claim: Entry, rules: MergeRules, limits: Limits) -> None:
    """Checks that nothing is wrong with a claim whatever others claim, so that a refusal tells nothing of them.

    Raises:
        Exhausted: It alone is more than may be merged.
        Invalid: It is none that its rule takes.
    """
    check_bytes([claim], limits)
    testimonies = _testimonies([claim], {})
    if all(rules.chosen(each, None) == SELECT for each in _types([claim])):
        return
    voices, _ = _looked_into(testimonies, rules, None, limits, _subject([claim]))
    if rules.takes_probabilities:
        merge_of(voices, testimonies, rules, base=None)


def replayed(basis: str, claims: Sequence[Entry]) -> Merge:
    """The merge that a version of an entry rests on, computed again from the claims of its time."""
    stored: dict[str, Any] = json.loads(basis)["merge"]
    rules = MergeRules(**stored["rules"])
    weights = tuple(Weight(**each["weight"]) for each in stored["claims"])
    version, instead = stored["base_version"], stored["instead"]
    base = _bases(claims).get(version)
    result = _result(claims, weights, rules, base, stored["rule"], instead)
    if stored["reconciled_by"]:
        result = _reconciled(result, stored["reconciled_by"], claims)
    versions = {each["weight"]["agent"]: each["version"] for each in stored["claims"]}
    scale = Scale(stored["scale"])
    return Merge(rules, scale, version, weights, versions, stored["reconciled_by"], result, instead)


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
        "instead": merge.instead,
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


def _result(
    claims: Sequence[Entry],
    weights: Sequence[Weight],
    rules: MergeRules,
    base: str | None,
    rule: str,
    instead: str,
) -> Merged:
    testimonies = _testimonies(claims, _counted(weights))
    result = (
        selected_as_written(testimonies)
        if rule == AS_WRITTEN
        else merged(testimonies, rules, base=base)
    )
    assert result is not None, "there are claims"
    if not instead:
        return result
    return replace(result, working=(f"not by the region's rules: {instead}", *result.working))


def _has_more(testimonies: Sequence[Testimony], limits: Limits) -> bool:
    return has_more((each.value for each in testimonies), limits.claims_parts_max)


def _looked_into(
    testimonies: Sequence[Testimony],
    rules: MergeRules,
    base: str | None,
    limits: Limits,
    subject: str,
) -> tuple[list[Voice], int]:
    """The claims, decoded, and how many parts they have: no more than may be."""
    most = limits.claims_parts_max
    too_many = Exhausted("claims_parts_max", maximum=most, subject=subject)
    if _has_more(testimonies, limits):
        raise too_many
    voices = listened(testimonies)
    parts = parts_of(voices, rules, base)
    if parts > most:
        raise too_many
    return voices, parts


def _weights(
    claims: Sequence[Entry], region: Region, standings: Standings, *, is_vote: bool
) -> tuple[tuple[Weight, ...], Scale]:
    voters = [standings.voter(claim.author, claim.confidence, region.path) for claim in claims]
    is_known = all(voter.calibration.claims >= RESOLVED_MIN for voter in voters)
    scale = Scale.LOG_ODDS if is_known and is_vote else Scale.PROBABILITY
    weights = weigh(
        voters,
        group_cap=region.merging.group_cap or None,
        scale=scale,
        alternatives=_alternatives(region),
    )
    return weights, scale


def _counted(weights: Sequence[Weight]) -> dict[str, float]:
    return {weight.agent: weight.after_cap for weight in weights}


def _types(claims: Sequence[Entry]) -> set[ValueType]:
    return {type_of(claim.value) for claim in claims if claim.value is not None}


def _base(claims: Sequence[Entry], rules: MergeRules, limits: Limits) -> tuple[int, str | None]:
    """The version from which texts by line were changed, and its text."""
    if rules.text != LINES:
        return 0, None
    # Who claimed before there was an entry changed nothing: that text is what the others began with.
    texts = [claim for claim in claims if text_in(claim) is not None]
    version = min((each for each in map(_base_version, texts) if each), default=0)
    if not version:
        return 0, None
    base = _bases(texts).get(version)
    if base is None:
        raise Invalid(
            "claims",
            "what some were changed from was not kept with them: it is longer than "
            f"{limits.base_bytes_max} bytes (base_bytes_max), or they are older than the rule {LINES}",
        )
    return version, base


def _bases(claims: Sequence[Entry]) -> dict[int, str]:
    """The texts that claims were changed from, by version of the entry, as they keep them."""
    origins: list[dict[str, Any]] = [json.loads(claim.basis)["claim"] for claim in claims]
    return {each["base_version"]: each["base"] for each in origins if "base" in each}


def _subject(claims: Sequence[Entry]) -> str:
    return f"the claims about {claimed_key(claims[0])}"


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
