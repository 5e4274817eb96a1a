"""JSON text for programs: one document on one line, with stored JSON left as its author spelt it."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

from lavagna.values import JsonText

Document: TypeAlias = Union[  # noqa: UP007 (a string cannot stand beside `|`)
    bool, int, float, str, JsonText, Sequence["Document"], Mapping[str, "Document"], None
]
"""What a JSON document is made of; a `JsonText` goes in as it is."""


def dumped(document: Document) -> str:
    """The document as JSON text on one line, in UTF-8's full alphabet."""
    match document:
        case JsonText(text):
            return _on_one_line(text)
        case str() | bool() | int() | float() | None:
            return json.dumps(document, ensure_ascii=False, allow_nan=False)
        case Mapping():
            members = (f"{dumped(str(name))}: {dumped(each)}" for name, each in document.items())
            return "{" + ", ".join(members) + "}"
        case _:
            return "[" + ", ".join(dumped(each) for each in document) + "]"


def _on_one_line(text: str) -> str:
    """Valid JSON has line ends between its parts only, never inside a string."""
    return text.strip().replace("\r", " ").replace("\n", " ")
