"""The syntax tree of a checked CEL expression, read from the protobuf message `cel.expr.CheckedExpr`.

The library keeps the tree to itself but writes the message, whose field numbers are the CEL specification's. Macros are
expanded in it: `all`, `exists`, `exists_one`, `map` and `filter` have become loops.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.empty_pb2 import Empty
from google.protobuf.unknown_fields import UnknownFieldSet


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `text` is None unless it is a string."""

    text: str | None
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, a loop's variable, or the name of a type."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field of something, or whether it has that field."""

    operand: Node
    name: str
    is_test: bool


@dataclass(frozen=True, slots=True)
class Call:
    """An operator, function or method; a method's receiver is its first argument."""

    function: str
    overloads: frozenset[str]
    """The variants that the types of the arguments leave open."""
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """A list or map written out."""

    parts: tuple[Node, ...]
    """Elements, or keys and values."""
    message: str = ""
    """The type, when it is a protobuf message."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A fold over the elements of a list or the keys of a map."""

    variable: str
    over: Node
    accumulator: str
    start: Node
    condition: Node
    step: Node
    result: Node


Node: TypeAlias = Literal | Name | Field | Call | Collection | Loop

_STRING = 6

_Fields: TypeAlias = Mapping[int, list[bytes | int]]


def read(serialized: bytes) -> Node:
    """The tree of an expression as `Expression.serialize` wrote it."""
    checked = _fields(AnyMessage.FromString(serialized).value)
    overloads: dict[int, frozenset[str]] = {}
    for pair in checked[2]:
        reference = _fields(pair)
        names = _fields(reference[2][0])[3] if reference[2] else []
        overloads[_number(reference[1])] = frozenset(_text([name]) for name in names)
    return _Reader(overloads).node(checked[4][0])


class _Reader:
    """Reads `cel.expr.Expr` messages."""

    def __init__(self, overloads: Mapping[int, frozenset[str]]) -> None:
        self._overloads = overloads
        self._readers = {
            3: self._literal,
            4: self._name,
            5: self._field,
            6: self._call,
            7: self._list,
            8: self._struct,
            9: self._loop,
        }

    def node(self, message: bytes | int) -> Node:
        fields = _fields(message)
        number = next(each for each in fields if each in self._readers)
        return self._readers[number](_fields(fields[number][0]), _number(fields[2]))

    def _literal(self, fields: _Fields, _: int) -> Node:
        content = next(iter(fields.values()), [b""])[0]
        size_bytes = len(content) if isinstance(content, bytes) else 8
        return Literal(_text(fields[_STRING]) if _STRING in fields else None, size_bytes)

    def _name(self, fields: _Fields, _: int) -> Node:
        return Name(_text(fields[1]))

    def _field(self, fields: _Fields, _: int) -> Node:
        return Field(self.node(fields[1][0]), _text(fields[2]), bool(fields[3]))

    def _call(self, fields: _Fields, number: int) -> Node:
        arguments = tuple(self.node(each) for each in (*fields[1], *fields[3]))
        return Call(_text(fields[2]), self._overloads.get(number, frozenset()), arguments)

    def _list(self, fields: _Fields, _: int) -> Node:
        return Collection(tuple(self.node(each) for each in fields[1]))

    def _struct(self, fields: _Fields, _: int) -> Node:
        entries = [_fields(each) for each in fields[2]]
        parts = (self.node(part) for entry in entries for part in (*entry[3], *entry[4]))
        return Collection(tuple(parts), _text(fields[1]))

    def _loop(self, fields: _Fields, _: int) -> Node:
        over, start, condition, step, result = (
            self.node(fields[each][0]) for each in (2, 4, 5, 6, 7)
        )
        return Loop(_text(fields[1]), over, _text(fields[3]), start, condition, step, result)


def _fields(message: bytes | int) -> _Fields:
    assert isinstance(message, bytes)
    found: defaultdict[int, list[bytes | int]] = defaultdict(list)
    unknown = UnknownFieldSet(Empty.FromString(message))
    for field in (unknown[index] for index in range(len(unknown))):
        found[field.field_number].append(field.data)
    return found


def _text(values: list[bytes | int]) -> str:
    return b"".join(value for value in values if isinstance(value, bytes)).decode()


def _number(values: list[bytes | int]) -> int:
    return next((value for value in values if isinstance(value, int)), 0)
