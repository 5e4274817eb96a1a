"""Chain: the proof that a watch is complete, checked message by message.

Every message says which revisions it covers, and messages about one space chain without gap or
overlap, filtered commits included. So a client that checks the chain knows that it missed nothing
(W4), that commits are in order, come once and are whole (W1-W3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lavagna.commits import Commit, State, commit_of
from lavagna.entries import Space, entry_of, space_of
from lavagna.errors import BrokenChain, EpochChanged
from lavagna.v1 import watch_pb2 as wire


@dataclass
class _Link:
    """How far one space is proven."""

    through: int | None
    """Everything up to here was given or does not match; None before the first message."""
    synced: bool
    """Whether its initial state was given in full, or none was asked for."""
    parts: list[wire.Commit] = field(default_factory=list[wire.Commit])
    """The parts so far of a commit that comes in fragments."""


class Chain:
    """The chains of one watch, across all the streams that it took."""

    def __init__(
        self,
        spaces: Iterable[Space],
        *,
        after: int | None = None,
        initial_state: bool = False,
        resumed: bool = False,
    ) -> None:
        through = None if initial_state or resumed else after
        synced = resumed or not initial_state
        self._links = {space: _Link(through, synced) for space in spaces}
        self._epoch = ""

    def through(self, space: Space) -> int:
        """The revision up to which this space is proven; 0 before the first message."""
        return self._links[space].through or 0

    @property
    def synced(self) -> bool:
        """Whether every space has given its initial state in full, or none was asked for."""
        return all(link.synced for link in self._links.values())

    @property
    def whole(self) -> bool:
        """Whether no commit is in the middle of its fragments."""
        return not any(link.parts for link in self._links.values())

    def take(self, message: wire.WatchResponse) -> list[Commit | State]:
        """What the message gives, once it is known to follow what was taken before.

        Raises:
            BrokenChain: It does not follow, so something may be missing.
            EpochChanged: It speaks of another epoch.
        """
        self._check_epoch(message.header.epoch)
        space = space_of(message.space)
        link = self._links.get(space)
        if link is None:
            raise BrokenChain(f"a message is about the {space} space, which is not watched")
        covers = _checked_covers(message, link.through)
        items: list[Commit | State] = []
        if message.state or message.synced:
            link.synced = message.synced
            entries = tuple(entry_of(entry) for entry in message.state)
            items.append(State(space, covers.through, entries, message.synced))
        newest = covers.after
        for commit in message.commits:
            if not newest < commit.revision:
                raise BrokenChain(f"{space} gives revision {commit.revision} after {newest}")
            whole = joined(link.parts, commit)
            if whole is not None:
                items.append(commit_of(whole, space))
                newest = commit.revision
        if newest > covers.through:
            raise BrokenChain(f"{space} gives revision {newest} but covers only {covers.through}")
        link.through = covers.through
        return items

    def _check_epoch(self, epoch: str) -> None:
        if self._epoch and epoch != self._epoch:
            raise EpochChanged(f"the board's epoch was {self._epoch} and is {epoch} now")
        self._epoch = epoch


def _checked_covers(message: wire.WatchResponse, through: int | None) -> wire.Covers:
    covers = message.covers
    if not message.HasField("covers"):
        raise BrokenChain("a message of the watch does not say what it covers")
    if through is not None and covers.after != through:
        raise BrokenChain(
            f"{space_of(message.space)} is proven through revision {through},"
            f" but the next message begins after {covers.after}"
        )
    return covers


def joined(parts: list[wire.Commit], part: wire.Commit) -> wire.Commit | None:
    """The commit in whole, once its last part is there; None before that. `parts` are those so far, and are kept up.

    A server that resumes may begin a commit anew, so part 0 drops what came before.
    """
    begins = not part.HasField("fragment") or part.fragment.index == 0
    expected = parts[0].revision if parts else part.revision
    if part.revision != expected or not (begins or part.fragment.index == len(parts)):
        raise BrokenChain(f"part {part.fragment.index} of revision {part.revision} is out of turn")
    parts[:] = [part] if begins else [*parts, part]
    if part.HasField("fragment") and not part.fragment.last:
        return None
    whole, *others = parts
    for other in others:
        whole.MergeFrom(other)
    parts.clear()
    return whole
