"""Rules written to hurt, each tried in this process, so that a test can run it as a child and outlive it.

Prints one line per rule: its name and what it came to.
"""

from __future__ import annotations

import json
import random
import resource
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from lavagna_server.conditions.cel import CelConditions
from lavagna_server.conditions.schemas import JsonSchemas
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits

MEMORY_BYTES_MAX = 2 << 30
TEXT = "a" * 1_000_000
LETTERS = "".join(random.Random(1).choices("ab", k=1_000_000))
NUMBERS = list(range(100_000))
THOUSAND = NUMBERS[:1_000]


def doubled(times: int, step: str) -> str:
    return "[['a']]" + f".map(a, {step})" * times


CONDITIONS: dict[str, tuple[str, Any]] = {
    "loops in loops": (
        "entry.value.all(x, entry.value.all(y, entry.value.all(z, x + y + z >= 0)))",
        THOUSAND,
    ),
    "a long list": ("entry.value.all(x, x >= 0)", NUMBERS),
    "a list copied for each element": ("entry.value.map(x, x).size() > 0", NUMBERS[:10_000]),
    "filters one after another": (
        "entry.value" + ".filter(x, x >= 0)" * 12 + ".size() > 0",
        THOUSAND,
    ),
    "search in each round": ("board.all(k, !entry.value.contains('ab'))", TEXT),
    "search for half in the whole": ("!entry.value.contains(old.value)", TEXT),
    "text joined in each round": ("board.all(k, (entry.value + entry.value).size() > 0)", TEXT),
    "text doubled again and again": (doubled(12, "[a[0] + a[0]]") + "[0][0] != ''", None),
    "text doubled by literals": (
        "".join(f"[x{i} + x{i}].all(x{i + 1}, " for i in range(20)).replace("x0", "entry.value")
        + "true"
        + ")" * 20,
        TEXT,
    ),
    "lists doubled and compared": (doubled(12, "[a, a]") + " == " + doubled(12, "[a, a]"), None),
    "replacing each letter by all": ("entry.value.replace('a', entry.value).size() > 0", TEXT),
    "splitting in each round": ("board.all(k, entry.value.split('').size() > 0)", TEXT),
    "a pattern of many states": ("entry.value.matches('[ab]*a[ab]{900}c')", LETTERS),
    "a pattern without repeats": ("entry.value.matches('[ab]*a" + "[ab]" * 400 + "c')", LETTERS),
    "a pattern of many classes": ("'a'.matches('" + r"\\pL\\pN\\pS\\pP" * 100 + "')", None),
    "a pattern that repeats repeats": ("'a'.matches('((\\\\pL{10}){10}){10}')", None),
    "a pattern out of a value": ("entry.value.matches(entry.value)", TEXT),
    "a pattern that backtracks": ("entry.value.matches('(a+)+$b')", TEXT),
    "patterns in each round": ("board.all(k, !k.matches('" + "x" * 200 + "'))", None),
    "time zones out of values": ("board.exists(k, now.getHours(k) > 25)", None),
    "parentheses": ("(" * 1_000 + "true" + ")" * 1_000, None),
    "brackets": ("[" * 1_000 + "]" * 1_000 + " == []", None),
    "negations": ("!" * 2_000 + "true", None),
    "sums": ("+".join(["1"] * 1_000) + " > 0", None),
    "fields of fields": ("entry.value" + ".a" * 1_000 + " == 1", None),
    "nested loops": ("".join(f"[1, 2, 3].all(x{i}, " for i in range(30)) + "true" + ")" * 30, None),
    "garbage": ("{[(" * 600, None),
    "errors without end": ("a b c " * 300, None),
    "a message": ("google.protobuf.Struct{} == entry.value", None),
    "lone surrogates": ("entry.value == '\ud800'", None),
    "a null character": ("entry.value == '\0'", None),
    "a huge integer": ("entry.value == 99999999999999999999", None),
    "overflow": ("9223372036854775807 + entry.value > 0", 1),
    "division by zero": ("1 / entry.value == 0", 0),
}


def chain(length: int, keyword: str) -> dict[str, Any]:
    rules: dict[str, Any] = {"a0": {"type": "integer"}}
    for number in range(1, length + 1):
        rules[f"a{number}"] = {keyword: [{"$ref": f"#/$defs/a{number - 1}"}] * 2}
    return {"$defs": rules, "$ref": f"#/$defs/a{length}"}


def twice(keyword: str) -> dict[str, Any]:
    branch = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["missing"]}
    return {keyword: [branch, branch]}


