"""The rule for the lines of texts: all claims at once against the text that they started from.

Where one claim, or several alike, changed what the others left, the change is taken. Where claims changed the same place differently,
the place shows all of it between marks, in the order of what they say: nobody's change is dropped, and nothing is made up. Weights
decide nothing here.

How far a result agrees is the share of the changed places that have no conflict, the same for all claims.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lavagna_server.domain.merging.differences import Lines, changes, split
from lavagna_server.domain.merging.testimonies import Position
from lavagna_server.domain.merging.voices import AGREED, OPPOSED, Outcome, Stance, ValueType, Voice
from lavagna_server.domain.merging.workings import listed, names

COMPARED_STEPS_MAX = 500_000
"""Of comparing lines that stand more than once, over all claims: the time grows with them. What of a claim is beyond its share is
compared as a whole, not line by line."""
MARK_LENGTH = 7
"""Of the marks around a conflict, unless a text has lines that look like one: then they are longer than those."""

_LIKE_A_MARK = re.compile(r"^(?:<{7,}|>{7,}|\+{7,}|-{7,})", re.MULTILINE)


class Edit(NamedTuple):
    """A change that one text makes."""

    start: int
    end: int
    text: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of the base that was changed, and nothing that touches it."""

    start: int
    end: int
    versions: dict[Lines, list[str]]
    """What it was changed to, in order, each with the texts that have it."""

    @property
    def is_conflict(self) -> bool:
        """Whether it was changed differently."""
        return len(self.versions) > 1


def combined(voices: Sequence[Voice], base: str | None) -> Outcome:
    """What texts come to, changed from `base`; without one nothing is left as it was."""
    authors: defaultdict[str, list[Voice]] = defaultdict(list)
    for voice in voices:
        authors[voice.spelling].append(voice)
    base_lines = () if base is None else split(base)
    places = _places(base_lines, sorted(authors))
    marks = _Marks(authors, base, sum(place.is_conflict for place in places))
    result = "\n".join(_joined(base_lines, places, marks))
    contested = {
        text
        for place in places
        if place.is_conflict
        for texts in place.versions.values()
        for text in texts
    }
    clean = (len(places) - marks.count) / len(places) if places else 1.0

    def judge(voice: Voice) -> Stance:
        if voice.spelling == result:
            return AGREED
        if voice.spelling not in authors:
            return OPPOSED
        dissents = voice.spelling in contested
        return Stance(Position.DISSENT if dissents else Position.NEAR, clean)

    def working() -> Iterator[str]:
        origin = "nothing" if base is None else "the base"
        yield f"places changed from {origin}: {len(places)}, of them differently: {marks.count}"
        yield from listed(_account(place, authors) for place in places)

    return Outcome(result, ValueType.TEXT, "lines@1", judge, working, conflicts=marks.count)


def _places(base: Lines, texts: Sequence[str]) -> list[Place]:
    """The changed stretches of the base; changes that overlap or touch make one."""
    steps_max = COMPARED_STEPS_MAX // len(texts)
    edits = sorted(
        Edit(change.start, change.end, text, change.lines)
        for text in texts
        for change in changes(base, split(text), steps_max=steps_max)
    )
    clusters: list[list[Edit]] = []
    end = -1
    for edit in edits:
        if edit.start > end:
            clusters.append([])
        clusters[-1].append(edit)
        end = max(end, edit.end)
    return [_place(base, cluster) for cluster in clusters]


def _place(base: Lines, edits: Sequence[Edit]) -> Place:
    start, end = edits[0].start, max(edit.end for edit in edits)
    of_text: defaultdict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        of_text[edit.text].append(edit)
    versions: defaultdict[Lines, list[str]] = defaultdict(list)
    for text, own in of_text.items():
        lines: list[str] = []
        reached = start
        for edit in own:
            lines += (*base[reached : edit.start], *edit.lines)
            reached = edit.end
        versions[*lines, *base[reached:end]].append(text)
    return Place(start, end, {version: versions[version] for version in sorted(versions)})


class _Marks:
    """Writes conflicts, numbered, with marks that no line of a text can be taken for."""

    def __init__(self, authors: dict[str, list[Voice]], base: str | None, count: int) -> None:
        found = (
            match.end() - match.start()
            for text in (*authors, base or "")
            for match in _LIKE_A_MARK.finditer(text)
        )
        self._length = max(found, default=MARK_LENGTH - 1) + 1
        self._authors = authors
        self._has_base = base is not None
        self.count = count

    def around(self, number: int, place: Place, base: Lines) -> Iterator[str]:
        """A conflict: what each side has, with its agents, and then what was there, with those that left it so."""
        yield f"{'<' * self._length} conflict {number} of {self.count}"
        for version, texts in place.versions.items():
            yield f"{'+' * self._length} {names(self._of(texts))}"
            yield from version
        if self._has_base:
            changed = {text for texts in place.versions.values() for text in texts}
            left = names(self._of([text for text in self._authors if text not in changed]))
            yield f"{'-' * self._length} base{f', as {left} left it' if left else ''}"
            yield from base
        yield f"{'>' * self._length} end of conflict {number} of {self.count}"

    def _of(self, texts: Sequence[str]) -> list[Voice]:
        return [voice for text in texts for voice in self._authors[text]]


def _joined(base: Lines, places: Sequence[Place], marks: _Marks) -> Iterator[str]:
    reached, number = 0, 0
    for place in places:
        yield from base[reached : place.start]
        if place.is_conflict:
            number += 1
            yield from marks.around(number, place, base[place.start : place.end])
        else:
            yield from next(iter(place.versions))
        reached = place.end
    yield from base[reached:]


def _account(place: Place, authors: dict[str, list[Voice]]) -> str:
    if place.start == place.end:
        where = f"after line {place.start} of the base"
    else:
        where = f"lines {place.start + 1} to {place.end} of the base"
    sides = " | ".join(
        names([voice for text in texts for voice in authors[text]])
        for texts in place.versions.values()
    )
    return f"{where}: {'CONFLICT between ' if place.is_conflict else 'as changed by '}{sides}"
