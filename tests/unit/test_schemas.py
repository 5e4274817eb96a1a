"""JSON Schema: what is told of a value that breaks one, and which schemas are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lavagna_server.conditions.schemas import JsonSchemas
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits

SCHEMAS = JsonSchemas(Limits())

TASK = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "title": {"type": "string", "minLength": 1, "pattern": "^[A-Z]"},
        "priority": {"type": "integer", "minimum": 0, "maximum": 9},
        "needs": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "due": {"type": "string", "format": "date-time"},
        "who/when": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "additionalProperties": False,
}


def fault(schema: Any, value: Any) -> tuple[str, str] | None:
    return SCHEMAS.schema(json.dumps(schema), field="schema").fault(json.dumps(value))


def refusal(source: str) -> Invalid:
    with pytest.raises(Invalid) as refused:
        SCHEMAS.schema(source, field="region.schema")
    assert refused.value.field == "region.schema"
    return refused.value


def test_a_value_that_keeps_the_schema_has_no_fault() -> None:
    value = {
        "title": "Build",
        "priority": 3,
        "needs": ["design"],
        "due": "2026-05-01T12:00:00Z",
        "who/when": None,
    }
    assert fault(TASK, value) is None


@pytest.mark.parametrize(
    ("value", "path", "rule"),
    [
        ({}, "", '"title" is a required property'),
        ([], "", 'the value is not of type "object"'),
        ({"title": ""}, "/title", "the value is shorter than 1 character"),
        ({"title": "build"}, "/title", 'the value does not match "^[A-Z]"'),
        ({"title": "B", "priority": 10}, "/priority", "the value is greater than the maximum of 9"),
        ({"title": "B", "priority": 1.5}, "/priority", 'the value is not of type "integer"'),
        ({"title": "B", "needs": ["a", 1]}, "/needs/1", 'the value is not of type "string"'),
        ({"title": "B", "needs": ["a", "a"]}, "/needs", "the value has non-unique elements"),
        ({"title": "B", "due": "tomorrow"}, "/due", 'the value is not a "date-time"'),
        (
            {"title": "B", "extra": 1},
            "",
            "Additional properties are not allowed ('extra' was unexpected)",
        ),
        (
            {"title": "B", "who/when": 3},
            "/who~1when",
            "the value is not valid under any of the schemas listed in the 'anyOf' keyword",
        ),
    ],
)
def test_a_fault_names_the_path_and_the_rule(value: Any, path: str, rule: str) -> None:
    assert fault(TASK, value) == (path, rule)


def test_a_schema_may_be_true_or_false() -> None:
    assert fault(True, 1) is None
    assert fault(False, 1) == ("", "False schema does not allow the value")


def test_a_schema_may_refer_to_its_own_parts() -> None:
    tree = {
        "$defs": {"name": {"type": "string"}},
        "type": "object",
        "properties": {
            "name": {"$ref": "#/$defs/name"},
            "children": {"type": "array", "items": {"$ref": "#"}},
        },
        "required": ["name"],
    }
    assert (
        fault(tree, {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}) is None
    )
    assert fault(tree, {"name": "a", "children": [{"name": "b"}, {"children": []}]}) == (
        "/children/1",
        '"name" is a required property',
    )


def test_an_older_dialect_may_be_named() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "string"}, {"type": "integer"}],
    }
    assert fault(schema, ["a", "b"]) == ("/1", 'the value is not of type "integer"')


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("{", "not JSON"),
        ("[]", "a schema is a JSON object, true or false"),
        ('"string"', "a schema is a JSON object, true or false"),
        ('{"type": "strin"}', "not a schema: at /type: "),
        ('{"properties": {"a": {"minLength": -1}}}', "not a schema: at /properties/a/minLength: "),
        ('{"pattern": "("}', "not a schema: at /pattern: "),
        ('{"pattern": "(?=look)ahead"}', "not a schema: at /pattern: "),
        ('{"const": NaN}', "NaN is not JSON"),
        ('{"type": "string", "type": "object"}', "the name 'type' stands twice in one JSON object"),
        (
            '{"$ref": "https://example.com/task.json"}',
            "$ref 'https://example.com/task.json': a reference must be '#'",
        ),
        ('{"$ref": "file:///etc/passwd"}', "nothing is fetched"),
        ('{"$ref": "task.json"}', "nothing is fetched"),
        ('{"$ref": "https://json-schema.org/draft/2020-12/schema"}', "nothing is fetched"),
        ('{"$ref": "#/$defs/missing"}', "$ref '#/$defs/missing' leads nowhere"),
        ('{"items": {"$id": "https://example.com/"}}', "$id is offered at the root alone"),
        ('{"$dynamicRef": "#meta"}', "$dynamicRef is not offered"),
        ('{"$ref": "#"}', "never in a circle"),
        ('{"$schema": "https://example.com/dialect"}', "Unknown meta-schema"),
        ('{"const": "\ud800"}', "text must not contain lone surrogates"),
        (
            '{"const": "' + "x" * (64 << 10) + '"}',
            "limited to 65536 bytes (schema_bytes_max), this has 65549",
        ),
    ],
)
def test_what_is_no_schema_of_its_own_is_refused(source: str, rule: str) -> None:
    assert rule in refusal(source).rule


def test_rules_that_multiply_are_refused() -> None:
    rules: dict[str, Any] = {"a0": {"type": "integer"}}
    for number in range(1, 20):
        rules[f"a{number}"] = {"allOf": [{"$ref": f"#/$defs/a{number - 1}"}] * 2}
    source = json.dumps({"$defs": rules, "$ref": "#/$defs/a19"})
    assert (
        refusal(source).rule
        == "not a schema: more than 100000 rules may apply to one place in a value"
    )


def test_rules_that_multiply_with_depth_are_refused() -> None:
    branch = {"properties": {"child": {"$ref": "#"}}}
    assert "more than 100000 rules" in refusal(json.dumps({"anyOf": [branch, branch]})).rule


def test_a_value_too_large_for_a_costly_schema_is_a_fault() -> None:
    schema = {"items": {"enum": [None, *range(5_000)]}}
    assert fault(schema, [4_999]) is None
    path, rule = fault(schema, [4_999] * 10_000) or ("", "")
    assert path == ""
    assert rule.startswith("checking a value of 60000 bytes may take ")


def test_a_large_value_that_breaks_an_ordinary_schema_is_told_where() -> None:
    schema = {
        "type": "array",
        "items": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }
    value: list[Any] = [{"n": number} for number in range(50_000)]
    value[40_000] = {"n": "forty"}
    assert fault(schema, value) == ("/40000/n", 'the value is not of type "integer"')
