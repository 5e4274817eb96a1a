"""Conditions and ratings in CEL, behind the port `Conditions`.

An expression is checked when it is compiled: its syntax, its types, and that what it costs is bounded. Evaluating
it never raises; what goes wrong is an outcome with an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_strings
from google.protobuf.timestamp_pb2 import Timestamp

from lavagna_server.conditions.costs import STEPS_MAX, boundless, small, steps
from lavagna_server.conditions.extents import Measure, Place, Scale, TooLarge
from lavagna_server.conditions.functions import NotOffered
from lavagna_server.conditions.sources import check_source
from lavagna_server.conditions.syntax import Node, read
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.ports.languages import Expression, Outcome

_KEPT_MAX = 1_024
_MESSAGE_CHARACTERS_MAX = 300
_STATUS = re.compile(r"^(?:[A-Z_]+: )?(?:ERROR: )?|(?: \[[A-Z_]+\])?$")
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
        if (least := steps(tree, small)) > STEPS_MAX:
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
        self._is_frugal = steps(tree, boundless) <= STEPS_MAX
        self._places = _places(tree)
        self._affordable: dict[tuple[Measure, ...], bool] = {}

    def evaluate(self, names: Mapping[str, Any]) -> Outcome:
        if not self._is_frugal and not self._can_afford(names):
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

    def _can_afford(self, names: Mapping[str, Any]) -> bool:
        scale = Scale(names)
        try:
            measures = tuple(scale.measure(place) for place in self._places)
        except TooLarge:
            return False
        known = self._affordable.get(measures)
        if known is None:
            if len(self._affordable) >= _KEPT_MAX:
                self._affordable.clear()
            known = (
                steps(self._tree, dict(zip(self._places, measures, strict=True)).__getitem__)
                <= STEPS_MAX
            )
            self._affordable[measures] = known
        return known


def _places(tree: Node) -> tuple[Place, ...]:
    """Where the values are on whose size the cost depends."""
    places: dict[Place, None] = {}

    def noted(place: Place) -> Measure:
        places[place] = None
        return boundless(place)

    steps(tree, noted)
    return tuple(places)


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


def _message(error: object) -> str:
    """The first thing that is wrong, without what only the library's authors can use."""
    text = _STATUS.sub("", str(error)).partition("\n")[0].replace(" (in container '')", "")
    if place := _PLACE.match(text):
        line, column = place.groups()
        text = text[place.end() :] + (f" at line {line} column {column}" if int(line) > 0 else "")
    return text if len(text) <= _MESSAGE_CHARACTERS_MAX else text[:_MESSAGE_CHARACTERS_MAX] + "…"
