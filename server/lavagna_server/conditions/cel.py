"""Conditions and ratings in CEL, behind the port `Conditions`.

An expression is checked when it is compiled: its syntax, its types, and that what it costs is bounded. Evaluating
it never raises; what goes wrong is an outcome with an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias

from cel_expr_python import cel
from cel_expr_python.ext import ext_strings
from google.protobuf.timestamp_pb2 import Timestamp

from lavagna_server.conditions.costs import BOUNDLESS, SMALL, STEPS_MAX, NotOffered, Sizes, steps
from lavagna_server.conditions.sources import check_source
from lavagna_server.conditions.syntax import Node, read
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.ports.languages import Expression, Outcome

_KEPT_MAX = 1_024
_MESSAGE_CHARACTERS_MAX = 300
_STATUS = re.compile(r"^(?:[A-Z_]+: )?(?:ERROR: )?|(?: \[[A-Z_]+\])?$")
_Seen: TypeAlias = (
    "dict[str, _Seen] | list[_Seen] | tuple[_Seen, ...] | str | bytes | float | datetime | None"
)
_SIZED = frozenset({str, bytes, dict, list, tuple})
_PLACE = re.compile(r"^<input>:(-?\d+):(-?\d+): ")

_VARIABLES = {
    "entry": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    "old": cel.Type.DYN,
    "board": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    "bind": cel.Type.Map(cel.Type.STRING, cel.Type.STRING),
    "now": cel.Type.TIMESTAMP,
}


class CelConditions:
    """Compiles CEL, and keeps what was used last; any thread may compile and evaluate."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._language = cel.NewEnv(variables=_VARIABLES, extensions=[ext_strings.ExtStrings()])
        self._compiled = lru_cache(_KEPT_MAX)(self._compile)

    def condition(self, source: str, *, field: str) -> Expression:
        return self._expression(source, cel.Type.BOOL, True, field)

    def rating(self, source: str, *, field: str) -> Expression:
        return self._expression(source, cel.Type.INT, 0, field)

    def _expression(
        self, source: str, wanted: cel.Type, default: bool | int, field: str
    ) -> Expression:
        if not source:
            return _Constant(default)
        check_source(
            source, self._limits.condition_bytes_max, limit="condition_bytes_max", field=field
        )
        try:
            return self._compiled(source, wanted.name())
        except (NotOffered, RuntimeError, TypeError, ValueError) as error:
            raise Invalid(field, _message(error)) from None

    def _compile(self, source: str, wanted: str) -> Expression:
        program = self._language.compile(source)
        if (given := program.return_type().name()) not in {wanted, "DYN"}:
            raise NotOffered(f"it gives {given}, and must give {wanted}")
        tree = read(program.serialize())
        if (least := steps(tree, SMALL)) > STEPS_MAX:
            raise NotOffered(
                f"it may take {least} steps even over small values; the limit is {STEPS_MAX}"
            )
        return _Compiled(program, wanted, tree)


class _Constant:
    """What an empty source stands for."""

    def __init__(self, value: bool | int) -> None:
        self._outcome = Outcome(value)

    def evaluate(self, names: Mapping[str, Any]) -> Outcome:
        return self._outcome


class _Compiled:
    """A checked expression."""

    def __init__(self, program: cel.Expression, wanted: str, tree: Node) -> None:
        self._program, self._wanted, self._tree = program, wanted, tree
        self._is_frugal = steps(tree, BOUNDLESS) <= STEPS_MAX
        self._affordable: dict[Sizes, bool] = {}

    def evaluate(self, names: Mapping[str, Any]) -> Outcome:
        if not self._is_frugal and not self._can_afford(_sizes(names)):
            return Outcome(
                None, f"it may take more than {STEPS_MAX} steps over values of this size"
            )
        try:
            result = self._program.eval(data=_data(names))
            given, value = result.type().name(), result.value()
        except (ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError) as error:
            return Outcome(None, _message(error))
        if given == self._wanted:
            return Outcome(value)
        return Outcome(
            None,
            _message(value)
            if given == "ERROR"
            else f"it gives {given}, and must give {self._wanted}",
        )

    def _can_afford(self, sizes: Sizes) -> bool:
        known = self._affordable.get(sizes)
        if known is None:
            known = self._affordable[sizes] = steps(self._tree, sizes) <= STEPS_MAX
        return known


def _data(names: Mapping[str, Any]) -> dict[str, Any]:
    """The names with what the library takes as a variable, but not inside a map: times and tuples."""
    data = dict(names)
    for name in ("entry", "old"):
        if (fields := data.get(name)) is not None:
            data[name] = {
                **fields,
                "tags": [*fields.get("tags", ())],
                "sources": [*fields.get("sources", ())],
                "committed_at": _timestamp(fields.get("committed_at")),
            }
    return data


def _timestamp(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    return Timestamp(seconds=int(moment.timestamp() // 1), nanos=moment.microsecond * 1_000)


def _sizes(names: Mapping[str, Any]) -> Sizes:
    """The sizes, rounded up to powers of two, so that few of them are told apart."""
    board: Mapping[str, Any] = names.get("board") or {}
    weight, part, length = 8, 8, 1
    for value in (*_contents(names.get("entry")), *_contents(names.get("old")), *board.values()):
        whole, longest = _weigh(value)
        weight, length = max(weight, whole), max(length, longest)
        part = max(part, _heaviest(value))
    return Sizes(
        *(1 << (size - 1).bit_length() for size in (weight, part, length, max(1, len(board))))
    )


def _contents(entry: Mapping[str, Any] | None) -> Iterable[Any]:
    return () if entry is None else (entry.get("value"), entry.get("tags"), entry.get("sources"))


def _heaviest(value: _Seen) -> int:
    elements = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    return max((_weigh(each)[0] for each in elements if type(each) in _SIZED), default=8)


def _weigh(value: _Seen) -> tuple[int, int]:
    """The weight of a value, and the length of its longest list or map."""
    weight, longest = 8, 1
    left: list[_Seen] = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            weight += _text_bytes(item)
        elif isinstance(item, bytes):
            weight += len(item)
        elif isinstance(item, dict):
            longest = max(longest, len(item))
            weight += 16 * len(item) + sum(map(_text_bytes, item))
            left += [each for each in item.values() if type(each) in _SIZED]
        elif isinstance(item, list | tuple):
            longest = max(longest, len(item))
            weight += 8 * len(item)
            left += [each for each in item if type(each) in _SIZED]
    return weight, longest


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else 4 * len(text)


def _message(error: object) -> str:
    """The first thing that is wrong, without what only the library's authors can use."""
    text = _STATUS.sub("", str(error)).partition("\n")[0].replace(" (in container '')", "")
    if place := _PLACE.match(text):
        line, column = place.groups()
        text = text[place.end() :] + (f" at line {line} column {column}" if int(line) > 0 else "")
    return text if len(text) <= _MESSAGE_CHARACTERS_MAX else text[:_MESSAGE_CHARACTERS_MAX] + "…"
