"""Extents: bounds on the values inside an expression, known before it is evaluated.

A value that the expression only finds is known by its place among the names, and measured there; one that it makes is
bounded by what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeAlias

NODE_BYTES = 8
KEY_BYTES = 520
MEASURED_MAX = 1_000_000
"""Elements that are counted for one evaluation."""

Place: TypeAlias = "tuple[str | None, ...]"
"""A variable, and the way into it by the names of fields; None is any element, or any key."""

Seen: TypeAlias = (
    "dict[str, Seen] | list[Seen] | tuple[Seen, ...] | str | bytes | float | datetime | None"
)
"""What a variable may hold."""

_SIZED = frozenset({str, bytes, dict, list, tuple})


class Measure(NamedTuple):
    """How large the largest value at a place is."""

    size: int
    """Its bytes, each number and each element counted as 8 and more."""
    length: int
    """The elements of the longest list or map, when it is one."""


Measures: TypeAlias = Callable[[Place], Measure]


class Extent(Protocol):
    """Bounds on a value."""

    @property
    def size(self) -> int:
        """Its bytes."""
        ...

    @property
    def length(self) -> int:
        """Its elements."""
        ...

    def within(self, name: str | None = None) -> Extent:
        """Any element of it, or the one of that name."""
        ...


@dataclass(frozen=True, slots=True)
class Made:
    """Bounds on a value that the expression makes."""

    size: int = NODE_BYTES
    length: int = 0
    part: int = 0
    """The size of its largest element."""

    def within(self, name: str | None = None) -> Extent:
        return Made(self.part, self.part // NODE_BYTES, self.part)


SCALAR: Extent = Made()
KEY: Extent = Made(size=KEY_BYTES)


@dataclass(frozen=True, slots=True)
class Found:
    """Bounds on a value that the expression finds at a place."""

    place: Place
    measures: Measures

    @property
    def size(self) -> int:
        return self.measures(self.place).size

    @property
    def length(self) -> int:
        return self.measures(self.place).length

    def within(self, name: str | None = None) -> Extent:
        return Found((*self.place, name), self.measures)


def gathered(parts: Iterable[Extent]) -> Extent:
    """A list or map of these parts."""
    sizes = [part.size for part in parts]
    return Made(NODE_BYTES + sum(sizes), len(sizes), max(sizes, default=0))


def joined(one: Extent, other: Extent) -> Extent:
    """One text or list after the other."""
    size = one.size + other.size
    return Made(size, one.length + other.length, max(one.within().size, other.within().size))


def either(one: Extent, other: Extent) -> Extent:
    """One or the other."""
    size = max(one.size, other.size)
    return Made(size, max(one.length, other.length), size)


def repeated(element: Extent, times: int) -> Extent:
    """A list in which each round adds a list as long as `element`."""
    return Made(
        NODE_BYTES + element.size * times, times * max(1, element.length), element.within().size
    )


class TooLarge(Exception):
    """Measuring the values would itself take too long."""


class Scale:
    """Measures the values of one evaluation, their sizes rounded up to powers of two, so that few are told apart."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._left = MEASURED_MAX

    def measure(self, place: Place) -> Measure:
        """The largest value at a place.

        Raises:
            TooLarge: There are more elements in the values than can be counted in a moment.
        """
        size = length = 0
        for value in self._at(place):
            size = max(size, self._weigh(value))
            if isinstance(value, dict | list | tuple):
                length = max(length, len(value))
        return Measure(_rounded(size), _rounded(length))

    def _at(self, place: Place) -> list[Seen]:
        values: list[Seen] = [self._names.get(str(place[0]))]
        for step in place[1:]:
            values = [inner for value in values for inner in _inside(value, step)]
            self._count(len(values))
        return values

    def _weigh(self, value: Seen) -> int:
        weight = NODE_BYTES
        left: list[Seen] = [value]
        while left:
            item = left.pop()
            if isinstance(item, str):
                weight += _text_bytes(item)
            elif isinstance(item, bytes):
                weight += len(item)
            elif isinstance(item, dict):
                self._count(len(item))
                weight += 2 * NODE_BYTES * len(item) + sum(map(_text_bytes, item))
                left += [each for each in item.values() if type(each) in _SIZED]
            elif isinstance(item, list | tuple):
                self._count(len(item))
                weight += NODE_BYTES * len(item)
                left += [each for each in item if type(each) in _SIZED]
        return weight

    def _count(self, elements: int) -> None:
        self._left -= elements
        if self._left < 0:
            raise TooLarge


def _inside(value: Seen, step: str | None) -> Iterable[Seen]:
    if isinstance(value, dict):
        if step is not None:
            return [value[step]] if step in value else []
        return [*value, *value.values()]
    if isinstance(value, list | tuple) and step is None:
        return value
    return []


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else 4 * len(text)


def _rounded(size: int) -> int:
    return 1 << (size - 1).bit_length() if size > 1 else size
