"""Malformed requests, made from a good one: each field in turn takes values that no honest client would send."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

DEPTH_MAX = 5
BAD_TEXT = b"\xff\xfe\xc0\xaf"
MARK = "MARKMARK"
"""Stands in a text field until its bytes are spoilt."""

INTEGERS: Sequence[Any] = (-1, -(2**31), 2**31 - 1)
LONG_INTEGERS: Sequence[Any] = (*INTEGERS, -(2**63), 2**63 - 1)
NUMBERS: Sequence[Any] = (math.nan, math.inf, -math.inf, -0.5, 1e308)
TEXTS: Sequence[Any] = (
    "",
    "/",
    "..",
    "a/../b",
    "\x00",
    "a\nb\u202e\u200b",
    "\uff0a/\uff11",
    "**/**/*/{x}",
    "boards/-",
    "boards/main/agents/../triggers/x",
    "[" * 70_000,
    "{" * 5_000 + "}" * 5_000,
    '{"a":' * 500,
    "9" * 5_000,
    "1e400",
    '"\\ud800"',
    "(" * 2_000,
    "%s%n${jndi:x}'; drop table entries; --",
    "x" * 300_000,
)
BYTES: Sequence[Any] = (b"", b"\x00\xff" * 1_000, b"x" * 2_000_000)
VALUES = {
    FieldDescriptor.TYPE_INT32: INTEGERS,
    FieldDescriptor.TYPE_INT64: LONG_INTEGERS,
    FieldDescriptor.TYPE_ENUM: (-1, 77, 2**31 - 1),
    FieldDescriptor.TYPE_DOUBLE: NUMBERS,
    FieldDescriptor.TYPE_BOOL: (True, False),
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BYTES: BYTES,
}
MANY = 5_000


def malformed(request: Message) -> Iterator[tuple[str, bytes]]:
    """Spoilt copies of a request, each with what was done to it."""
    yield "nothing at all", b""
    yield from _spoilt_bytes(request.SerializeToString())
    for path in _paths(request.DESCRIPTOR, ()):
        where = ".".join(field.name for field in path)
        field = path[-1]
        if field.message_type is None:
            for value in VALUES[field.type]:
                yield f"{where} = {str(value)[:40]!r}", _with(request, path, value)
            if field.type == FieldDescriptor.TYPE_STRING:
                marked = _with(request, path, MARK)
                yield f"{where} is not UTF-8", marked.replace(MARK.encode(), BAD_TEXT * 2)
        else:
            yield f"{where} is empty", _with(request, path, None)
        if field.is_repeated:
            yield f"{MANY} of {where}", _with(request, path, None, times=MANY)


def _spoilt_bytes(raw: bytes) -> Iterator[tuple[str, bytes]]:
    yield "garbage", bytes(range(256)) * 4
    yield "all ones", b"\xff" * 1_000
    yield "groups in groups", b"\x0b" * 100_000
    yield "a length beyond the end", b"\x0a\xff\xff\xff\x7f"
    yield "cut short", raw[:-1]
    yield "unknown fields", raw + b"\xf8\x07\x01" * 1_000
    for number in range(1, 15):
        for wire_type in (0, 1, 2, 5):
            body = {0: b"\x01", 1: b"\x01" * 8, 2: b"\x03\xff\xfe\xfd", 5: b"\x01" * 4}[wire_type]
            yield (
                f"field {number} of wire type {wire_type}",
                raw + bytes([number << 3 | wire_type]) + body,
            )


def _paths(descriptor: Any, above: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Every field, those of messages inside messages too."""
    if len(above) >= DEPTH_MAX:
        return
    for field in descriptor.fields:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        yield (*above, field)
        if field.message_type is not None:
            yield from _paths(field.message_type, (*above, field))


def _with(request: Message, path: tuple[Any, ...], value: Any, *, times: int = 1) -> bytes:
    """The request with the field at `path` set to `value`, or to empty messages when there is no value."""
    spoilt: Any = type(request)()
    spoilt.CopyFrom(request)
    holder = spoilt
    for field in path[:-1]:
        inner = getattr(holder, field.name)
        if field.is_repeated:
            holder = inner[0] if inner else inner.add()
        else:
            inner.SetInParent()
            holder = inner
    _set(holder, path[-1], value, times)
    raw: bytes = spoilt.SerializeToString()
    return raw


def _set(holder: Any, field: Any, value: Any, times: int) -> None:
    if field.is_repeated:
        holder.ClearField(field.name)
        empty = {FieldDescriptor.TYPE_STRING: "a", FieldDescriptor.TYPE_ENUM: 1}.get(field.type)
        items = getattr(holder, field.name)
        for _ in range(times):
            if field.message_type is not None:
                items.add()
            else:
                items.append(empty if value is None else value)
    elif field.message_type is not None:
        getattr(holder, field.name).SetInParent()
    else:
        setattr(holder, field.name, value)
