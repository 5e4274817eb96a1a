"""Claims: what agents hold to be true about a key, and what turned out to be.

A claim itself is an `Entry` of the kind `claim`, below the key that it is about.
"""

from __future__ import annotations

from dataclasses import dataclass

from lavagna.entries import Entry


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim, and what became of the entry that it is about."""

    claim: Entry
    merged: Entry
    """The merge of all live claims, by the region's rule for their type."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is true, and whose claims were right."""

    entry: Entry
    """The entry, which now holds what is true."""
    right: tuple[str, ...]
    """The agents whose claims were right."""
    wrong: tuple[str, ...]
    """Those whose claims were wrong."""
