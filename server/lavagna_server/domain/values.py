"""Values: the forms a value may have, and what is refused at the door.

A value travels as its author wrote it. It is decoded to check it, to merge a patch, or to evaluate a condition,
and never re-encoded on the way.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn, TypeAlias

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import MAXIMUM_INTEGER, Limits

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


class Form(Enum):
    """How the content of a value is written."""

    JSON = "json"
    TEXT = "text"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class Value:
    """What an entry holds: text for JSON and TEXT, bytes for DATA."""

    form: Form
    content: str | bytes

    @property
    def size_bytes(self) -> int:
        """How many bytes it takes on the wire."""
        return len(self.content) if isinstance(self.content, bytes) else utf8_bytes(self.content)

    def decoded(self) -> Any:
        """The content as conditions see it: JSON decoded, text and bytes as they are."""
        return json.loads(self.content) if self.form is Form.JSON else self.content


def utf8_bytes(text: str) -> int:
    """How many bytes a text takes on the wire and in the store."""
    return len(text) if text.isascii() else len(text.encode())


def check_value(value: Value, *, field: str, limits: Limits) -> None:
    """Checks size and, for JSON, that every reader understands the same.

    Raises:
        Invalid: Naming the path inside the value.
    """
    if isinstance(value.content, str) and not _is_encodable(value.content):
        raise Invalid(field, "text must not contain lone surrogates")
    if value.size_bytes > limits.value_bytes_max:
        raise Invalid(
            field,
            f"a value is limited to {limits.value_bytes_max} bytes (value_bytes_max), this has {value.size_bytes}",
        )
    if value.form is Form.JSON:
        assert isinstance(value.content, str)
        parse_json(value.content, field=field, limits=limits)


def parse_json(text: str, *, field: str, limits: Limits) -> Json:
    """The decoded JSON of `text`, refusing what JSON readers disagree about.

    Raises:
        Invalid: Malformed text, NaN or infinities, integers beyond 64 bits, duplicate names, lone surrogates, or nesting
            deeper than `value_depth_max`.
    """
    if _may_be_deep(text, limits.value_depth_max):
        _check_depth(text, field=field, limits=limits)
    try:
        decoded: Json = _DECODER.decode(text)
    except _Refusal as refusal:
        raise Invalid(field, str(refusal)) from None
    except json.JSONDecodeError as error:
        raise Invalid(
            field, f"not JSON: {error.msg} at line {error.lineno} column {error.colno}"
        ) from None
    if "\\u" in text and not _is_encodable(json.dumps(decoded, ensure_ascii=False)):
        raise Invalid(field, "a JSON string must not contain lone surrogates")
    return decoded


class _Refusal(ValueError):
    """A rule that JSON text breaks."""


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refusal(f"the name {twice!r} stands twice in one JSON object")
    return made


def _refuse_constant(constant: str) -> NoReturn:
    raise _Refusal(f"{constant} is not JSON: use a finite number or null")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _Refusal(f"the number {digits[:32]} is beyond what a 64-bit float holds")
    return number


def _bounded_integer(digits: str) -> int:
    # Long digit strings are refused by their length: converting them takes quadratic time.
    if (
        len(digits) > len(str(MAXIMUM_INTEGER)) + 1
        or not -MAXIMUM_INTEGER - 1 <= int(digits) <= MAXIMUM_INTEGER
    ):
        raise _Refusal(f"the integer {digits[:32]} does not fit in 64 bits: send it as a string")
    return int(digits)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_names,
    parse_constant=_refuse_constant,
    parse_float=_finite_float,
    parse_int=_bounded_integer,
)
"""Made once: making it takes longer than decoding a small value with it."""


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _may_be_deep(text: str, depth_max: int) -> bool:
    return text.count("[") + text.count("{") > depth_max


def _check_depth(text: str, *, field: str, limits: Limits) -> None:
    depth, in_string, escaped = 0, False, False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string, escaped = True, False
        elif character in "[{":
            depth += 1
            if depth > limits.value_depth_max:
                raise Invalid(
                    field,
                    f"JSON may nest {limits.value_depth_max} deep (value_depth_max), this is deeper",
                )
        elif character in "]}":
            depth -= 1
