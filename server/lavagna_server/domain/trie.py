"""A trie of key patterns: which of many patterns match a key, at a cost that does not grow with those that do not."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from lavagna_server.domain.keys import Pattern, is_wild

T = TypeVar("T", bound=Hashable)


class _Node(Generic[T]):
    __slots__ = ("any_depth", "here", "literal", "one")

    def __init__(self) -> None:
        self.literal: dict[str, _Node[T]] = {}
        self.one: _Node[T] | None = None
        self.any_depth: dict[T, Pattern] = {}
        self.here: dict[T, Pattern] = {}

    @property
    def is_empty(self) -> bool:
        return not (self.literal or self.one or self.any_depth or self.here)


class PatternTrie(Generic[T]):
    """Maps patterns to values; the same value may stand under several patterns, once under each."""

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def __bool__(self) -> bool:
        return not self._root.is_empty

    def add(self, pattern: Pattern, value: T) -> None:
        """Puts `value` under `pattern`."""
        node = self._root
        for segment in pattern.segments:
            if segment == "**":
                node.any_depth[value] = pattern
                return
            if is_wild(segment):
                node.one = node.one or _Node()
                node = node.one
            else:
                node = node.literal.setdefault(segment, _Node())
        node.here[value] = pattern

    def remove(self, pattern: Pattern, value: T) -> None:
        """Takes `value` from under `pattern`; nothing happens when it is not there."""
        path: list[tuple[_Node[T], str]] = []
        node = self._root
        for segment in pattern.segments:
            if segment == "**":
                node.any_depth.pop(value, None)
                break
            child = node.one if is_wild(segment) else node.literal.get(segment)
            if child is None:
                return
            path.append((node, segment))
            node = child
        else:
            node.here.pop(value, None)
        _prune(path, node)

    def match(self, key: str) -> Iterator[T]:
        """The values whose pattern matches `key`; a value under several matching patterns comes once for each."""
        segments = key.split("/")
        nodes = [self._root]
        for segment in segments:
            following: list[_Node[T]] = []
            for node in nodes:
                yield from node.any_depth
                if (child := node.literal.get(segment)) is not None:
                    following.append(child)
                if node.one is not None:
                    following.append(node.one)
            if not following:
                return
            nodes = following
        for node in nodes:
            yield from _confirmed(node.here, key)
            yield from node.any_depth


def _confirmed(values: dict[T, Pattern], key: str) -> Iterator[T]:
    # A name that stands twice in a pattern must bind the same segment, which the trie alone cannot tell.
    for value, pattern in values.items():
        names = pattern.names
        if len(set(names)) == len(names) or pattern.match(key) is not None:
            yield value


def _prune(path: list[tuple[_Node[T], str]], node: _Node[T]) -> None:
    for parent, segment in reversed(path):
        if not node.is_empty:
            return
        if is_wild(segment):
            parent.one = None
        else:
            del parent.literal[segment]
        node = parent
