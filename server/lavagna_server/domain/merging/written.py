"""The vote over values as they are written: it decodes nothing, so that it is quick whatever the claims are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from lavagna_server.domain.merging.testimonies import Merged, Position, Share, Testimony
from lavagna_server.domain.merging.voices import exact, shares
from lavagna_server.domain.merging.workings import LISTED_MAX, listed, shown
from lavagna_server.domain.values import Value

RULE = "select-as-written@1"


def selected_as_written(testimonies: Iterable[Testimony]) -> Merged | None:
    """The content that has the most weight, of contents that are the same only byte by byte; None when there are no claims.

    Of several that lead alike, the one whose text comes first is taken.

    Raises:
        Invalid: A weight or a confidence is out of range.
    """
    ordered = sorted(testimonies, key=lambda testimony: testimony.agent)
    if not ordered:
        return None
    weights, scale = shares(ordered)
    if not any(weights):
        weights, scale = [1] * len(weights), 1
    supporters: defaultdict[Value, list[int]] = defaultdict(list)
    for at, each in enumerate(ordered):
        if weights[at]:
            supporters[each.value].append(at)
    votes = {value: sum(weights[at] for at in by) for value, by in supporters.items()}
    winner = min(votes, key=lambda value: (-votes[value], _text(value), value.form.value))
    support = tuple(
        Share(
            each.agent,
            weights[at] / scale,
            Position.SAME if each.value == winner else Position.DISSENT,
            float(each.value == winner),
        )
        for at, each in enumerate(ordered)
    )
    lent = sum(
        (weights[at] * exact(ordered[at].confidence) for at in supporters[winner]), Fraction(0)
    )
    return Merged(
        winner,
        float(lent / sum(weights)),
        RULE,
        support,
        tuple(share.agent for share in support if not share.is_for),
        _working(votes, supporters, ordered, scale),
    )


def _working(
    votes: Mapping[Value, int],
    supporters: Mapping[Value, Sequence[int]],
    ordered: Sequence[Testimony],
    scale: int,
) -> tuple[str, ...]:
    ranked = sorted(votes, key=lambda value: (-votes[value], _text(value), value.form.value))
    lines = (
        f"{value.size_bytes} bytes: {shown(Fraction(votes[value], scale))} "
        f"({', '.join(listed((ordered[at].agent for at in supporters[value]), lines_max=LISTED_MAX))})"
        for value in ranked
    )
    leading = sum(vote == votes[ranked[0]] for vote in votes.values())
    tie = [f"a tie between {leading}: the first by its text is taken"] if leading > 1 else []
    return (*listed(lines), *tie)


def _text(value: Value) -> str:
    return value.content if isinstance(value.content, str) else value.content.decode("latin-1")
