"""What checking a value against a schema may cost, before it is checked.

References let a short schema look at the same value 2⁴⁰ times, and a refused `anyOf` copies the value for each of its
branches. So the most often that a path from the root of any value to one of its leaves can be looked at is worked out
from the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from lavagna_server.conditions.functions import NotOffered, pattern_states
from lavagna_server.domain.values import Json

VISITS_MAX = 100_000
"""Rules that apply to one place in a value."""
STATES_MAX = 50_000
"""States of all patterns in a schema, which take memory and time to compile."""

_CHAIN_MAX = 64
_HERE_ONE = ("not", "if", "then", "else")
_HERE_SOME = ("allOf", "anyOf", "oneOf")
_HERE_NAMED = ("dependentSchemas", "dependencies")
_ELSEWHERE = ("$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor", "$recursiveAnchor")
_DEFINITIONS = ("$defs", "definitions")


class Weights(NamedTuple):
    """How much work a schema is for each part of a value."""

    visits: int = 0
    """Rules per node of the value."""
    scans: int = 0
    """States of patterns per byte of the value."""
    copies: int = 0
    """Branches whose failure keeps a copy of the node."""

    def plus(self, other: Weights) -> Weights:
        return Weights(
            self.visits + other.visits, self.scans + other.scans, self.copies + other.copies
        )

    def most(self, other: Weights) -> Weights:
        return Weights(*(max(pair) for pair in zip(self, other, strict=True)))


_NOTHING = Weights()


@dataclass(slots=True)
class _Rule:
    """A schema within the schema, reduced to what counts."""

    own: Weights
    here: list[_Rule] = field(default_factory=list["_Rule"])
    """Those that look at the same node, by reference too."""
    either: list[_Rule] = field(default_factory=list["_Rule"])
    """Those of which one at most looks at a child."""
    also: list[_Rule] = field(default_factory=list["_Rule"])
    """Those that look at any child besides."""
    looks_back: bool = False
    """Whether it asks again what all rules here have looked at."""


def weights(document: Json, *, depth_max: int) -> Weights:
    """The most work on any path into a value that nests at most `depth_max` deep.

    Raises:
        NotOffered: A reference leaves the document or leads nowhere, or the work has no reasonable bound.
    """
    rules = _Rules(document)
    root = rules.rule(document)
    rules.finish()
    below: dict[int, Weights] = {}
    for _ in range(depth_max + 1):
        level = _Level(below)
        for rule in rules.all():
            level.worst(rule, 0)
        if level.found == below:
            break
        below = level.found
    return below[id(root)]


class _Level:
    """The weights for values that nest one deeper than those of `below`."""

    def __init__(self, below: Mapping[int, Weights]) -> None:
        self._below = below
        self.found: dict[int, Weights] = {}

    def worst(self, rule: _Rule, chain: int) -> Weights:
        if (known := self.found.get(id(rule))) is not None:
            return known
        if chain > _CHAIN_MAX:
            raise NotOffered(
                f"rules for one value may lead to each other {_CHAIN_MAX} deep, and never in a circle"
            )
        total = rule.own
        for each in rule.here:
            total = total.plus(self.worst(each, chain + 1))
        if rule.looks_back:
            total = total.plus(total)
        one = _NOTHING
        for each in rule.either:
            one = one.most(self._below.get(id(each), _NOTHING))
        for each in rule.also:
            one = one.plus(self._below.get(id(each), _NOTHING))
        total = total.plus(one)
        if total.visits > VISITS_MAX:
            raise NotOffered(f"more than {VISITS_MAX} rules may apply to one place in a value")
        self.found[id(rule)] = total
        return total


class _Rules:
    """Reads a schema into rules; what a reference leads to is read once."""

    def __init__(self, document: Json) -> None:
        self._document = document
        self._known: dict[int, _Rule] = {}
        self._unread: list[tuple[_Rule, dict[str, Json]]] = []
        self._states = 0

    def all(self) -> Iterator[_Rule]:
        return iter(self._known.values())

    def rule(self, schema: Json) -> _Rule:
        known = self._known.get(id(schema))
        if known is None:
            known = self._known[id(schema)] = _Rule(Weights(1))
            if isinstance(schema, dict):
                self._unread.append((known, schema))
        return known

    def finish(self) -> None:
        """Reads what is known but not read, until nothing is left."""
        while self._unread:
            rule, schema = self._unread.pop()
            self._check_references(schema)
            rule.own = self._own(schema)
            rule.here = [self.rule(each) for each in self._here(schema)]
            rule.either = [self.rule(each) for each in _either(schema)]
            rule.also = [self.rule(each) for each in _also(schema)]
            rule.looks_back = "unevaluatedProperties" in schema or "unevaluatedItems" in schema
            for name in _DEFINITIONS:
                for each in _named(schema, name):
                    self.rule(each)

    def _check_references(self, schema: dict[str, Json]) -> None:
        for keyword in _ELSEWHERE:
            if keyword in schema:
                raise NotOffered(
                    f"{keyword} is not offered: refer with $ref to a place in this schema"
                )
        if schema is not self._document and ("$id" in schema or "id" in schema):
            raise NotOffered("$id is offered at the root alone")

    def _own(self, schema: dict[str, Json]) -> Weights:
        patterns = [*_mapping(schema, "patternProperties")]
        if isinstance(pattern := schema.get("pattern"), str):
            patterns.append(pattern)
        states = sum(pattern_states(pattern) for pattern in patterns)
        self._states += states
        if self._states > STATES_MAX:
            raise NotOffered(f"its patterns have more than {STATES_MAX} states together")
        visits = 1 + 2 * len(patterns) + len(_mapping(schema, "properties")) // 8
        for keyword in ("enum", "const", "required"):
            if keyword in schema:
                visits += 2 * _nodes(schema[keyword])
        copies = sum(len(_sequence(schema, keyword)) for keyword in _HERE_SOME)
        return Weights(visits, states + ("format" in schema), copies)

    def _here(self, schema: dict[str, Json]) -> Iterator[Json]:
        for keyword in _HERE_ONE:
            if keyword in schema:
                yield schema[keyword]
        for keyword in _HERE_SOME:
            yield from _sequence(schema, keyword)
        for keyword in _HERE_NAMED:
            yield from _named(schema, keyword)
        if "$ref" in schema:
            yield self._referred(schema["$ref"])

    def _referred(self, reference: Json) -> Json:
        text = str(reference)
        if text != "#" and not text.startswith("#/"):
            raise NotOffered(
                f"$ref {text[:100]!r}: a reference must be '#', or begin with '#/': nothing is fetched"
            )
        place = self._document
        for step in unquote(text).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(place, dict) and name in place:
                place = place[name]
            elif isinstance(place, list) and name.isdecimal() and int(name) < len(place):
                place = place[int(name)]
            else:
                raise NotOffered(f"$ref {text[:100]!r} leads nowhere")
        return place


def _either(schema: dict[str, Json]) -> Iterator[Json]:
    yield from _named(schema, "properties")
    yield from _sequence(schema, "prefixItems")
    yield from _sequence(schema, "items")
    for keyword in ("items", "additionalItems", "additionalProperties"):
        if keyword in schema:
            yield schema[keyword]


def _also(schema: dict[str, Json]) -> Iterator[Json]:
    yield from _named(schema, "patternProperties")
    for keyword in ("contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"):
        if keyword in schema:
            yield schema[keyword]


def _named(schema: dict[str, Json], keyword: str) -> Iterator[Json]:
    return iter(_mapping(schema, keyword).values())


def _mapping(schema: dict[str, Json], keyword: str) -> dict[str, Json]:
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def _sequence(schema: dict[str, Json], keyword: str) -> list[Json]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _nodes(value: Json) -> int:
    if isinstance(value, dict):
        return 1 + sum(_nodes(each) for each in value.values())
    return 1 + sum(_nodes(each) for each in value) if isinstance(value, list) else 1
