"""How two states of an entry differ: as a merge patch for programs, as a unified diff for people."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass

from lavagna_server.domain.entries import Entry
from lavagna_server.domain.errors import Exhausted
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.patches import between, compact
from lavagna_server.domain.values import Form, Value, utf8_bytes

UNIFIED_BYTES_MAX = 64 << 10
"""Of two values that are compared line by line; this is for people."""
COMPARED_BYTES_MAX = 1 << 20
"""Of all values that one comparison compares line by line."""
COMPARED_PAIRS_MAX = 1_000_000
"""Of a line before with a line after, in one comparison: the time that it takes grows with them."""
SUBJECT = "this comparison is too large (give a narrower pattern)"


@dataclass(frozen=True, slots=True)
class Difference:
    """How one entry differs between two revisions."""

    key: str
    before: Entry | None
    after: Entry | None
    merge_json: str
    """A JSON merge patch from before to after; empty when one of them is not JSON or no merge patch can say it."""
    unified: str
    """A unified diff of lines; empty for bytes and for what is too much to compare line by line."""

    @property
    def weight_bytes(self) -> int:
        """At least what it takes in a message."""
        sides = [side for side in (self.before, self.after) if side is not None]
        texts = utf8_bytes(self.merge_json) + utf8_bytes(self.unified)
        return sum(side.weight_bytes for side in sides) + texts


class Comparison:
    """Gathers the differences of two states, no more than one response holds."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._bytes_left = limits.commit_bytes_max
        self._compared_bytes_left = COMPARED_BYTES_MAX
        self._pairs_left = COMPARED_PAIRS_MAX
        self.differences: list[Difference] = []
        """Those gathered so far."""

    def add(self, before: Entry | None, after: Entry | None) -> None:
        """Takes in how one entry differs, which did not exist where None is given.

        Raises:
            Exhausted: There are too many, or they are too large together.
        """
        if len(self.differences) == self._limits.page_entries_max:
            limit = "the number of entries that differ (page_entries_max)"
            raise Exhausted(limit, maximum=self._limits.page_entries_max, subject=SUBJECT)
        known = after or before
        assert known is not None
        bare = Difference(known.key, before, after, "", "")
        self._check_room(bare)
        old, new = before.value if before else None, after.value if after else None
        found = Difference(
            known.key, before, after, _merge_json(old, new), self._unified(known.key, old, new)
        )
        self._check_room(found)
        self._bytes_left -= found.weight_bytes
        self.differences.append(found)

    def _check_room(self, found: Difference) -> None:
        if found.weight_bytes > self._bytes_left:
            limit = "the size of one response in bytes (commit_bytes_max)"
            raise Exhausted(limit, maximum=self._limits.commit_bytes_max, subject=SUBJECT)

    def _unified(self, key: str, old: Value | None, new: Value | None) -> str:
        values = [value for value in (old, new) if value is not None]
        size_bytes = sum(value.size_bytes for value in values)
        if any(value.form is Form.DATA for value in values) or size_bytes > min(
            UNIFIED_BYTES_MAX, self._compared_bytes_left
        ):
            return ""
        self._compared_bytes_left -= size_bytes
        lines, new_lines = _lines(old), _lines(new)
        pairs = len(lines) * len(new_lines)
        if pairs > self._pairs_left:
            return ""
        self._pairs_left -= pairs
        return "\n".join(
            difflib.unified_diff(lines, new_lines, f"{key} before", f"{key} after", lineterm="")
        )


def _merge_json(old: Value | None, new: Value | None) -> str:
    if (
        old is None
        or new is None
        or Form.JSON not in (old.form, new.form)
        or old.form is not new.form
    ):
        return ""
    patch = between(json.loads(old.content), json.loads(new.content))
    return "" if patch is None else compact(patch)


def _lines(value: Value | None) -> list[str]:
    if value is None:
        return []
    assert isinstance(value.content, str)
    if value.form is Form.TEXT:
        return value.content.splitlines()
    return json.dumps(json.loads(value.content), ensure_ascii=False, indent=2).splitlines()
