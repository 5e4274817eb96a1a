"""Verification: whether the log is whole and unaltered, and the heads agree with it.

Reads everything and repairs nothing. What compaction took away is no fault: the hash of a commit's content outlives its entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import ColumnElement, Connection, Table, and_, bindparam, func, or_, select

from lavagna_server.domain.chain import chain_digest, content_digest
from lavagna_server.domain.entries import Commit, Space, SpaceName
from lavagna_server.storage.damage import Damaged
from lavagna_server.storage.log_reading import LogReading
from lavagna_server.storage.rows import space_of
from lavagna_server.storage.selects import LASTS
from lavagna_server.storage.tables import alive, commits, heads, spaces, versions

Progress: TypeAlias = Callable[[int, int], None]
"""Is told how much is done, and of how much."""

PAGE_COMMITS = 1_000
PAGE_BYTES = 4 << 20

_SPACES = select(*list(spaces.c)[1:]).order_by(spaces.c.board, spaces.c.owner)
_IN_SPACE = commits.c.space == bindparam("space")
_FIRST = select(func.min(commits.c.revision)).where(
    _IN_SPACE, commits.c.revision > bindparam("after")
)
_DIGEST = select(commits.c.digest).where(_IN_SPACE, commits.c.revision == bindparam("revision"))
_HORIZON = select(func.max(commits.c.compacted_to)).where(
    _IN_SPACE, commits.c.revision > bindparam("after")
)
_CHANGES = (
    select(commits.c.changes)
    .where(
        _IN_SPACE,
        commits.c.revision > bindparam("after"),
        commits.c.revision <= bindparam("through"),
    )
    .order_by(commits.c.revision)
)


def _same_entry(one: Table, other: Table) -> ColumnElement[bool]:
    return and_(*(one.c[name] == other.c[name] for name in ("space", "kind", "key")))


_WRONG_HEADS = (
    select(heads.c.key, heads.c.revision)
    .select_from(
        heads.outerjoin(
            versions,
            and_(
                versions.c.space == heads.c.space,
                versions.c.revision == heads.c.revision,
                versions.c.ordinal == heads.c.ordinal,
            ),
        )
    )
    .where(
        heads.c.space == bindparam("space"),
        heads.c.revision > bindparam("after"),
        or_(
            versions.c.key.is_(None),
            versions.c.key != heads.c.key,
            versions.c.kind != heads.c.kind,
            versions.c.version != heads.c.version,
            heads.c.ended == LASTS,
            func.coalesce(versions.c.expires_at, -1) != func.coalesce(heads.c.expires_at, -1),
        ),
    )
)
_UNHEADED = (
    select(versions.c.key, versions.c.revision)
    .select_from(versions.outerjoin(heads, _same_entry(heads, versions)))
    .where(
        versions.c.space == bindparam("space"),
        versions.c.revision > bindparam("after"),
        or_(heads.c.key.is_(None), versions.c.revision > heads.c.revision),
    )
)
_UNLISTED = (
    select(heads.c.key, heads.c.revision)
    .select_from(heads.outerjoin(alive, _same_entry(alive, heads)))
    .where(
        heads.c.space == bindparam("space"),
        heads.c.revision > bindparam("after"),
        alive.c.key.is_(None) != heads.c.ended,
    )
)
_UNKNOWN = (
    select(alive.c.key)
    .select_from(alive.outerjoin(heads, _same_entry(heads, alive)))
    .where(alive.c.space == bindparam("space"), heads.c.key.is_(None))
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as the server wrote it."""

    space: SpaceName
    revision: int
    """Where; 0 when it is about the space as a whole."""
    fault: str

    def __str__(self) -> str:
        return f"{self.space}@{self.revision}: {self.fault}"


