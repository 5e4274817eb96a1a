"""JSON merge patches (RFC 7396): applied to a value, and made from two values."""

from __future__ import annotations

import json

from lavagna_server.domain.values import Json


def merged(target: Json, patch: Json) -> Json:
    """`target` with `patch` merged in: null removes a name, an object merges, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def between(before: Json, after: Json) -> Json | None:
    """A merge patch that turns `before` into `after`; None when no merge patch can say it (a null inside)."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return after if merged(before, after) == after else None
    patch: dict[str, Json] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            # Not compared first: that would look at what lies deep once for every level above it.
            inner = between(old, value)
            if inner == {}:
                continue
        elif name in before and same(old, value):
            continue
        else:
            inner = between(old, value)
        if inner is None:
            return None
        patch[name] = inner
    return patch


def same(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON; unlike `==`, 1, 1.0 and true differ."""
    return compact(one) == compact(other)


def compact(value: Json) -> str:
    """The shortest JSON text of a value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
