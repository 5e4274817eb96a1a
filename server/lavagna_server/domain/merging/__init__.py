"""Merging: one value of many claims, by a named rule that anyone can have explained (C4)."""

from lavagna_server.domain.merging.merges import merged
from lavagna_server.domain.merging.rules import MergeRules
from lavagna_server.domain.merging.testimonies import Merged, Position, Share, Testimony

__all__ = ["MergeRules", "Merged", "Position", "Share", "Testimony", "merged"]
