"""A mapping that never changes: an edit gives another one and copies little, so that a snapshot is a reference."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

SHARDS = 256
"""Copying this many references and one shard costs microseconds, up to some hundred thousand items."""


class Shards(Mapping[KeyT, ValueT], Generic[KeyT, ValueT]):
    """An immutable mapping, in parts that its successors share."""

    __slots__ = ("_shards", "_size")

    def __init__(
        self, shards: tuple[dict[KeyT, ValueT], ...] = ({},) * SHARDS, size: int = 0
    ) -> None:
        self._shards = shards
        self._size = size

    def __getitem__(self, key: KeyT) -> ValueT:
        return self._shards[hash(key) % SHARDS][key]

    def __iter__(self) -> Iterator[KeyT]:
        for shard in self._shards:
            yield from shard

    def __len__(self) -> int:
        return self._size

    def edited(self, changes: Mapping[KeyT, ValueT | None]) -> Shards[KeyT, ValueT]:
        """The mapping with `changes` made; None takes a key away."""
        if not changes:
            return self
        shards = list(self._shards)
        size = self._size
        for key, value in changes.items():
            index = hash(key) % SHARDS
            if shards[index] is self._shards[index]:
                shards[index] = dict(shards[index])
            shard = shards[index]
            size -= key in shard
            if value is None:
                shard.pop(key, None)
            else:
                shard[key] = value
                size += 1
        return Shards(tuple(shards), size)
