"""JSON text for programs: one document on one line, with stored JSON left as its author spelt it."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

from lavagna.values import JsonText

Document: TypeAlias = Union[  # noqa: UP007 (a string cannot stand beside `|`)
    bool, int, float, str, JsonText, Sequence["Document"], Mapping[str, "Document"], None
]
"""What a JSON document is made of; a `JsonText` goes in as it is."""


_LINE_ENDS = str.maketrans(
    # Between the parts of JSON a line end is a space; inside a string it is written as an escape.
    {"\r": " ", "\n": " ", "\x85": r"\u0085", "\u2028": r"\u2028", "\u2029": r"\u2029"}
)
"""Valid JSON holds the first two between its parts alone, and the others inside strings alone."""


def dumped(document: Document) -> str:
    """The document as JSON text without anything that a program could take for a line's end."""
    return _dumped(document).translate(_LINE_ENDS)


def _dumped(document: Document) -> str:
    match document:
        case JsonText(text):
            return text.strip()
        case str() | bool() | int() | float() | None:
            return json.dumps(document, ensure_ascii=False, allow_nan=False)
        case Mapping():
            members = (f"{_dumped(str(name))}: {_dumped(each)}" for name, each in document.items())
            return "{" + ", ".join(members) + "}"
        case _:
            return "[" + ", ".join(_dumped(each) for each in document) + "]"
