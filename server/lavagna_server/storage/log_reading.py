"""Reads of logs in SQL: spaces, entries, versions and commits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Any

from sqlalchemy import select
from sqlalchemy.sql.expression import ClauseElement

from lavagna_server.domain.entries import Commit, Entry, EntryId, Kind, Space, SpaceName
from lavagna_server.ports.store import Scan, Subtree
from lavagna_server.storage import rows, selects
from lavagna_server.storage.querying import Querying
from lavagna_server.storage.rows import micros
from lavagna_server.storage.tables import versions

_LAST = "\U0010ffff"
"""Sorts after every key, because it is no character."""
_LAST_NUMBER = 2**63 - 1
_NO_ENTRIES: Mapping[EntryId, Entry] = {}


class LogReading(Querying):
    """The part of a `Snapshot` that is about logs."""

    def space(self, name: SpaceName) -> Space | None:
        found = self._first(selects.SPACE, board=name.board, owner=name.owner)
        return rows.space_of(found) if found else None

    def spaces(self, board: str) -> Sequence[Space]:
        return [rows.space_of(row) for row in self._all(selects.SPACES, board=board)]

    def newest(self, space: SpaceName, entries: Collection[EntryId]) -> Mapping[EntryId, Entry]:
        return self._named(selects.NEWEST, space, entries)

    def as_of(
        self, space: SpaceName, entries: Collection[EntryId], revision: int
    ) -> Mapping[EntryId, Entry]:
        return self._named(selects.AS_OF, space, entries, revision=revision)

    def _named(
        self,
        statement: ClauseElement,
        space: SpaceName,
        entries: Collection[EntryId],
        **parameters: Any,
    ) -> Mapping[EntryId, Entry]:
        if not entries or (space_id := self._space_id(space)) is None:
            return _NO_ENTRIES
        found: dict[EntryId, Entry] = {}
        for entry in entries:
            kind, key = entry
            row = self._first(statement, space=space_id, kind=kind.value, key=key, **parameters)
            if row is not None:
                found[entry] = rows.version_of(row)
        return found

    def scan(self, space: SpaceName, scan: Scan) -> Sequence[Entry]:
        space_id = self._space_id(space)
        return (
            []
            if space_id is None
            else list(islice(self._scanned(space, space_id, scan), scan.limit))
        )

    def _scanned(self, space: SpaceName, space_id: int, scan: Scan) -> Iterator[Entry]:
        found = 0
        for kind in sorted(scan.kinds or Kind, key=_kind_text):
            after = _key_after(kind, scan.after)
            if scan.path and after < scan.path:
                root = EntryId(kind, scan.path)
                at = (
                    self.newest(space, [root])
                    if scan.revision is None
                    else self.as_of(space, [root], scan.revision)
                )
                if root in at and at[root].exists:
                    found += 1
                    yield at[root]
            for row in self._below(space_id, kind, after, scan, scan.limit - found):
                found += 1
                yield rows.version_of(row)

    def _below(
        self, space_id: int, kind: Kind, after: str, scan: Scan, limit: int
    ) -> Sequence[rows.Row]:
        if scan.revision is None:
            return self._between(selects.SCAN, space_id, kind, after, scan, limit=limit)
        return self._between(
            selects.SCAN_AS_OF, space_id, kind, after, scan, limit=limit, revision=scan.revision
        )

    def _between(
        self,
        statement: ClauseElement,
        space_id: int,
        kind: Kind,
        after: str,
        scan: Scan,
        *,
        limit: int,
        **parameters: Any,
    ) -> Sequence[rows.Row]:
        # Not from `path` itself: what sorts between it and what is below it, such as `a-b` between `a` and `a/b`, is no part of it.
        first, last = (f"{scan.path}/", f"{scan.path}0") if scan.path else ("", _LAST)
        beyond = max(first, after)
        if beyond >= last or limit <= 0:
            return ()
        return self._all(
            statement,
            space=space_id,
            kind=kind.value,
            beyond=beyond,
            last=last,
            limit=limit,
            **parameters,
        )

    def changed(self, space: SpaceName, scan: Scan, *, since: int) -> Sequence[EntryId]:
        space_id = self._space_id(space)
        found: list[EntryId] = []
        if space_id is None:
            return found
        span = {
            "since": since,
            "revision": _LAST_NUMBER if scan.revision is None else scan.revision,
        }
        for kind in sorted(scan.kinds or Kind, key=_kind_text):
            after = _key_after(kind, scan.after)
            if scan.path and after < scan.path:
                root = EntryId(kind, scan.path)
                found += [root] if self._of_entry(selects.HAS_CHANGED, space, root, **span) else []
            below = self._between(
                selects.CHANGED, space_id, kind, after, scan, limit=scan.limit - len(found), **span
            )
            found += [EntryId(kind, key) for (key,) in below]
        return found[: scan.limit]

    def versions(
        self, space: SpaceName, entry: EntryId, *, below_version: int | None, limit: int
    ) -> Sequence[Entry]:
        found = self._of_entry(
            selects.VERSIONS_BELOW,
            space,
            entry,
            below=_LAST_NUMBER if below_version is None else below_version,
            limit=limit,
        )
        return [rows.version_of(row) for row in found]

    def version(self, space: SpaceName, entry: EntryId, version: int) -> Entry | None:
        found = self._of_entry(selects.VERSION, space, entry, version=version)
        return rows.version_of(found[0]) if found else None

    def _of_entry(
        self, statement: ClauseElement, space: SpaceName, entry: EntryId, **parameters: Any
    ) -> Sequence[rows.Row]:
        space_id = self._space_id(space)
        if space_id is None:
            return ()
        return self._all(
            statement, space=space_id, kind=entry.kind.value, key=entry.key, **parameters
        )

    def commits(
        self, space: SpaceName, *, after: int, limit: int, bytes_max: int
    ) -> Sequence[Commit]:
        if (space_id := self._space_id(space)) is None:
            return []
        weights = self._all(selects.COMMIT_WEIGHTS, space=space_id, after=after, limit=limit)
        if (through := _last_within(weights, bytes_max)) is None:
            return []
        page = {"space": space_id, "after": after, "through": through}
        made = {
            revision: tuple(map(rows.version_of, of_commit))
            for revision, of_commit in groupby(
                self._all(selects.VERSIONS_BETWEEN, **page), key=_revision
            )
        }
        return [
            rows.commit_of(row, space, made.get(_revision(row), ()))
            for row in self._all(selects.COMMITS_BETWEEN, **page)
        ]

    def surplus_revision(self, space: SpaceName, subtree: Subtree, versions_max: int) -> int | None:
        if (space_id := self._space_id(space)) is None:
            return None
        parameters = {"space": space_id, "kept": versions_max, "kept_before_last": versions_max - 1}
        return self._connection.execute(selects.surplus(subtree), parameters).scalar()

    def has_superseded(self, space: SpaceName, subtree: Subtree, horizon: int) -> bool:
        if (space_id := self._space_id(space)) is None:
            return False
        first = select(versions.c.revision).where(selects.superseded(subtree)).limit(1)
        found = self._connection.execute(first, {"space": space_id, "horizon": horizon}).first()
        return found is not None

    def revision_by(self, space: SpaceName, moment: datetime) -> int:
        space_id, log = self._space_id(space), self.space(space)
        if space_id is None or log is None:
            return 0
        oldest = self._number(selects.OLDEST_COMMIT, space=space_id)
        # Times rise with revisions, so that halving finds it without an index of its own.
        revisions = range(oldest, log.head + 1) if oldest else range(0)
        index = bisect_right(
            revisions,
            micros(moment),
            key=lambda revision: self._number(
                selects.COMMITTED_AT, space=space_id, revision=revision
            ),
        )
        return revisions[index - 1] if index else 0


def _kind_text(kind: Kind) -> str:
    return kind.value


def _key_after(kind: Kind, after: EntryId | None) -> str:
    """After which key to begin among those of a kind."""
    if after is None:
        return ""
    name, key = after.kind.value, after.key
    return key if name == kind.value else (_LAST if name > kind.value else "")


def _last_within(weights: Sequence[rows.Row], bytes_max: int) -> int | None:
    """The revision at which the weights exceed `bytes_max`, or the last."""
    total = 0
    last: int | None = None
    for revision, weight_bytes in weights:
        last = revision
        total += weight_bytes
        if total > bytes_max:
            break
    return last


def _revision(row: rows.Row) -> int:
    return int(row[1])
