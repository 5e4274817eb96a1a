"""What evaluating an expression may cost, before it is evaluated.

The library bounds iterations, but not what one iteration does: a search through a megabyte of text, ten thousand times
over, takes minutes, and nothing can interrupt it. So the most that an expression can cost is worked out from its syntax
and from the size of what it looks at. What takes more steps than `STEPS_MAX` is not evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, assert_never

from lavagna_server.conditions.syntax import Call, Collection, Field, Literal, Loop, Name, Node

STEPS_MAX = 10_000_000
"""Of about 10 ns each, so that an evaluation ends within about a tenth of a second."""
ITERATIONS_MAX = 10_000
"""The library's own budget, which it counts over all loops of an evaluation."""

_NODE_STEPS = 5
_KEY_BYTES = 520
_BINDINGS = 16
_SCALARS = frozenset({"version", "revision", "confidence", "committed_at"})
_NAMES = frozenset({"key", "kind", "change", "author"})
_CONTENT = frozenset({"value", "tags", "sources"})
FIELDS = _SCALARS | _NAMES | _CONTENT
"""What `entry` and `old` consist of."""

_COUNTED = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_CLASS = re.compile(r"\\[pP]|\[:")
_PATTERN_BYTE_STEPS = 400
_CLASS_STEPS = 60_000


class Sizes(NamedTuple):
    """Bounds on what an expression looks at."""

    value: int
    """Bytes of the largest value, each number and each element counted as 8 and more."""
    part: int
    """Bytes of the largest element of a value."""
    length: int
    """Elements of the longest list or map inside a value."""
    board: int
    """Entries of `board`."""


SMALL = Sizes(value=256, part=64, length=8, board=8)
BOUNDLESS = Sizes(value=1 << 40, part=1 << 40, length=1 << 40, board=1 << 40)


class NotOffered(Exception):
    """The expression uses something whose cost is not known or not bounded."""


class Extent(NamedTuple):
    """Bounds on a value inside an expression."""

    size: int = 8
    length: int = 0
    part: int = 0
    """The size of the largest element, at any depth."""
    part_length: int = 0
    """The length of the longest element, at any depth."""

    def within(self) -> Extent:
        """Any part of it."""
        return Extent(self.part, self.part_length, self.part, self.part_length)


_SCALAR = Extent()
_KEY = Extent(size=_KEY_BYTES)


def steps(root: Node, sizes: Sizes) -> int:
    """The most steps that evaluating `root` can take over values of these sizes.

    Raises:
        NotOffered: It uses what has no known bound.
    """
    walk = _Walk(sizes)
    walk.extent(root, {}, 1)
    return walk.steps


def pattern_states(pattern: str) -> int:
    """A bound on the states of a regular expression; both engines in use take time in proportion to them, never more."""
    return (1 + len(pattern.encode())) * _repeats(pattern)


class _Walk:
    """Adds up steps over a tree, visiting each node with the number of times that it may be evaluated."""

    def __init__(self, sizes: Sizes) -> None:
        self.steps = 0
        self._value = Extent(sizes.value, sizes.length, sizes.part, sizes.length)
        entry = Extent(2 * sizes.value, len(FIELDS), sizes.value, sizes.length)
        board = Extent(
            sizes.board * (sizes.value + _KEY_BYTES), sizes.board, sizes.value, sizes.length
        )
        self._names = {
            "entry": entry,
            "old": entry,
            "board": board,
            "bind": Extent(_BINDINGS * 2 * _KEY_BYTES, _BINDINGS, _KEY_BYTES),
        }

    def extent(self, node: Node, scope: Mapping[str, Extent], times: int) -> Extent:
        self.steps += times * _NODE_STEPS
        match node:
            case Literal():
                return Extent(8 + node.size_bytes)
            case Name():
                return scope.get(node.name) or self._names.get(node.name, _SCALAR)
            case Field():
                return self._field(node, scope, times)
            case Call():
                return self._call(node, scope, times)
            case Collection():
                if node.message:
                    raise NotOffered(f"messages such as {node.message} cannot be made")
                return _gathered([self.extent(part, scope, times) for part in node.parts])
            case Loop():
                return self._loop(node, scope, times)
            case _:
                assert_never(node)

    def _field(self, node: Field, scope: Mapping[str, Extent], times: int) -> Extent:
        operand = self.extent(node.operand, scope, times)
        if node.is_test:
            return _SCALAR
        if _is_free(node.operand, "board", scope):
            return self._value
        if not any(_is_free(node.operand, name, scope) for name in ("entry", "old")):
            return operand.within()
        if node.name not in FIELDS:
            raise NotOffered(f"an entry has no {node.name!r}; it has {', '.join(sorted(FIELDS))}")
        if node.name in _CONTENT:
            return self._value
        return _KEY if node.name in _NAMES else _SCALAR

    def _call(self, node: Call, scope: Mapping[str, Extent], times: int) -> Extent:
        arguments = [self.extent(argument, scope, times) for argument in node.arguments]
        if node.function in _FREE:
            return _SCALAR
        rule = _RULES.get(node.function)
        if rule is None:
            raise NotOffered(f"the function {node.function} is not offered")
        spent, result = rule(node, arguments)
        self.steps += times * spent
        return result

    def _loop(self, node: Loop, scope: Mapping[str, Extent], times: int) -> Extent:
        over = self.extent(node.over, scope, times)
        rounds = min(ITERATIONS_MAX, times * over.length)
        inner = {
            **scope,
            node.variable: _KEY if _is_free(node.over, "board", scope) else over.within(),
            node.accumulator: self.extent(node.start, scope, times),
        }
        self.extent(node.condition, inner, rounds)
        gained = self.extent(node.step, inner, rounds)
        if isinstance(node.start, Collection):
            # The library copies the list that grows for each element that it gains.
            length = min(ITERATIONS_MAX, over.length)
            self.steps += 3 * rounds * length
            gained = Extent(8 + gained.size * length, length, gained.part, gained.part_length)
        return self.extent(node.result, {**scope, node.accumulator: gained}, times)


