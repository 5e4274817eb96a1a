"""Packing: commits in batches that every client can take as one message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lavagna_server.domain.entries import FRAME_BYTES, Commit, Entry


@dataclass(frozen=True, slots=True)
class SeenCommit:
    """A commit as far as it matches and may be read."""

    commit: Commit
    entries: tuple[Entry, ...]
    fragment: tuple[int, bool] | None = None
    """The part's index and whether it is the last, when the commit is too large for one message."""

    @property
    def weight_bytes(self) -> int:
        """At least what it takes in a message."""
        return FRAME_BYTES + sum(entry.weight_bytes for entry in self.entries)


def packed(commits: Iterable[SeenCommit], bytes_max: int) -> Iterator[tuple[SeenCommit, ...]]:
    """Whole commits together as far as they fit; the parts of one that does not fit each alone."""
    batch: list[SeenCommit] = []
    left = bytes_max
    for seen in commits:
        weight = seen.weight_bytes
        if batch and weight > left:
            yield tuple(batch)
            batch, left = [], bytes_max
        if weight > bytes_max:
            yield from ((part,) for part in _fragments(seen, bytes_max))
        else:
            batch.append(seen)
            left -= weight
    if batch:
        yield tuple(batch)


def leading(entries: Iterable[Entry], bytes_max: int) -> tuple[Entry, ...]:
    """The leading entries that fit; at least one if there is any."""
    return next(_parts(entries, bytes_max), ())


def _fragments(seen: SeenCommit, bytes_max: int) -> Iterator[SeenCommit]:
    parts = list(_parts(seen.entries, bytes_max - FRAME_BYTES))
    for index, part in enumerate(parts):
        yield SeenCommit(seen.commit, part, (index, index == len(parts) - 1))


def _parts(entries: Iterable[Entry], bytes_max: int) -> Iterator[tuple[Entry, ...]]:
    part: list[Entry] = []
    left = bytes_max
    for entry in entries:
        if part and entry.weight_bytes > left:
            yield tuple(part)
            part, left = [], bytes_max
        part.append(entry)
        left -= entry.weight_bytes
    if part:
        yield tuple(part)
