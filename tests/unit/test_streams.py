"""The rule for streams catches everything that a stream must not do."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.streams import Link, Part, StreamRule


def link(after: int, through: int, *revisions: int) -> Link:
    """A message that gives commits whole."""
    return Link("main", after, through, [Part(each, [("key", each)]) for each in revisions])


def fragment(after: int, through: int, revision: int, index: int, *, last: bool = False) -> Link:
    """A message that gives a part of a commit."""
    return Link("main", after, through, [Part(revision, [(f"key/{index}", revision)], index, last)])


def state(revision: int, *, synced: bool = False) -> Link:
    """A message that gives a part of the initial state."""
    return Link("main", revision, revision, has_state=True, is_synced=synced)


SOUND = {
    "commits, and what the filter removed": [link(3, 5, 4, 5), link(5, 9), link(9, 10, 10)],
    "bookmarks": [link(3, 3), link(3, 3), link(3, 4, 4)],
    "fragments": [fragment(3, 3, 4, 0), fragment(3, 4, 4, 1, last=True), link(4, 5, 5)],
    "a commit begun anew": [fragment(3, 3, 4, 0), fragment(3, 3, 4, 0), link(3, 4, 4)],
    "state, then what follows": [state(3), state(3, synced=True), link(3, 4, 4)],
    "an empty state": [Link("main", 3, 3, is_synced=True), link(3, 4, 4)],
    "two spaces": [link(3, 4, 4), Link("main/ada", 8, 9)],
}
BROKEN = {
    "a gap": [link(3, 5, 5), link(6, 7, 7)],
    "an overlap": [link(3, 5, 5), link(4, 6, 6)],
    "a step back": [link(3, 2)],
    "no order": [link(3, 6, 6, 5)],
    "a commit twice in a message": [link(3, 5, 5, 5)],
    "a commit from before the message": [link(3, 5, 3)],
    "a commit from after the message": [link(3, 5, 6)],
    "parts out of turn": [fragment(3, 3, 4, 0), fragment(3, 4, 4, 2, last=True)],
    "a last part without a first": [fragment(3, 4, 4, 1, last=True)],
    "a commit among the parts of another": [fragment(3, 3, 4, 0), link(3, 5, 5)],
    "parts that never end": [fragment(3, 3, 4, 0), link(3, 4)],
    "entries of another revision": [Link("main", 3, 4, [Part(4, [("key", 3)])])],
    "a key twice in a commit": [Link("main", 3, 4, [Part(4, [("key", 4), ("key", 4)])])],
    "state after commits": [link(3, 4, 4), state(4)],
    "state after its end": [state(3, synced=True), state(3)],
    "state of two revisions": [state(3), Link("main", 3, 4, has_state=True)],
    "state that is left behind": [state(3), link(3, 4)],
    "state cut short": [state(3), link(3, 4, 4)],
}


@pytest.mark.parametrize("links", SOUND.values(), ids=SOUND.keys())
def test_a_sound_stream_is_taken(links: Sequence[Link]) -> None:
    rule = StreamRule()
    for each in links:
        rule.take(each)


@pytest.mark.parametrize("links", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_stream_is_found_out_at_its_last_message(links: Sequence[Link]) -> None:
    rule = StreamRule()
    *sound, broken = links
    for each in sound:
        rule.take(each)
    with pytest.raises(AssertionError):
        rule.take(broken)