def findings(
    connection: Connection, *, commits_max: int | None = None, progress: Progress | None = None
) -> Sequence[Finding]:
    """What is wrong with each space: with its newest `commits_max` commits, or with all.

    `progress` is told after each page how many commits were looked at, and of how many.
    """
    logs = [space_of(row) for row in connection.execute(_SPACES).all()]
    after = {log.name: max(0, log.head - commits_max) if commits_max else 0 for log in logs}
    total = sum(log.head - max(after[log.name], log.oldest - 1) for log in logs)
    seen = 0
    found: list[Finding] = []
    for log in logs:
        with closing(_Walk(connection, log, after[log.name])) as walk:
            for count in walk.pages():
                seen += count
                if progress is not None:
                    progress(min(seen, total), total)
            found += walk.found
    return found


class _Walk(LogReading):
    """Follows one log from a revision to its head."""

    def __init__(self, connection: Connection, space: Space, after: int) -> None:
        super().__init__(connection, {})
        self.found: list[Finding] = []
        self._space, self._after = space, after
        self._id = self._space_id(space.name)

    def pages(self) -> Iterator[int]:
        """Looks at page after page, and gives the number of commits in each."""
        at, digest = self._start()
        horizon = max(self._space.oldest, self._number(_HORIZON, space=self._id, after=at))
        while (page := self._page(at)) is not None and page:
            last = page[-1].revision
            changes = self._all(_CHANGES, space=self._id, after=at, through=last)
            for commit, (count,) in zip(page, changes, strict=True):
                self._look_at(commit, at, digest)
                self._look_inside(commit, count, horizon)
                at, digest = commit.revision, commit.digest
            yield len(page)
        if page is not None and at != self._space.head:
            self._note(at, f"the log ends here, and the space at {self._space.head}")
        elif page is not None and digest not in (None, self._space.digest):
            self._note(at, "the newest commit is not the one that the space names")
        self._look_at_heads()

    def _page(self, at: int, limit: int = PAGE_COMMITS) -> Sequence[Commit] | None:
        """The next commits; None when the very next cannot be read."""
        try:
            return self.commits(self._space.name, after=at, limit=limit, bytes_max=PAGE_BYTES)
        except Damaged:
            if limit > 1:
                return self._page(at, limit // 2)
            self._note(at + 1, "the commit cannot be read")
            return None

    def _start(self) -> tuple[int, bytes | None]:
        """The revision before the first that is looked at, and its hash if that is known."""
        first = self._number(_FIRST, space=self._id, after=self._after)
        expected = max(self._space.oldest, self._after + 1)
        if first > expected:
            self._note(expected, f"the commits before revision {first} are missing")
        before = first - 1 if first else self._after
        if before == 0:
            return 0, b""
        known = self._first(_DIGEST, space=self._id, revision=before)
        return before, known[0] if known else None

    def _look_at(self, commit: Commit, before: int, digest: bytes | None) -> None:
        if commit.revision != before + 1:
            self._note(before + 1, f"the commits up to revision {commit.revision} are missing")
        elif digest is not None and commit.digest != chain_digest(
            commit, commit.content_digest, digest
        ):
            self._note(commit.revision, "the commit or its predecessor was altered")

    def _look_inside(self, commit: Commit, changes: int, horizon: int) -> None:
        missing = changes - len(commit.entries)
        if not missing and commit.content_digest != content_digest(commit.entries):
            self._note(commit.revision, "an entry of the commit was altered")
        elif missing and commit.revision >= horizon:
            self._note(commit.revision, f"{missing} entries of the commit are missing")

    def _look_at_heads(self) -> None:
        for key, revision in self._all(_WRONG_HEADS, space=self._id, after=self._after):
            self._note(revision, f"the head of {key} points to another version")
        for key, revision in self._all(_UNHEADED, space=self._id, after=self._after):
            self._note(revision, f"the version of {key} is newer than its head")
        for key, revision in self._all(_UNLISTED, space=self._id, after=self._after):
            self._note(revision, f"lists are wrong about whether {key} exists")
        for (key,) in self._all(_UNKNOWN, space=self._id):
            self._note(0, f"{key} is listed, but was never written")

    def _note(self, revision: int, fault: str) -> None:
        self.found.append(Finding(self._space.name, revision, fault))
