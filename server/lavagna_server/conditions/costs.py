"""What evaluating an expression may cost, before it is evaluated.

The library bounds iterations, but not what one iteration does: a search through a megabyte of text, ten thousand times
over, takes minutes, and nothing can interrupt it. So the most that an expression can cost is worked out from its syntax
and from the size of what it looks at. What takes more steps than `STEPS_MAX` is not evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from lavagna_server.conditions.extents import (
    KEY,
    NODE_BYTES,
    SCALAR,
    Extent,
    Found,
    Made,
    Measure,
    Measures,
    Place,
    either,
    gathered,
    repeated,
)
from lavagna_server.conditions.functions import FREE, NotOffered, price
from lavagna_server.conditions.syntax import Call, Collection, Field, Literal, Loop, Name, Node

STEPS_MAX = 10_000_000
"""Of about 10 ns each, so that an evaluation ends within about a tenth of a second."""
ITERATIONS_MAX = 10_000
"""The library's own budget, which it counts over all loops of an evaluation."""

_NODE_STEPS = 5
_SCALARS = frozenset({"version", "revision", "confidence", "committed_at"})
_NAMES = frozenset({"key", "kind", "change", "author"})
FIELDS = _SCALARS | _NAMES | {"value", "tags", "sources", "basis"}
"""What `entry` and `old` consist of."""
_ENTRIES = ("entry", "old")
_BOUND = Made(size=16 * 2 * KEY.size, length=16, part=KEY.size)


def small(_: Place) -> Measure:
    """As if everything were small."""
    return Measure(256, 8)


def boundless(_: Place) -> Measure:
    """As if everything were larger than anything can be."""
    return Measure(1 << 40, 1 << 40)


def steps(root: Node, measures: Measures) -> int:
    """The most steps that evaluating `root` can take over values of these measures.

    Raises:
        NotOffered: It uses what has no known bound.
    """
    walk = _Walk(measures)
    walk.extent(root, {}, 1)
    return walk.steps


class _Walk:
    """Adds up steps over a tree, visiting each node with the number of times that it may be evaluated."""

    def __init__(self, measures: Measures) -> None:
        self.steps = 0
        self._variables: Mapping[str, Extent] = {
            **{name: Found((name,), measures) for name in (*_ENTRIES, "board")},
            "bind": _BOUND,
        }

    def extent(self, node: Node, scope: Mapping[str, Extent], times: int) -> Extent:
        self.steps += times * _NODE_STEPS
        match node:
            case Literal():
                return Made(NODE_BYTES + node.size_bytes)
            case Name():
                return scope.get(node.name) or self._variables.get(node.name, SCALAR)
            case Field():
                return self._field(node, scope, times)
            case Call():
                return self._call(node, scope, times)
            case Collection():
                if node.message:
                    raise NotOffered(f"messages such as {node.message} cannot be made")
                return gathered([self.extent(part, scope, times) for part in node.parts])
            case Loop():
                return self._loop(node, scope, times)
            case _:
                assert_never(node)

    def _field(self, node: Field, scope: Mapping[str, Extent], times: int) -> Extent:
        operand = self.extent(node.operand, scope, times)
        if _is_one_of(_ENTRIES, node.operand, scope):
            if node.name not in FIELDS:
                raise NotOffered(
                    f"an entry has no {node.name!r}; it has {', '.join(sorted(FIELDS))}"
                )
            if node.name in _NAMES | _SCALARS:
                return KEY if node.name in _NAMES else SCALAR
        return SCALAR if node.is_test else operand.within(node.name)

    def _call(self, node: Call, scope: Mapping[str, Extent], times: int) -> Extent:
        arguments = [self.extent(argument, scope, times) for argument in node.arguments]
        if node.function in FREE:
            return SCALAR
        if node.function == "_?_:_":
            return either(arguments[1], arguments[2])
        if node.function == "_[_]":
            index = node.arguments[1]
            return arguments[0].within(index.text if isinstance(index, Literal) else None)
        spent, result = price(node, arguments)
        self.steps += times * spent
        return result

    def _loop(self, node: Loop, scope: Mapping[str, Extent], times: int) -> Extent:
        over = self.extent(node.over, scope, times)
        rounds = min(ITERATIONS_MAX, times * over.length)
        inner = {
            **scope,
            node.variable: KEY if _is_one_of(("board",), node.over, scope) else over.within(),
            node.accumulator: self.extent(node.start, scope, times),
        }
        self.extent(node.condition, inner, rounds)
        gained = self.extent(node.step, inner, rounds)
        if isinstance(node.start, Collection):
            # The library copies the list that grows for each element that it gains.
            length = min(ITERATIONS_MAX, over.length)
            self.steps += 3 * rounds * length
            gained = repeated(gained, length)
        return self.extent(node.result, {**scope, node.accumulator: gained}, times)


def _is_one_of(names: tuple[str, ...], node: Node, scope: Mapping[str, Extent]) -> bool:
    """Whether `node` is a variable of one of these names, and not a loop's own."""
    return isinstance(node, Name) and node.name in names and node.name not in scope
