"""Shapes: what a structured reply must look like, and what is wrong with one that does not."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeGuard

import jsonschema_rs

COMPLAINTS_MAX = 8
"""A model repairs a few faults at a time; a longer list only distracts it."""

COMPLAINT_CHARACTERS_MAX = 300
"""A complaint may quote the value it is about; no more of it than this."""

FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Valid:
    """A reply that has the shape."""

    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Invalid:
    """A reply that has not, and why."""

    complaints: Sequence[str]


class Shape:
    """A JSON Schema with a name, and the rules that a schema cannot state."""

    def __init__(
        self,
        name: str,
        schema: Mapping[str, Any],
        *,
        rules: Callable[[Mapping[str, Any]], Sequence[str]] = lambda _: (),
    ) -> None:
        self.name = name
        self.schema = schema
        self._rules = rules
        self._validator = jsonschema_rs.validator_for(dict(schema), retriever=_nothing_remote)

    def with_rules(self, rules: Callable[[Mapping[str, Any]], Sequence[str]]) -> "Shape":
        """The same shape with further rules, for what depends on the question."""
        return Shape(self.name, self.schema, rules=rules)

    def read(self, text: str) -> Valid | Invalid:
        """The reply in a model's text, which may stand in a fence or between other words."""
        try:
            value = _json_in(text)
        except ValueError as error:
            return Invalid([f"it is not JSON: {error}"])
        return self.judge(value)

    def judge(self, value: object) -> Valid | Invalid:
        """Whether a decoded reply has the shape."""
        complaints = [
            f"{_path(error.instance_path)}: {error.message}"[:COMPLAINT_CHARACTERS_MAX]
            for error in self._validator.iter_errors(value)
        ]
        if not complaints and is_object(value):
            complaints = list(self._rules(value))
            if not complaints:
                return Valid(value)
        return Invalid(complaints[:COMPLAINTS_MAX] or ["it is not a JSON object"])


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a decoded JSON value is an object."""
    return isinstance(value, dict)


def _json_in(text: str) -> object:
    for candidate in _candidates(text):
        try:
            return _decoded(candidate)
        except ValueError:
            continue
    return _decoded(text)


def _decoded(text: str) -> object:
    value: object = json.loads(text, parse_constant=_no_number)
    # An escaped half of a surrogate pair is JSON, but no text: neither a file nor a board can hold it.
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _candidates(text: str) -> Iterator[str]:
    yield text
    for match in FENCED.finditer(text):
        yield match.group(1)
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last:
        yield text[first : last + 1]


def _path(steps: Sequence[str | int]) -> str:
    return "/".join(str(step) for step in steps) or "the reply"


def _no_number(name: str) -> NoReturn:
    msg = f"{name} is not a number in JSON"
    raise ValueError(msg)


def _nothing_remote(uri: str) -> NoReturn:
    msg = f"a shape refers to nothing outside itself, not to {uri}"
    raise ValueError(msg)
