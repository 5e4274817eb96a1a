"""Reads the fields of a JSON object from outside, each with the type that it must have."""

import json
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar, cast

T = TypeVar("T")
Choice = TypeVar("Choice", bound=Enum)

_LIST: type[list[Any]] = list


class Wrong(Exception):
    """What is wrong, where, in words that end without a full stop."""


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object, and what to call it in an error."""

    content: dict[str, Any]
    where: str

    @classmethod
    def of(cls, content: object, where: str) -> "Fields":
        """The object that `content` is.

        Raises:
            Wrong: It is none.
        """
        if not isinstance(content, dict):
            raise Wrong(f"{where} is not an object")
        return cls(cast("dict[str, Any]", content), where)

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.content.get(name) is not None

    def text(self, name: str) -> str:
        """A string."""
        return self._typed(name, str, "a string")

    def count(self, name: str) -> int:
        """A whole number from 0."""
        number = self._typed(name, int, "a whole number")
        if isinstance(number, bool) or number < 0:
            raise self._not(name, "a whole number from 0")
        return number

    def share(self, name: str) -> float:
        """A number from 0 to 1."""
        number = self.content.get(name)
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
            raise self._not(name, "a number from 0 to 1")
        return float(number)

    def time(self, name: str) -> datetime:
        """A time with its zone."""
        try:
            time = datetime.fromisoformat(self.text(name))
        except ValueError:
            raise self._not(name, "a time") from None
        if time.tzinfo is None:
            raise self._not(name, "a time with a zone")
        return time

    def choice(self, name: str, kind: type[Choice]) -> Choice:
        """One of the values of an enumeration."""
        text = self.text(name)
        try:
            return kind(text)
        except ValueError:
            raise self._not(name, f"one of {', '.join(str(each.value) for each in kind)}") from None

    def items(self, name: str) -> list[Any]:
        """A list."""
        return self._typed(name, _LIST, "a list")

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        texts = self.items(name)
        if not all(isinstance(each, str) for each in texts):
            raise self._not(name, "a list of strings")
        return tuple(texts)

    def _typed(self, name: str, kind: type[T], meaning: str) -> T:
        field = self.content.get(name)
        if not isinstance(field, kind):
            raise self._not(name, meaning)
        return field

    def _not(self, name: str, meaning: str) -> Wrong:
        return Wrong(f"{self.where}.{name} is not {meaning}")


def only_member(line: bytes) -> tuple[str, Fields]:
    """The one member of the object that the line holds, with its name.

    Raises:
        Wrong: The line is not JSON, or not an object with one member that is an object.
    """
    parsed = parsed_json(line, "the line")
    content = Fields.of(parsed, "the line").content
    if len(content) != 1:
        raise Wrong("the line is not an object with one member")
    [(name, member)] = content.items()
    return name, Fields.of(member, name)


def parsed_json(text: str | bytes, where: str) -> Any:
    """What the JSON text says.

    Raises:
        Wrong: It is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as unfit:
        raise Wrong(f"{where} is not JSON ({unfit})") from None
