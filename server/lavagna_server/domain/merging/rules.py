"""What the owner of a region chose: a rule for each type of value, and others for single fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.merging.voices import ValueType

SELECT = "select"
"""Takes whole values and votes by weight; every type but a category knows it, where it is `weighted-plurality`."""
RECONCILE = "reconcile"
LINES = "lines"

KNOWN: Mapping[ValueType, tuple[str, ...]] = MappingProxyType(
    {
        ValueType.NUMBER: (
            "mean",
            "median",
            "min",
            "max",
            "sum",
            "linear-pool",
            "log-pool",
            SELECT,
        ),
        ValueType.CATEGORY: ("plurality", "weighted-plurality", "confidence-buckets"),
        ValueType.COLLECTION: ("union", "threshold", SELECT),
        ValueType.RECORD: ("fields", SELECT),
        ValueType.TEXT: (SELECT, LINES, RECONCILE),
        ValueType.DATA: (SELECT, RECONCILE),
    }
)
"""The rules of each type of value."""

_NAMES = {
    each: each.value
    for each in (ValueType.NUMBER, ValueType.CATEGORY, ValueType.COLLECTION, ValueType.RECORD)
}


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How the claims of a region are merged."""

    number: str = "median"
    category: str = "weighted-plurality"
    collection: str = "threshold"
    record: str = "fields"
    text: str = SELECT
    """Of text and of bytes; what can only be done to lines leaves bytes to `select`."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Rules for single fields of objects, by path: `effort`, `plan/effort`; `/` and `~` in a name are `~1` and `~0` (RFC 6901). Where
    a field holds something that its rule is not for, the rule of its type is used."""
    threshold: float = 0.5
    """An element belongs to a set when more than this share of the weight claims it."""

    def check(self, field: str) -> None:
        """Checks that every rule is known.

        Raises:
            Invalid: Naming the rule, and those that are known in its place.
        """
        for name in ("number", "category", "collection", "record", "text"):
            _check_rule(getattr(self, name), KNOWN[ValueType(name)], f"{field}.{name}")
        everything = tuple(dict.fromkeys(rule for known in KNOWN.values() for rule in known))
        for path, rule in self.fields.items():
            if not path or path.startswith("/") or path.endswith("/"):
                raise Invalid(f"{field}.fields", f"{path!r} is not a path such as plan/effort")
            _check_rule(rule, everything, f"{field}.fields[{path}]")
        if not (math.isfinite(self.threshold) and 0 <= self.threshold < 1):
            raise Invalid(
                f"{field}.threshold", f"must be 0 or more and less than 1, not {self.threshold}"
            )

    def chosen(self, value_type: ValueType, path: str | None) -> str:
        """The rule for values of a type, at a path inside an object; None is the whole value."""
        known = KNOWN[value_type]
        override = None if path is None else self.fields.get(path)
        if override in known:
            return override
        general: str = getattr(self, _NAMES.get(value_type, "text"))
        if override == SELECT and value_type is ValueType.CATEGORY:
            return "weighted-plurality"
        return general if general in known else SELECT

    @property
    def takes_probabilities(self) -> bool:
        """Whether some number may have to be one."""
        return not {"linear-pool", "log-pool"}.isdisjoint((self.number, *self.fields.values()))

    @property
    def takes_logarithms(self) -> bool:
        """Whether some number may be pooled by its log odds, which takes longer than all else that is done to one."""
        return "log-pool" in (self.number, *self.fields.values())


SELECTING = MergeRules(number=SELECT, collection=SELECT, record=SELECT)
"""Whole values, voted on by weight: this always has a result."""


def field_path(parent: str | None, name: str) -> str:
    """The path of a field of the object at `parent`."""
    step = name.replace("~", "~0").replace("/", "~1")
    return step if parent is None else f"{parent}/{step}"


def _check_rule(rule: str, known: tuple[str, ...], field: str) -> None:
    if rule not in known:
        raise Invalid(field, f"there is no rule {rule!r} here: use one of {', '.join(known)}")
