"""Positions of a watch: where it stands in each space, as an opaque token that any server can resume (W5)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lavagna_server.domain.entries import ChangeType, Entry, EntryId, Kind, SpaceName
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import Pattern
from lavagna_server.domain.limits import MAXIMUM_INTEGER


@dataclass(frozen=True, slots=True)
class Target:
    """What a watch looks at in one space."""

    space: SpaceName
    pattern: Pattern
    kinds: frozenset[Kind] = frozenset()
    changes: frozenset[ChangeType] = frozenset()

    def includes(self, entry: Entry) -> bool:
        """Whether this version of an entry is looked at."""
        return (
            (not self.kinds or entry.kind in self.kinds)
            and (not self.changes or entry.change in self.changes)
            and self.pattern.match(entry.key) is not None
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a watch stands in one space."""

    revision: int
    """Everything up to here was seen."""
    is_loading: bool = False
    """Whether the state at `revision` is still being given."""
    after: EntryId | None = None
    """While loading: the last entry given."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a watch stands in all its spaces, and which watch it is."""

    epoch: str
    filter_digest: str
    places: Mapping[SpaceName, Place] = field(default_factory=dict[SpaceName, Place])

    def __str__(self) -> str:
        places = [
            [
                *space,
                place.revision,
                place.is_loading,
                place.after and [place.after.kind.value, place.after.key],
            ]
            for space, place in sorted(self.places.items())
        ]
        text = json.dumps(
            [self.epoch, self.filter_digest, places], separators=(",", ":"), ensure_ascii=False
        )
        raw = text.encode()
        return base64.urlsafe_b64encode(_check_sum(raw) + raw).decode()


def parse_position(text: str, *, field: str) -> Position:
    """The position that a token stands for.

    Raises:
        Invalid: It is not a token that a server made, or it was altered.
    """
    try:
        epoch, digest, places = json.loads(_unsealed(text))
        named = {
            SpaceName(str(board), str(owner)): _place(revision, loading, after)
            for board, owner, revision, loading, after in places
        }
    except (
        ValueError,
        TypeError,
        LookupError,
        OverflowError,
        binascii.Error,
        RecursionError,
    ):
        raise Invalid(
            field, "not a watch token: give the last token that the watch sent, unaltered"
        ) from None
    return Position(str(epoch), str(digest), named)


def _place(revision: Any, loading: Any, after: Any) -> Place:
    if not 0 <= int(revision) <= MAXIMUM_INTEGER:
        raise ValueError(revision)
    if not after:
        return Place(int(revision), bool(loading))
    kind, key = after
    str(key).encode()  # no store can look for a lone surrogate
    return Place(int(revision), bool(loading), EntryId(Kind(kind), str(key)))


def _unsealed(text: str) -> bytes:
    raw = base64.b64decode(text.encode(), altchars=b"-_", validate=True)
    if raw[:4] != _check_sum(raw[4:]):
        raise ValueError(text)
    return raw[4:]


def filter_digest(targets: tuple[Target, ...]) -> str:
    """A short hash of what a watch looks at, so that a token cannot resume another watch."""
    described = sorted(
        [
            target.space,
            target.pattern.text,
            sorted(kind.value for kind in target.kinds),
            sorted(change.value for change in target.changes),
        ]
        for target in targets
    )
    return hashlib.blake2b(json.dumps(described).encode(), digest_size=8).hexdigest()


def _check_sum(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=4).digest()
