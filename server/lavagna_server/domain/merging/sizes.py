"""How much there is to merge: known before it is merged, so that no merge takes long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lavagna_server.domain.merging.rules import LINES, SELECT, MergeRules
from lavagna_server.domain.merging.voices import Content, ValueType, Voice
from lavagna_server.domain.values import Form, Value

LOGARITHM_PARTS = 4
"""What a value counts for where a rule takes logarithms."""

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


def has_more(values: Iterable[Value], parts_max: int) -> bool:
    """Whether JSON has evidently more parts than may be, without decoding it: what nests or follows a comma is one."""
    contents = [str(value.content) for value in values if value.form is Form.JSON]
    if sum(content.count(sign) for content in contents for sign in ",[{") < parts_max:
        return False
    bare = [_STRING.sub("", content) for content in contents]
    return parts_max < sum(
        max(each.count(",") + 1, each.count("[") + each.count("{")) for each in bare
    )


def parts_of(voices: Sequence[Voice], rules: MergeRules, base: str | None) -> int:
    """How many parts the claims have: JSON values at any depth, and lines where texts are merged by line.

    Each text by line is compared with the whole base, so that the lines of the base count for each. What is selected whole
    counts for one.
    """
    base_lines = 0 if base is None else _lines(base)
    texts = {voice.spelling for voice in voices if _is_of_lines(voice, rules)}
    values = [voice.value for voice in voices if _has_parts(voice, rules)]
    each = LOGARITHM_PARTS if rules.takes_logarithms else 1
    whole = len(voices) - len(values)
    return whole + each * _values(values) + sum(base_lines + _lines(text) for text in texts)


def _is_of_lines(voice: Voice, rules: MergeRules) -> bool:
    return voice.type is ValueType.TEXT and rules.text == LINES


def _has_parts(voice: Voice, rules: MergeRules) -> bool:
    return voice.type.form is ValueType.NUMBER.form and rules.chosen(voice.type, None) != SELECT


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _values(roots: Iterable[Content]) -> int:
    stack, count = list(roots), 0
    while stack:
        value = stack.pop()
        count += 1
        if isinstance(value, dict):
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    return count
