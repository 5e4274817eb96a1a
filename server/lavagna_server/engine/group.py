"""A group of operations that share one transaction and one sync to stable storage."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from lavagna_server.domain.agenda import ActivationId
from lavagna_server.domain.entries import Entry, EntryId, Space, SpaceName
from lavagna_server.engine.catalog import Catalog
from lavagna_server.engine.overlay import Overlay
from lavagna_server.ports.store import Transaction


class Group:
    """Operations that share a transaction: what they changed so far, and what they read of the store."""

    def __init__(self, transaction: Transaction, catalog: Catalog, now: datetime) -> None:
        self.transaction = transaction
        self.catalog = catalog
        self.now = now
        self.overlay = Overlay()
        self._newest: dict[tuple[SpaceName, EntryId], Entry | None] = {}
        self._spaces: dict[SpaceName, Space | None] = {}

    def forget(self, board: str) -> None:
        """Drops all that was read or changed of a board, which was erased in this transaction."""
        self.overlay.forget(board)
        self._newest = {key: each for key, each in self._newest.items() if key[0].board != board}
        self._spaces = {name: each for name, each in self._spaces.items() if name.board != board}

    def is_new(self, activation: ActivationId) -> bool:
        """Whether an activation was fired in this group, so that the store cannot know it."""
        stored = self._stored_space(activation.space)
        return activation.number > (stored.activations if stored else 0)

    def prefetch(self, touches: Collection[tuple[SpaceName, EntryId]]) -> None:
        """Reads the newest versions of many entries in one go."""
        by_space: dict[SpaceName, list[EntryId]] = {}
        for space, entry in touches:
            if (space, entry) not in self._newest:
                by_space.setdefault(space, []).append(entry)
        for space, entries in by_space.items():
            found = self.transaction.newest(space, entries)
            for entry in entries:
                self._newest[space, entry] = found.get(entry)

    def newest(self, space: SpaceName, entry: EntryId) -> Entry | None:
        """The newest version of an entry, as the group has it."""
        changed = self.overlay.entries.get(space)
        if changed is not None and (found := changed.get(entry)) is not None:
            return found
        if (space, entry) not in self._newest:
            self.prefetch([(space, entry)])
        return self._newest[space, entry]

    def space(self, name: SpaceName) -> Space | None:
        """Where a log stands, as the group has it."""
        if (changed := self.overlay.spaces.get(name)) is not None:
            return changed
        return self._stored_space(name)

    def _stored_space(self, name: SpaceName) -> Space | None:
        if name not in self._spaces:
            self._spaces[name] = self.transaction.space(name)
        return self._spaces[name]
