"""How one text differs from another, as changes of its lines.

Lines that stand once in both are lined up first (as Bram Cohen's patience diff does), and only what lies between them is compared
line by line: blank lines and braces do not pull a comparison apart, nor make it slow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
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


def changes(old: Lines, new: Lines, *, steps_max: int) -> Iterator[Change]:
    """What changed, in order.

    Only so many steps are taken to compare line by line; what would need more is one change from its first line to its last.
    """
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    inner, other = old[head : len(old) - tail], new[head : len(new) - tail]
    steps_left = steps_max
    start, other_start = 0, 0
    for end, other_end in (*_anchors(inner, other), (len(inner), len(other))):
        gap, its_gap = inner[start:end], other[other_start:other_end]
        found, steps = _compared(gap, its_gap, steps_left)
        steps_left -= steps
        for each in found:
            yield Change(head + start + each.start, head + start + each.end, each.lines)
        start, other_start = end + 1, other_end + 1


def _common(one: Lines, other: Lines) -> int:
    """How many lines two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _compared(old: Lines, new: Lines, steps_max: int) -> tuple[list[Change], int]:
    """What changed, and the steps that it took to see; one whole change for what would take more steps.

    The matches are those of `difflib`, each the longest between its neighbours. To look for one takes a step for each line of the
    old text there, and one for each same line of all of the new text: where matches are short, that is often.
    """
    whole = [Change(0, len(old), new)] if old != new else []
    counts = Counter(new)
    if not whole or not any(line in counts for line in old):
        return whole, 0
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    reached = [0, *accumulate(1 + counts[line] for line in old)]
    steps, stretches = 0, [(0, len(old), 0, len(new))]
    matches: list[tuple[int, int, int]] = []
    while stretches:
        start, end, new_start, new_end = stretches.pop()
        needed = reached[end] - reached[start]
        if steps + needed > steps_max:
            return whole, steps
        steps += needed
        at, new_at, size = matcher.find_longest_match(start, end, new_start, new_end)
        if size:
            matches.append((at, new_at, size))
            sides = (start, at, new_start, new_at), (at + size, end, new_at + size, new_end)
            stretches += [each for each in sides if each[0] < each[1] and each[2] < each[3]]
    return list(_between(old, new, sorted(matches))), steps


def _between(old: Lines, new: Lines, matches: Sequence[tuple[int, int, int]]) -> Iterator[Change]:
    reached, new_reached = 0, 0
    for at, new_at, size in (*matches, (len(old), len(new), 0)):
        if reached < at or new_reached < new_at:
            yield Change(reached, at, new[new_reached:new_at])
        reached, new_reached = at + size, new_at + size


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
