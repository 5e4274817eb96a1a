"""The feed: the recent commits of each space in memory, and the bell for those whose patterns they match.

A cursor that keeps up is *live*: it reads from here. One that does not is *behind*: it reads pages of the log. A commit costs nothing for cursors
whose patterns it does not match.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from lavagna_server.domain.entries import Commit, Space, SpaceName
from lavagna_server.domain.keys import Pattern
from lavagna_server.domain.trie import PatternTrie

PENDING_COMMITS_MAX = 1_024
"""How many matching commits a live cursor may be behind before it is read from the log instead."""
PENDING_BYTES_MAX = 4 << 20
"""The same in bytes. The commits are shared, so this bounds what one stalled cursor keeps alive."""


@dataclass(eq=False, slots=True)
class Cursor:
    """A watcher's place in one space."""

    space: SpaceName
    patterns: tuple[Pattern, ...]
    rung: asyncio.Event
    """Set when there is something for it."""
    seen: int
    """Everything up to this revision has been taken."""
    pending: deque[Commit] = field(default_factory=deque[Commit])
    """Matching commits after `seen`, complete as long as it is live."""
    pending_bytes: int = 0
    is_live: bool = False

    def take(self) -> list[Commit]:
        """The pending commits, which are no longer pending."""
        taken = list(self.pending)
        self.pending.clear()
        self.pending_bytes = 0
        return taken

    def fall_behind(self) -> None:
        """Ends being live; what it has not taken is read from the log."""
        self.is_live = False
        self.take()
        self.rung.set()

    def offer(self, commit: Commit, weight_bytes: int) -> None:
        """Adds a matching commit, or gives up being live when too many wait."""
        if (
            not self.is_live
            or commit.revision <= self.seen
            or (self.pending and self.pending[-1] is commit)
        ):
            return
        self.pending_bytes += weight_bytes
        if len(self.pending) >= PENDING_COMMITS_MAX or self.pending_bytes > PENDING_BYTES_MAX:
            self.fall_behind()
        else:
            self.pending.append(commit)
            self.rung.set()


class Feed:
    """Where durable commits are announced, on the event loop."""

    def __init__(self) -> None:
        self._heads: dict[SpaceName, int] = {}
        self._tries: dict[SpaceName, PatternTrie[Cursor]] = {}
        self._cursors: dict[SpaceName, set[Cursor]] = {}

    def head(self, space: SpaceName) -> int:
        """The newest revision announced; 0 when none was since the server started."""
        return self._heads.get(space, 0)

    def announce(self, commits: Iterable[Commit]) -> None:
        """Offers durable commits to the cursors that they match. In revision order per space."""
        for commit in commits:
            self._heads[commit.space] = commit.revision
            trie = self._tries.get(commit.space)
            if not trie:
                continue
            weight = commit.weight_bytes
            if commit.occasion.is_for_everyone:
                for cursor in self._cursors[commit.space]:
                    cursor.offer(commit, weight)
            for entry in commit.entries:
                for cursor in trie.match(entry.key):
                    cursor.offer(commit, weight)

    def forget(self, board: str) -> None:
        """Forgets what was announced of a board that is gone: one of the same name begins anew."""
        for space in [space for space in self._heads if space.board == board]:
            del self._heads[space]
        for space, cursors in self._cursors.items():
            if space.board == board:
                for cursor in cursors:
                    cursor.fall_behind()

    def add(self, cursor: Cursor) -> None:
        """Begins to offer commits to a cursor."""
        trie = self._tries.setdefault(cursor.space, PatternTrie())
        for pattern in cursor.patterns:
            trie.add(pattern, cursor)
        self._cursors.setdefault(cursor.space, set()).add(cursor)

    def remove(self, cursor: Cursor) -> None:
        """Stops offering commits to a cursor."""
        trie = self._tries[cursor.space]
        for pattern in cursor.patterns:
            trie.remove(pattern, cursor)
        self._cursors[cursor.space].discard(cursor)
        if not self._cursors[cursor.space]:
            del self._cursors[cursor.space], self._tries[cursor.space]

    def catch_up(self, cursor: Cursor, space: Space) -> bool:
        """Makes a cursor live when it has taken all that was announced; whether it is live now."""
        if not cursor.is_live and cursor.seen >= max(self.head(cursor.space), space.head):
            cursor.is_live = True
        return cursor.is_live
