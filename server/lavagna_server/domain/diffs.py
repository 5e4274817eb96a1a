"""How two states of an entry differ: as a merge patch for programs, as a unified diff for people."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass

from lavagna_server.domain.entries import Entry
from lavagna_server.domain.patches import between, compact
from lavagna_server.domain.values import Form, Value

UNIFIED_BYTES_MAX = 64 << 10
"""Comparing lines takes time that grows with the square of their number; larger values are not compared line by line."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How one entry differs between two revisions."""

    key: str
    before: Entry | None
    after: Entry | None
    merge_json: str
    """A JSON merge patch from before to after; empty when one of them is not JSON or no merge patch can say it."""
    unified: str
    """A unified diff of lines; empty for bytes and for large values."""


def difference(key: str, before: Entry | None, after: Entry | None) -> Difference:
    """The difference of one entry, which did not exist where None is given."""
    old, new = before.value if before else None, after.value if after else None
    return Difference(key, before, after, _merge_json(old, new), _unified(key, old, new))


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


def _unified(key: str, old: Value | None, new: Value | None) -> str:
    sizes = sum(value.size_bytes for value in (old, new) if value is not None)
    if sizes > UNIFIED_BYTES_MAX or any(
        value is not None and value.form is Form.DATA for value in (old, new)
    ):
        return ""
    lines = difflib.unified_diff(
        _lines(old), _lines(new), f"{key} before", f"{key} after", lineterm=""
    )
    return "\n".join(lines)


def _lines(value: Value | None) -> list[str]:
    if value is None:
        return []
    assert isinstance(value.content, str)
    if value.form is Form.TEXT:
        return value.content.splitlines()
    return json.dumps(json.loads(value.content), ensure_ascii=False, indent=2).splitlines()
