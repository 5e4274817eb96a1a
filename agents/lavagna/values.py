"""Values: what an entry holds, between Python and the wire.

A `str` travels as text and `bytes` as data, untouched; everything else travels as JSON text.
`JsonText` is for those who have JSON text already and want it kept byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from lavagna.checks import checked_text
from lavagna.errors import Invalid
from lavagna.v1 import entries_pb2

Value: TypeAlias = Any
"""A `str`, `bytes`, `JsonText`, or what JSON can hold: None, bool, int, float, lists and dicts of these."""


@dataclass(frozen=True, slots=True)
class JsonText:
    """A value that is JSON text already, written as it is: spaces, order and spelling of numbers stay."""

    text: str


def encoded(value: Value, *, field: str = "value") -> entries_pb2.Value:
    """The value as the wire has it.

    Raises:
        Invalid: JSON cannot hold the value, or a string in it is not Unicode text.
    """
    if isinstance(value, bytes | bytearray):
        return entries_pb2.Value(data=bytes(value))
    if isinstance(value, str):
        return entries_pb2.Value(text=checked_text(value, field=field))
    return entries_pb2.Value(json=json_text(value, field=field))


def decoded(message: entries_pb2.Value) -> Value:
    """The value that the wire holds; None when it holds none."""
    match message.WhichOneof("content"):
        case "json":
            return json.loads(message.json)
        case "text":
            return message.text
        case "data":
            return message.data
        case _:
            return None


def json_text(value: Value, *, field: str) -> str:
    """The value as compact JSON text; a `JsonText` as it is.

    Raises:
        Invalid: JSON cannot hold the value.
    """
    if isinstance(value, JsonText):
        return checked_text(value.text, field=field)
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as unfit:
        raise Invalid.field(field, f"JSON cannot hold it: {unfit}") from unfit
    # Only now it is known that the value does not hold itself.
    if kind := _kind_of_odd_key(value):
        raise Invalid.field(field, f"JSON cannot hold it: keys must be text, not {kind}")
    return checked_text(text, field=field)


def _kind_of_odd_key(value: Value) -> str:
    """The type of a key that JSON would hold as another one, since it knows text alone."""
    left: list[Any] = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            members = cast("Mapping[Any, Any]", each)
            odd = [key for key in members if not isinstance(key, str)]
            if odd:
                return type(odd[0]).__name__
            left.extend(members.values())
        elif isinstance(each, list | tuple):
            left.extend(cast("Sequence[Any]", each))
    return ""
