"""Exports: a space's commits as a stream that ends."""

from __future__ import annotations

from dataclasses import dataclass

from lavagna.entries import Entry
from lavagna.watch import Commit


@dataclass(frozen=True, slots=True)
class Exported:
    """A part of an export."""

    epoch: str
    last_revision: int
    """The last revision that this export will give."""
    state: tuple[Entry, ...]
    """Entries at the oldest readable revision, when history before it is gone."""
    commits: tuple[Commit, ...]
    """Commits, in order."""
