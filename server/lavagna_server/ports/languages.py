"""The languages in which users state rules: conditions over the board, and schemas of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class Outcome(NamedTuple):
    """What an expression came to: a value, or an error that never counts as true."""

    value: Any
    error: str = ""


class Expression(Protocol):
    """A compiled expression; safe to evaluate from one thread at a time."""

    def evaluate(self, names: Mapping[str, Any]) -> Outcome:
        """The outcome over `entry`, `old`, `board`, `bind` and `now`. Never raises; bounded in time."""
        ...


class Conditions(Protocol):
    """Compiles conditions and ratings."""

    def condition(self, source: str, *, field: str) -> Expression:
        """A boolean expression; empty source is always true.

        Raises:
            Invalid: The source is too long, malformed, or not boolean.
        """
        ...

    def rating(self, source: str, *, field: str) -> Expression:
        """An integer expression; empty source is 0.

        Raises:
            Invalid: The source is too long, malformed, or not an integer.
        """
        ...


class Schema(Protocol):
    """A compiled JSON Schema."""

    def fault(self, json_text: str) -> tuple[str, str] | None:
        """The path inside the value and the rule that it breaks, or None."""
        ...


class Schemas(Protocol):
    """Compiles JSON Schemas; remote references are never fetched."""

    def schema(self, source: str, *, field: str) -> Schema:
        """The schema that `source` is.

        Raises:
            Invalid: The source is not JSON, not a schema, or refers to something remote.
        """
        ...
