"""Keys and patterns: their normal form, and which key matches which pattern.

A key is a path of segments in Unicode normal form C. Everything that compares keys (regions, watches, triggers,
storage) compares this form by whole segments, so that `task/1` never covers `task/10`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NewType

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits

Key = NewType("Key", str)
"""A key in its normal form."""

_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,62})\}")
_SIMPLE = re.compile(r"[A-Za-z0-9_.\-:@+]+(?:/[A-Za-z0-9_.\-:@+]+)*")


def normal_key(text: str, *, field: str, limits: Limits) -> Key:
    """The normal form of a key.

    Compatibility characters that fold to another letter or digit, such as a full-width 1, are refused rather than
    folded: two keys that look alike to a reader must not both exist.

    Raises:
        Invalid: The key is empty, too long, or has a segment that is empty, `.`, `..`, or contains a control,
            format, private-use or compatibility character, a lone surrogate, or a pattern's `*`, `{` or `}`.
    """
    # The common case in one regular expression; the careful path is thirty times slower.
    if _SIMPLE.fullmatch(text) and len(text) <= limits.key_bytes_max and "." not in text:
        return Key(text)
    return Key("/".join(_segments(text, field=field, limits=limits)))


def _segments(text: str, *, field: str, limits: Limits) -> list[str]:
    if not text:
        raise Invalid(field, "a key must not be empty")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Invalid(field, "a key must not contain lone surrogates") from None
    normal = unicodedata.normalize("NFC", text)
    if max(size, len(normal.encode())) > limits.key_bytes_max:
        raise Invalid(
            field,
            f"a key is limited to {limits.key_bytes_max} bytes (key_bytes_max), this has {size}",
        )
    segments = normal.split("/")
    for segment in segments:
        _check_segment(segment, field=field)
    return segments


def _check_segment(segment: str, *, field: str) -> None:
    if not segment:
        raise Invalid(field, "a key must not begin or end with a slash, nor have two in a row")
    if segment in {".", ".."}:
        raise Invalid(field, f"a segment of a key must not be {segment!r}")
    for character in segment:
        if character in "*{}":
            raise Invalid(field, f"a key must not contain {character!r}, which belongs to patterns")
        if (
            unicodedata.category(character) in {"Cc", "Cf", "Co", "Cn", "Zl", "Zp"}
            and character != "\u200d"
        ):
            raise Invalid(
                field, f"a key must not contain the invisible character U+{ord(character):04X}"
            )
        if _is_disguise(character):
            raise Invalid(
                field,
                f"a key must not contain U+{ord(character):04X}, a look-alike of another character",
            )


def _is_disguise(character: str) -> bool:
    folded = unicodedata.normalize("NFKC", character)
    return folded != character and folded.isascii()


@dataclass(frozen=True, slots=True)
class Pattern:
    """Which keys are meant: literal segments, `*` for one, `**` for any number, `{name}` for one that is bound."""

    text: str
    segments: tuple[str, ...]
    """Literals as they are; `*`, `**` and `{name}` as written."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a match binds, in order."""
        return tuple(segment[1:-1] for segment in self.segments if segment.startswith("{"))

    @property
    def literal_prefix(self) -> str:
        """The leading literal segments, joined; every match equals it or begins with it and a slash."""
        literal: list[str] = []
        for segment in self.segments:
            if is_wild(segment):
                break
            literal.append(segment)
        return "/".join(literal)

    @property
    def is_literal(self) -> bool:
        """Whether it means exactly one key."""
        return not any(is_wild(segment) for segment in self.segments)

    def match(self, key: str) -> Mapping[str, str] | None:
        """What the names are bound to when `key` matches, else None."""
        return next(_matches(self.segments, tuple(key.split("/")), {}), None)

    def with_bound(self, bind: Mapping[str, str]) -> Pattern:
        """This pattern with the names in `bind` replaced by their segments."""
        if not bind or "{" not in self.text:
            return self
        segments = tuple(
            bind.get(segment[1:-1], segment) if segment.startswith("{") else segment
            for segment in self.segments
        )
        return Pattern("/".join(segments), segments)


EVERYTHING = Pattern("**", ("**",))


def below(key: str) -> Pattern:
    """What lies directly below a key."""
    return Pattern(f"{key}/*", (*key.split("/"), "*"))


def is_wild(segment: str) -> bool:
    """Whether a segment of a pattern stands for more than itself."""
    return segment in {"*", "**"} or segment.startswith("{")


def _matches(
    pattern: tuple[str, ...], key: tuple[str, ...], bind: dict[str, str]
) -> Iterator[dict[str, str]]:
    # `**` stands only at the end (see parse_pattern), so matching never backtracks.
    for index, segment in enumerate(pattern):
        if segment == "**":
            yield bind
            return
        if index >= len(key):
            return
        if segment.startswith("{"):
            if bind.setdefault(segment[1:-1], key[index]) != key[index]:
                return
        elif segment not in ("*", key[index]):
            return
    if len(pattern) == len(key):
        yield bind


def parse_pattern(text: str, *, field: str, limits: Limits) -> Pattern:
    """The pattern that `text` means; empty text means every key.

    Raises:
        Invalid: The text has too many segments, a `**` that is not the last segment, a malformed name, a wildcard inside
            a segment, or a literal segment that no key can have.
    """
    if len(text) > 2 * limits.key_bytes_max:
        raise Invalid(
            field, f"a pattern is limited to {limits.key_bytes_max} bytes (key_bytes_max)"
        )
    return _parse(text, field, limits)


@lru_cache(maxsize=4_096)
def _parse(text: str, field: str, limits: Limits) -> Pattern:
    if text in {"", "**"}:
        return EVERYTHING
    raw = text.split("/")
    if len(raw) > limits.pattern_segments_max:
        raise Invalid(
            field,
            f"a pattern is limited to {limits.pattern_segments_max} segments (pattern_segments_max), not {len(raw)}",
        )
    segments: list[str] = []
    for index, segment in enumerate(raw):
        if segment == "**" and index != len(raw) - 1:
            raise Invalid(field, "`**` may only be the last segment of a pattern")
        if segment in {"*", "**"} or _NAME.fullmatch(segment):
            segments.append(segment)
        else:
            segments.append(normal_key(segment, field=field, limits=limits))
    return Pattern("/".join(segments), tuple(segments))


def is_within(key: str, path: str) -> bool:
    """Whether `key` is `path` or lies below it, by whole segments."""
    return key == path or key.startswith(path + "/")


def may_overlap(pattern: Pattern, path: str) -> bool:
    """Whether some key that matches `pattern` may lie within `path`."""
    for segment, part in zip(pattern.segments, path.split("/"), strict=False):
        if segment == "**":
            return True
        if not is_wild(segment) and segment != part:
            return False
    return pattern.segments[-1] == "**" or len(pattern.segments) >= len(path.split("/"))
