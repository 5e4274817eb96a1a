"""Replays an export as ordinary commits of the importer.

A commit's request id follows from the file, its place in it and the board that it goes to. So an
import that was interrupted is simply run again: what took effect already does not again. Every
change expects the version that the import itself made before, and a key that the import has not
written must never have been; so even after the server has forgotten the request ids, an import run
twice is refused and doubles nothing. With `overwrite`, what is refused is written over, knowingly.

The importer is the author (S7); who wrote an entry first, when and at which revision is the last of
its sources.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from lavagna import Board, Conflict, Delete, Entry, Put, Written
from lavagna.changes import Change
from lavagna.values import JsonText
from lavagna_cli import documents
from lavagna_cli.exportlines import Header
from lavagna_cli.importlines import Line

_SOURCES_MAX = 64
_BATCH_ENTRIES_MAX = 64
_BATCH_BYTES_MAX = 1 << 20
_TTL_MIN = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines that become one commit: a commit, or some entries of the state."""

    lines: Sequence[Line]

    @property
    def number(self) -> int:
        """The number of the first line."""
        return self.lines[0].number

    def number_of(self, key: str) -> int:
        """The number of the line with this key; the first one's when none has it."""
        have = (line.number for line in self.lines if key in {each.key for each in line.entries})
        return next(have, self.number)


def batches(lines: Iterable[Line]) -> Iterator[Batch]:
    """The commits to make: each commit for itself, the state in pieces that fit a commit.

    The same lines always give the same batches, because request ids depend on it.
    """
    gathered: list[Line] = []
    for line in lines:
        size = sum(each.size_bytes for each in gathered) + line.size_bytes
        full = len(gathered) == _BATCH_ENTRIES_MAX or size > _BATCH_BYTES_MAX
        if gathered and (full or not line.is_state):
            yield Batch(gathered)
            gathered = []
        if line.is_state and line.entries:
            gathered.append(line)
        elif line.entries:
            yield Batch([line])
    if gathered:
        yield Batch(gathered)


@dataclass(slots=True)
class Replay:
    """The import of one file into one space of a board."""

    board: Board
    header: Header
    identity: str
    """Names the file and the place that it goes to; part of every request id."""
    last_lines: Mapping[str, int]
    """The line with the last version of each key; only that one may expire."""
    overwrite: bool
    versions: dict[str, int] = field(default_factory=dict[str, int])
    """The version that the import last made of each key."""

    async def commit(self, batch: Batch) -> Sequence[Written]:
        """Commits a batch, once however often it is tried; what it changes, or changed before.

        Raises:
            Conflict: Somebody else wrote one of its keys.
        """
        try:
            written = await self._committed(batch, overwrite=False)
        except Conflict:
            if not self.overwrite:
                raise
            written = await self._committed(batch, overwrite=True)
        self.versions.update({each.key: each.version for each in written})
        return written

    async def _committed(self, batch: Batch, *, overwrite: bool) -> Sequence[Written]:
        """Every try that differs has a request id of its own, the same each time it is made."""
        changes = [each for line in batch.lines for each in self._changes(line, overwrite)]
        if not changes:
            return ()
        name = f"{self.identity}\n{batch.number}\n{overwrite}"
        request_id = f"import-{hashlib.sha256(name.encode()).hexdigest()[:40]}"
        return (await self.board.commit(*changes, request_id=request_id)).results

    def _changes(self, line: Line, overwrite: bool) -> Iterator[Change]:
        for entry in line.entries:
            if entry.exists:
                yield self._put(entry, line, overwrite and entry.key not in self.versions)
            elif entry.key in self.versions:
                yield Delete(entry.key, expected_version=self.versions[entry.key])

    def _put(self, entry: Entry, line: Line, overwrite: bool) -> Put:
        return Put(
            entry.key,
            entry.value if entry.json_text is None else JsonText(entry.json_text),
            expected_version=None if overwrite else self.versions.get(entry.key, 0),
            overwrite=overwrite,
            tags=entry.tags,
            confidence=entry.confidence,
            sources=(*entry.sources[: _SOURCES_MAX - 1], origin(self.header, entry)),
            ttl=self._ttl(entry, line),
        )

    def _ttl(self, entry: Entry, line: Line) -> timedelta | None:
        """What was left of the entry's time when it was exported; later versions have their own."""
        if entry.expires_at is None or self.last_lines.get(entry.key) != line.number:
            return None
        return max(entry.expires_at - self.header.exported_at, _TTL_MIN)


def displaces_a_source(entry: Entry) -> bool:
    """Whether the entry has as many sources as fit, so that the last gives way to the origin."""
    return entry.exists and len(entry.sources) >= _SOURCES_MAX


def origin(header: Header, entry: Entry) -> str:
    """Where an imported version comes from, as it stands among its sources."""
    author = entry.author or "server"
    return (
        f"import:{header.board}/{header.space}@{entry.revision}"
        f" by {author} at {documents.time(entry.committed_at)}"
    )
