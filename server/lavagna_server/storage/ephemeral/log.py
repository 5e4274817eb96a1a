"""One space in memory: its commits, and the versions of its entries."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from lavagna_server.domain.entries import Commit, Entry, EntryId, Space
from lavagna_server.domain.keys import is_within
from lavagna_server.ports.store import Subtree
from lavagna_server.storage.ephemeral.agenda import Agenda
from lavagna_server.storage.ephemeral.shards import Shards


@dataclass(frozen=True, slots=True)
class Log:
    """A space as it stood at one moment; never changed, only succeeded."""

    space: Space
    commits: Shards[int, Commit] = field(default_factory=Shards[int, Commit])
    """By revision."""
    entries: Shards[EntryId, tuple[Entry, ...]] = field(
        default_factory=Shards[EntryId, tuple[Entry, ...]]
    )
    """The versions of each entry, the oldest first."""
    order: tuple[tuple[str, str], ...] = ()
    """Kind and key of every entry, sorted."""
    mortal: Shards[EntryId, Entry] = field(default_factory=Shards[EntryId, Entry])
    """The entries that exist and will expire."""
    agenda: Agenda = field(default_factory=Agenda)

    def as_of(self, entry: EntryId, revision: int) -> Entry | None:
        """The version that was newest at a revision, also when that is an end."""
        versions = self.entries.get(entry, ())
        index = bisect_right(versions, revision, key=_revision)
        return versions[index - 1] if index else None

    def committed(self, commits: Iterable[Commit]) -> Log:
        """The log with further commits."""
        made: dict[int, Commit | None] = {}
        versions: dict[EntryId, list[Entry]] = {}
        for commit in commits:
            made[commit.revision] = commit
            for entry in commit.entries:
                versions.setdefault(entry.id, []).append(entry)
        newest = {entry: after[-1] for entry, after in versions.items()}
        return replace(
            self,
            commits=self.commits.edited(made),
            entries=self.entries.edited(
                {each: (*self.entries.get(each, ()), *versions[each]) for each in versions}
            ),
            order=self._ordered(each for each in versions if each not in self.entries),
            mortal=self.mortal.edited(
                {each: last if last.expires_at else None for each, last in newest.items()}
            ),
        )

    def _ordered(self, added: Iterable[EntryId]) -> tuple[tuple[str, str], ...]:
        names = [(each.kind.value, each.key) for each in added]
        if not names:
            return self.order
        order = list(self.order)
        for name in names:
            insort(order, name)
        return tuple(order)

    def compacted(self, subtree: Subtree, horizon: int) -> Log:
        """The log without the versions that were superseded by `horizon`."""
        old = dict(self.superseded(subtree, horizon))
        kept = {entry: self.entries[entry][count:] for entry, count in old.items()}
        forgotten = {
            (version.revision, entry)
            for entry, count in old.items()
            for version in self.entries[entry][:count]
        }
        entries = self.entries.edited(kept)
        if subtree == Subtree():
            before = dict.fromkeys(revision for revision in self.commits if revision < horizon)
            return replace(self, entries=entries, commits=self.commits.edited(before))
        return replace(self, entries=entries, commits=self.commits.edited(self._thinned(forgotten)))

    def _thinned(self, forgotten: Collection[tuple[int, EntryId]]) -> Mapping[int, Commit]:
        return {
            revision: replace(
                commit,
                entries=tuple(
                    each for each in commit.entries if (revision, each.id) not in forgotten
                ),
            )
            for revision in {revision for revision, _ in forgotten}
            if (commit := self.commits.get(revision)) is not None
        }

    def superseded(self, subtree: Subtree, horizon: int) -> Iterator[tuple[EntryId, int]]:
        """Entries of which versions are superseded at a horizon, and how many."""
        for entry in self.within(subtree):
            count = bisect_right(self.entries[entry], horizon, key=_revision) - 1
            if count > 0:
                yield entry, count

    def within(self, subtree: Subtree) -> Iterator[EntryId]:
        """Every entry ever written in a part of the space."""
        for entry in self.entries:
            if (not subtree.path or is_within(entry.key, subtree.path)) and not any(
                is_within(entry.key, path) for path in subtree.without
            ):
                yield entry


def _revision(entry: Entry) -> int:
    return entry.revision