def _is_free(node: Node, name: str, scope: Mapping[str, Extent]) -> bool:
    """Whether `node` is the variable of that name, and not a loop's own."""
    return isinstance(node, Name) and node.name == name and name not in scope


def _gathered(parts: list[Extent]) -> Extent:
    return Extent(
        8 + sum(part.size for part in parts),
        len(parts),
        max((max(part.size, part.part) for part in parts), default=0),
        max((max(part.length, part.part_length) for part in parts), default=0),
    )


_Priced = tuple[int, Extent]
_FREE = frozenset(
    {"_&&_", "_||_", "!_", "@not_strictly_false", "-_", "_-_", "_*_", "_/_", "_%_", "type"}
)


def _same(node: Call, arguments: list[Extent]) -> _Priced:
    return 2 * min(arguments[0].size, arguments[1].size), _SCALAR


def _among(node: Call, arguments: list[Extent]) -> _Priced:
    wanted, where = arguments
    if node.overloads == frozenset({"in_map"}):
        return wanted.size, _SCALAR
    return 2 * min(where.size, (where.length + 1) * wanted.size), _SCALAR


def _join(node: Call, arguments: list[Extent]) -> _Priced:
    if node.overloads and not node.overloads & {"add_string", "add_bytes", "add_list"}:
        return 0, _SCALAR
    one, other = arguments
    size = one.size + other.size
    return size, Extent(
        size,
        one.length + other.length,
        max(one.part, other.part),
        max(one.part_length, other.part_length),
    )


def _choice(node: Call, arguments: list[Extent]) -> _Priced:
    _, one, other = arguments
    return 0, Extent(*(max(pair) for pair in zip(one, other, strict=True)))


def _element(node: Call, arguments: list[Extent]) -> _Priced:
    return min(arguments[1].size, _KEY_BYTES), arguments[0].within()


def _measure(node: Call, arguments: list[Extent]) -> _Priced:
    return arguments[0].size // 16, _SCALAR


def _search(node: Call, arguments: list[Extent]) -> _Priced:
    text, wanted = arguments[0].size, arguments[1].size
    return text * (1 + min(text, wanted) // 256), _SCALAR


def _match(node: Call, arguments: list[Extent]) -> _Priced:
    pattern = node.arguments[-1]
    if not isinstance(pattern, Literal) or pattern.text is None:
        raise NotOffered("the pattern of matches must be a literal string")
    states = pattern_states(pattern.text)
    # Compiled at each evaluation; then, at worst, every state is visited at every byte.
    return states * (_PATTERN_BYTE_STEPS + arguments[0].size) + _classes(
        pattern.text
    ) * _CLASS_STEPS, _SCALAR


def _converted(node: Call, arguments: list[Extent]) -> _Priced:
    size = arguments[0].size
    return size, Extent(max(size, 64))


def _parsed(node: Call, arguments: list[Extent]) -> _Priced:
    return arguments[0].size, _SCALAR


def _unchanged(node: Call, arguments: list[Extent]) -> _Priced:
    return arguments[0].size, arguments[0]


def _split(node: Call, arguments: list[Extent]) -> _Priced:
    size = arguments[0].size
    return 8 * size, Extent(9 * size, size, size)


def _replaced(node: Call, arguments: list[Extent]) -> _Priced:
    size = (1 + arguments[0].size) * (1 + arguments[2].size)
    return 4 * arguments[0].size + size, Extent(size)


def _part_of_day(node: Call, arguments: list[Extent]) -> _Priced:
    # Each zone that is named is looked for among files, and remembered for good.
    if len(arguments) > 1 and not isinstance(node.arguments[1], Literal):
        raise NotOffered(f"the time zone of {node.function} must be a literal string")
    return 50 * len(arguments), _SCALAR


_RULES: Mapping[str, Callable[[Call, list[Extent]], _Priced]] = {
    **dict.fromkeys(
        ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "startsWith", "endsWith"), _same
    ),
    **dict.fromkeys(("contains", "indexOf", "lastIndexOf"), _search),
    **dict.fromkeys(("string", "bytes"), _converted),
    **dict.fromkeys(("bool", "double", "duration", "int", "timestamp", "uint"), _parsed),
    **dict.fromkeys(("charAt", "dyn", "lowerAscii", "substring", "trim", "upperAscii"), _unchanged),
    **dict.fromkeys(
        (
            "getDate",
            "getDayOfMonth",
            "getDayOfWeek",
            "getDayOfYear",
            "getFullYear",
            "getHours",
            "getMilliseconds",
            "getMinutes",
            "getMonth",
            "getSeconds",
        ),
        _part_of_day,
    ),
    "@in": _among,
    "_+_": _join,
    "_?_:_": _choice,
    "_[_]": _element,
    "matches": _match,
    "replace": _replaced,
    "size": _measure,
    "split": _split,
}


def _repeats(pattern: str) -> int:
    return math.prod(max(1, int(most or least)) for least, most in _COUNTED.findall(pattern))


def _classes(pattern: str) -> int:
    """How many tables of Unicode a pattern asks for."""
    return len(_CLASS.findall(pattern)) * _repeats(pattern)