def deep(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": value}
    return value


SCHEMAS: dict[str, tuple[Any, Any]] = {
    "all of twice, forty times": (chain(40, "allOf"), 1),
    "any of twice, forty times": (chain(40, "anyOf"), "x"),
    "one of twice, forty times": (chain(40, "oneOf"), 1),
    "a long chain": (
        {
            "$defs": {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(1_500)},
            "$ref": "#/$defs/a0",
        },
        1,
    ),
    "a circle": ({"$ref": "#"}, 1),
    "a wider circle": ({"allOf": [{"not": {"$ref": "#"}}]}, 1),
    "children by two ways": (twice("anyOf"), deep(60)),
    "children by two ways at once": (twice("allOf"), deep(60)),
    "nested too deep": ('{"not":' * 9_000 + "{}" + "}" * 9_000, 1),
    "branches that copy": ({"anyOf": [{"type": "string"}] * 3_000}, NUMBERS),
    "branches that copy text": ({"anyOf": [{"type": "integer"}] * 3_000}, TEXT),
    "branches that list each fault": ({"oneOf": [{"items": {"type": "string"}}] * 1_500}, NUMBERS),
    "choices of all types": ({"items": {"enum": [None, *range(5_000)]}}, [4_999] * 50_000),
    "rules for each element": ({"items": {"allOf": [{"type": "integer"}] * 3_000}}, NUMBERS),
    "unevaluated within unevaluated": (
        {
            "unevaluatedProperties": True,
            "allOf": [
                {
                    "unevaluatedProperties": True,
                    "allOf": [{"properties": {f"p{n}": True}} for n in range(1_000)],
                }
            ],
        },
        {f"q{n}": 1 for n in range(30_000)},
    ),
    "a pattern of many states": ({"pattern": "[ab]*a[ab]{900}c"}, LETTERS),
    "a pattern of any letters": ({"pattern": "(?s).*a.{500}c"}, LETTERS),
    "a pattern that backtracks": ({"pattern": "(a+)+$b"}, TEXT),
    "a pattern that looks ahead": ({"pattern": "(?=a)b"}, "b"),
    "a pattern too large": ({"pattern": "(\\pL{100}){50}"}, "b"),
    "many patterns": (
        {"allOf": [{"pattern": f"[^a]{{{900 + n % 99}}}|b"} for n in range(1_500)]},
        "b",
    ),
    "patterns for each name": (
        {"patternProperties": {f"^[ab]*a[ab]{{{100 + n}}}$": True for n in range(500)}},
        {f"{LETTERS[n : n + 200]}": 1 for n in range(3_000)},
    ),
    "all different": ({"uniqueItems": True}, [{"a": {"b": n}} for n in range(30_000)]),
    "a remote reference": ({"$ref": "http://127.0.0.1:9/schema"}, 1),
    "a file": ({"$ref": "file:///etc/passwd"}, 1),
    "a base elsewhere": ({"$id": "http://127.0.0.1:9/", "properties": {"a": {"$ref": "b"}}}, 1),
    "a dynamic circle": ({"$dynamicRef": "#x", "$dynamicAnchor": "x"}, 1),
    "an unknown dialect": ({"$schema": "http://127.0.0.1:9/dialect"}, 1),
    "lone surrogates": ('{"const": "\ud800"}', 1),
    "not a number": ('{"const": NaN}', 1),
}


def conditions() -> Iterator[tuple[str, str]]:
    compiler = CelConditions(Limits())
    for name, (source, value) in CONDITIONS.items():
        try:
            expression = compiler.condition(source, field="when")
        except Invalid as error:
            yield name, f"refused: {error.rule}"
            continue
        entry = {"key": "k", "kind": "note", "value": value, "committed_at": datetime.now(UTC)}
        old = {
            "key": "k",
            "kind": "note",
            "value": "a" * 500_000 + "b",
            "committed_at": datetime.now(UTC),
        }
        board = {f"board/{number}": number for number in THOUSAND}
        outcome = expression.evaluate(
            {"entry": entry, "old": old, "board": board, "bind": {}, "now": datetime.now(UTC)}
        )
        yield name, f"error: {outcome.error}" if outcome.error else f"value: {outcome.value}"


def schemas() -> Iterator[tuple[str, str]]:
    compiler = JsonSchemas(Limits())
    for name, (source, value) in SCHEMAS.items():
        text = source if isinstance(source, str) else json.dumps(source)
        try:
            schema = compiler.schema(text, field="schema")
        except Invalid as error:
            yield name, f"refused: {error.rule}"
            continue
        fault = schema.fault(json.dumps(value))
        yield name, "valid" if fault is None else f"fault: {fault[0]}: {fault[1]}"


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    for name, became in conditions() if sys.argv[1] == "conditions" else schemas():
        sys.stdout.write(json.dumps([name, became]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
