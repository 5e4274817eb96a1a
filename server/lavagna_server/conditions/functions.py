"""The functions that expressions may use: what each costs, in steps, and how large its result may be.

What is not listed is not offered, so that a newer library brings nothing whose cost is unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from lavagna_server.conditions.extents import KEY_BYTES, SCALAR, Extent, Made, joined
from lavagna_server.conditions.syntax import Call, Literal

_PATTERN_BYTE_STEPS = 400
_CLASS_STEPS = 60_000
_COUNTED = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_CLASS = re.compile(r"\\[pP]|\[:")
_JOINS = frozenset({"add_string", "add_bytes", "add_list"})

_Priced: TypeAlias = tuple[int, Extent]

FREE = frozenset(
    {"_&&_", "_||_", "!_", "@not_strictly_false", "-_", "_-_", "_*_", "_/_", "_%_", "type"}
)
"""Those that cost nothing beside the call, and give a number, a boolean or the like."""


class NotOffered(Exception):
    """A rule uses something whose cost is not known, or not bounded."""


def price(call: Call, arguments: list[Extent]) -> _Priced:
    """The steps that a call takes at most, and the extent of its result.

    Raises:
        NotOffered: The function is not offered, or not with such arguments.
    """
    rule = _RULES.get(call.function)
    if rule is None:
        raise NotOffered(f"the function {call.function} is not offered")
    return rule(call, arguments)


def pattern_states(pattern: str) -> int:
    """A bound on the states of a regular expression; the engines in use take no more steps for each byte of text."""
    return (1 + len(pattern.encode())) * _repeats(pattern)


def _compared(call: Call, arguments: list[Extent]) -> _Priced:
    return 2 * min(arguments[0].size, arguments[1].size), SCALAR


def _sought(call: Call, arguments: list[Extent]) -> _Priced:
    wanted, where = arguments
    if call.overloads == frozenset({"in_map"}):
        return min(wanted.size, KEY_BYTES), SCALAR
    return 2 * min(where.size, (where.length + 1) * wanted.size), SCALAR


def _added(call: Call, arguments: list[Extent]) -> _Priced:
    if call.overloads and not call.overloads & _JOINS:
        return 0, SCALAR
    result = joined(arguments[0], arguments[1])
    return result.size, result


def _sized(call: Call, arguments: list[Extent]) -> _Priced:
    return arguments[0].size // 16, SCALAR


def _searched(call: Call, arguments: list[Extent]) -> _Priced:
    text, wanted = arguments[0].size, arguments[1].size
    return text * (1 + min(text, wanted) // 256), SCALAR


def _matched(call: Call, arguments: list[Extent]) -> _Priced:
    pattern = call.arguments[-1]
    if not isinstance(pattern, Literal) or pattern.text is None:
        raise NotOffered("the pattern of matches must be a literal string")
    # Compiled at each evaluation; then, at worst, every state is visited at every byte.
    steps = pattern_states(pattern.text) * (_PATTERN_BYTE_STEPS + arguments[0].size)
    return steps + _classes(pattern.text) * _CLASS_STEPS, SCALAR


def _written(call: Call, arguments: list[Extent]) -> _Priced:
    size = arguments[0].size
    return size, Made(max(size, 64))


def _read(call: Call, arguments: list[Extent]) -> _Priced:
    return arguments[0].size, SCALAR


def _reshaped(call: Call, arguments: list[Extent]) -> _Priced:
    return arguments[0].size, arguments[0]


def _split(call: Call, arguments: list[Extent]) -> _Priced:
    size = arguments[0].size
    return 8 * size, Made(9 * size, size, size)


def _replaced(call: Call, arguments: list[Extent]) -> _Priced:
    size = (1 + arguments[0].size) * (1 + arguments[2].size)
    return 4 * arguments[0].size + size, Made(size)


def _clock(call: Call, arguments: list[Extent]) -> _Priced:
    # Each zone that is named is looked for among files, and remembered for good.
    if len(arguments) > 1 and not isinstance(call.arguments[1], Literal):
        raise NotOffered(f"the time zone of {call.function} must be a literal string")
    return 50 * len(arguments), SCALAR


def _repeats(pattern: str) -> int:
    return math.prod(max(1, int(most or least)) for least, most in _COUNTED.findall(pattern))


def _classes(pattern: str) -> int:
    """How many tables of Unicode a pattern asks for."""
    return len(_CLASS.findall(pattern)) * _repeats(pattern)


def _each(
    *names: str, rule: Callable[[Call, list[Extent]], _Priced]
) -> dict[str, Callable[[Call, list[Extent]], _Priced]]:
    return dict.fromkeys(names, rule)


_RULES: Mapping[str, Callable[[Call, list[Extent]], _Priced]] = {
    **_each("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "startsWith", "endsWith", rule=_compared),
    **_each("contains", "indexOf", "lastIndexOf", rule=_searched),
    **_each("string", "bytes", rule=_written),
    **_each("bool", "double", "duration", "int", "timestamp", "uint", rule=_read),
    **_each("charAt", "dyn", "lowerAscii", "substring", "trim", "upperAscii", rule=_reshaped),
    **_each("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", rule=_clock),
    **_each("getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds", rule=_clock),
    "@in": _sought,
    "_+_": _added,
    "matches": _matched,
    "replace": _replaced,
    "size": _sized,
    "split": _split,
}
