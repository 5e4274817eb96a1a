"""Resolving: what turned out to be true about a key, whose claims were right, and what that teaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

from lavagna_server.domain.consensus.pens import Pen
from lavagna_server.domain.entries import ChangeType, Entry, Kind
from lavagna_server.domain.merging.voices import exact
from lavagna_server.domain.patches import compact, same
from lavagna_server.domain.standings import Standing, Standings
from lavagna_server.domain.values import Form, Json, Value


@dataclass(frozen=True, slots=True)
class Truth:
    """What is said to be true about a key."""

    key: str
    value: Value
    tolerance: float
    """How far from it a claimed number may lie and still be right."""


def is_right(claimed: Value | None, truth: Truth) -> bool:
    """Whether a claim says what is true: the same value, or a number within the tolerance."""
    if claimed is None or claimed.form is not truth.value.form:
        return False
    if claimed.form is not Form.JSON:
        return claimed == truth.value
    said, true = claimed.decoded(), truth.value.decoded()
    if _is_number(said) and _is_number(true):
        # As the decimals that all of them write: 1.0 is within 0.1 of 1.1.
        return abs(exact(said) - exact(true)) <= exact(truth.tolerance)
    return same(said, true)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def resolved(claim: Entry, was_right: bool, pen: Pen) -> Entry:
    """The end of a claim, which says whether it was right."""
    end = claim.ended(
        ChangeType.DECIDED,
        revision=pen.revision,
        author=pen.author,
        at=pen.at,
        cause=pen.cause,
    )
    verdict: Json = {"claim": {"agent": claim.author, "right": was_right}}
    return replace(end, basis=compact(verdict))


def truthful(note: Entry | None, truth: Truth, verdicts: Mapping[str, bool], pen: Pen) -> Entry:
    """The entry as it holds what is true."""
    resolution: Json = {
        "resolution": {
            "right": [agent for agent, was_right in verdicts.items() if was_right],
            "tolerance": truth.tolerance,
            "wrong": [agent for agent, was_right in verdicts.items() if not was_right],
        }
    }
    return Entry(
        Kind.NOTE,
        truth.key,
        (note.version if note else 0) + 1,
        pen.revision,
        ChangeType.UPDATED if note is not None and note.exists else ChangeType.CREATED,
        truth.value,
        pen.author,
        pen.at,
        note.tags if note is not None else (),
        1.0,
        cause=pen.cause,
        basis=compact(resolution),
    )


def taught(standings: Standings, claim: Entry, path: str, *, is_right: bool) -> Standing:
    """An agent's standing after one more of its claims in a region was resolved."""
    standing = standings.of(claim.author)
    stated = 1.0 if claim.confidence is None else claim.confidence
    learnt = standing.calibration_in(path).observed(stated, right=is_right)
    # Its version counts what people said of the agent, and this is none of theirs.
    return replace(standing, calibrations={**standing.calibrations, path: learnt})
