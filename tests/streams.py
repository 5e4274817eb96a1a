"""Streams: the rule that every stream of a watch obeys, in one place.

Ordered (W1), each commit once (W2) and whole (W3), chained without gap or overlap (W4), the state before what follows it (W6).
`tests/conftest.py` holds every stream to it that any test opens, on either side of the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lavagna.v1 import watch_pb2 as wire
from lavagna_server.engine.watcher import Message


@dataclass(frozen=True)
class Part:
    """A commit as a message gives it: whole, or a part of it."""

    revision: int
    entries: Sequence[tuple[str, int]]
    """The keys that it changes, and the revision that each says it is of."""
    index: int = 0
    is_last: bool = True


@dataclass(frozen=True)
class Link:
    """One message of a stream, as far as the rule looks at it."""

    space: str
    after: int
    through: int
    parts: Sequence[Part] = ()
    has_state: bool = False
    is_synced: bool = False


@dataclass
class _Proof:
    """What one space of a stream has given so far."""

    through: int | None = None
    newest: int = 0
    """The newest revision given whole."""
    open_parts: list[Part] = field(default_factory=list[Part])
    state_at: int | None = None
    """The revision of the initial state, while it is being given."""
    is_past_state: bool = False


class StreamRule:
    """Holds one watch to the rule, across all the streams that it takes."""

    def __init__(self) -> None:
        self._proofs: dict[str, _Proof] = {}

    def take(self, link: Link) -> None:
        """Takes in the next message.

        Raises:
            AssertionError: It breaks the rule.
        """
        proof = self._proofs.setdefault(link.space, _Proof())
        assert proof.through in (None, link.after), f"{link} does not follow {proof.through}"
        assert link.after <= link.through, f"{link} goes back"
        _check_state(proof, link)
        for part in link.parts:
            _check_part(proof, link, part)
        assert not proof.open_parts or link.through < proof.open_parts[0].revision, (
            f"{link} says that a commit was given of which parts are still to come"
        )
        proof.through = link.through


def _check_state(proof: _Proof, link: Link) -> None:
    if link.has_state or link.is_synced:
        assert not proof.is_past_state, f"{link} gives state after what follows it"
        proof.state_at = link.through
    if proof.state_at is not None:
        assert link.after == link.through, f"{link} moves on within the state"
    proof.is_past_state = proof.is_past_state or link.is_synced or bool(link.parts)
    assert proof.state_at is None or link.is_synced or not link.parts, (
        f"{link} cuts the state short"
    )
    if link.is_synced:
        proof.state_at = None


def _check_part(proof: _Proof, link: Link, part: Part) -> None:
    assert max(link.after, proof.newest) < part.revision, f"{part} comes late or twice in {link}"
    assert all(revision == part.revision for _, revision in part.entries), f"{part} is mixed"
    for other in proof.open_parts:
        assert other.revision == part.revision, f"{part} breaks into {other}"
    # A stream that is taken up again may begin a commit anew.
    begun = proof.open_parts if part.index else []
    assert part.index == len(begun), f"{part} is out of turn after {begun}"
    proof.open_parts = [*begun, part]
    if part.is_last:
        assert part.revision <= link.through, f"{link} does not cover {part}"
        keys = [key for each in proof.open_parts for key, _ in each.entries]
        assert len(keys) == len(set(keys)), f"{part} gives a key twice"
        proof.open_parts, proof.newest = [], part.revision


def link_of(message: Message) -> Link:
    """A message as the engine has it."""
    return Link(
        str(message.space.name),
        message.after,
        message.through,
        [
            Part(
                seen.commit.revision,
                [(entry.key, entry.revision) for entry in seen.entries],
                *(seen.fragment or (0, True)),
            )
            for seen in message.commits
        ],
        bool(message.state),
        message.synced,
    )


def link_of_wire(message: wire.WatchResponse) -> Link:
    """A message as the wire has it."""
    return Link(
        str(message.space),
        message.covers.after,
        message.covers.through,
        [_part_of_wire(commit) for commit in message.commits],
        bool(message.state),
        message.synced,
    )


def _part_of_wire(commit: wire.Commit) -> Part:
    # A peer that a test has scripted leaves the revisions of entries out.
    entries = [(entry.key, entry.revision or commit.revision) for entry in commit.entries]
    if not commit.HasField("fragment"):
        return Part(commit.revision, entries)
    return Part(commit.revision, entries, commit.fragment.index, commit.fragment.last)


def check_chain(messages: Iterable[Message]) -> None:
    """Holds messages that follow one another to the rule."""
    rule = StreamRule()
    for message in messages:
        rule.take(link_of(message))
