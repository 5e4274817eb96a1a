"""JSON Schema, behind the port `Schemas`. Nothing is fetched, and what a check costs is bounded."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NoReturn

import jsonschema_rs

from lavagna_server.conditions.functions import NotOffered
from lavagna_server.conditions.schema_costs import Weights, weights
from lavagna_server.conditions.sources import check_source
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.values import Json, parse_json
from lavagna_server.ports.languages import Schema

STEPS_MAX = 30_000_000
"""Of about 10 ns each."""

_KEPT_MAX = 256
_COPIED_MAX = 64 << 20
_RULE_CHARACTERS_MAX = 300
# Linear in the text, unlike the other engine that is offered.
_PATTERNS = jsonschema_rs.RegexOptions(size_limit=1 << 20, dfa_size_limit=1 << 20)


class JsonSchemas:
    """Compiles schemas, and keeps those that were used last; any thread may compile and check."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._compiled = lru_cache(_KEPT_MAX)(self._compile)

    def schema(self, source: str, *, field: str) -> Schema:
        check_source(source, self._limits.schema_bytes_max, limit="schema_bytes_max", field=field)
        # Parsed by our own rules first: what readers disagree about has no place in a rule either.
        document = parse_json(source, field=field, limits=self._limits)
        if not isinstance(document, dict | bool):
            raise Invalid(field, "a schema is a JSON object, true or false")
        try:
            return self._compiled(source)
        except jsonschema_rs.ValidationError as error:
            place = _path(error.instance_path) or "/"
            raise Invalid(field, f"not a schema: at {place}: {_shortened(error.message)}") from None
        except (NotOffered, ValueError) as error:
            raise Invalid(field, f"not a schema: {_shortened(str(error))}") from None

    def _compile(self, source: str) -> Schema:
        document: Json = json.loads(source)
        effort = weights(document, depth_max=self._limits.value_depth_max)
        validator = jsonschema_rs.validator_for(
            source,
            retriever=_refuse,
            pattern_options=_PATTERNS,
            validate_formats=True,
            mask="the value",
        )
        return _Compiled(validator, effort)


class _Compiled:
    """A checked schema."""

    def __init__(self, validator: jsonschema_rs.Validator, effort: Weights) -> None:
        self._validator, self._effort = validator, effort

    def fault(self, json_text: str) -> tuple[str, str] | None:
        size = len(json_text) if json_text.isascii() else len(json_text.encode())
        nodes = 1 + sum(map(json_text.count, ",[{"))
        spent = self._effort.visits * nodes + self._effort.scans * size
        if spent > STEPS_MAX:
            return (
                "",
                f"checking a value of {size} bytes may take {spent} steps; the limit is {STEPS_MAX}",
            )
        value = json.loads(json_text)
        if self._validator.is_valid(value):
            return None
        if self._effort.copies * (size + 100 * nodes) > _COPIED_MAX:
            return "", "the value breaks the schema, and is too large to say where"
        return self._first_fault(value)

    def _first_fault(self, value: object) -> tuple[str, str]:
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return _path(error.instance_path), _shortened(error.message)
        raise AssertionError("a value is valid or has a fault")


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


def _path(steps: list[str | int]) -> str:
    """A JSON pointer; empty for the whole."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def _shortened(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= _RULE_CHARACTERS_MAX else line[:_RULE_CHARACTERS_MAX] + "…"
