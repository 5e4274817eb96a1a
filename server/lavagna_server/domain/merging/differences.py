"""How one text differs from another, as changes of its lines.

Lines that stand once in both are lined up first (as Bram Cohen's patience diff does), and only what lies between them is compared
line by line: blank lines and braces do not pull a comparison apart, nor make it slow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

Lines: TypeAlias = tuple[str, ...]


class Change(NamedTuple):
    """The lines from `start` to before `end` of the old text, and what the new one has there."""

    start: int
    end: int
    lines: Lines


def split(text: str) -> Lines:
    """A text's lines; joining them with line ends gives the text again, a missing last one included."""
    return tuple(text.split("\n"))


def changes(old: Lines, new: Lines, *, pairs_max: int) -> Iterator[Change]:
    """What changed, in order.

    Only so many pairs of an old line with a same new line are looked at; what would need more is one change from its first line to
    its last.
    """
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    inner, other = old[head : len(old) - tail], new[head : len(new) - tail]
    pairs_left = pairs_max
    start, other_start = 0, 0
    for end, other_end in (*_anchors(inner, other), (len(inner), len(other))):
        gap, its_gap = inner[start:end], other[other_start:other_end]
        pairs_left -= _pairs(gap, its_gap)
        found = _compared(gap, its_gap) if pairs_left >= 0 else _whole(gap, its_gap)
        for each in found:
            yield Change(head + start + each.start, head + start + each.end, each.lines)
        start, other_start = end + 1, other_end + 1


def _whole(old: Lines, new: Lines) -> Iterator[Change]:
    if old != new:
        yield Change(0, len(old), new)


def _common(one: Lines, other: Lines) -> int:
    """How many lines two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _compared(old: Lines, new: Lines) -> Iterator[Change]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            yield Change(start, end, new[new_start:new_end])


def _pairs(old: Lines, new: Lines) -> int:
    counts = Counter(old)
    return sum(counts[line] for line in new)


def _anchors(old: Lines, new: Lines) -> list[tuple[int, int]]:
    """Where lines that stand once in both texts stand in both: the longest run of them that keeps their order."""
    places = {line: place for place, line in enumerate(old)}
    unique = Counter(old)
    once = Counter(new)
    pairs = [
        (places[line], place)
        for place, line in enumerate(new)
        if once[line] == 1 and unique[line] == 1
    ]
    return [pairs[index] for index in _rising([place for place, _ in pairs])]


def _rising(numbers: Sequence[int]) -> list[int]:
    """The indexes of a longest rising subsequence of distinct numbers, by patience sorting."""
    tops: list[int] = []
    piles: list[int] = []
    before: list[int | None] = []
    for index, number in enumerate(numbers):
        pile = bisect_left(tops, number)
        before.append(piles[pile - 1] if pile else None)
        tops[pile : pile + 1] = [number]
        piles[pile : pile + 1] = [index]
    run: list[int] = []
    step = piles[-1] if piles else None
    while step is not None:
        run.append(step)
        step = before[step]
    return run[::-1]
