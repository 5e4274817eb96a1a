"""What fields of any message are checked for: counts, sizes, signs and characters."""

from __future__ import annotations

import re
from collections.abc import Sized

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits

PAGE_SIZE_DEFAULT = 100

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def check_count(items: Sized, maximum: int, *, field: str, limit: str) -> None:
    """Refuses a list that is longer than the limit of that name."""
    if len(items) > maximum:
        raise Invalid(field, f"at most {maximum} are allowed ({limit}), not {len(items)}")


def check_bytes(text: str, maximum: int, *, field: str, limit: str) -> None:
    """Refuses a text that takes more bytes than the limit of that name."""
    if len(text) > maximum or (not text.isascii() and len(text.encode()) > maximum):
        raise Invalid(
            field, f"at most {maximum} bytes are allowed ({limit}), not {len(text.encode())}"
        )


def check_label(text: str, *, field: str, characters_max: int) -> str:
    """A short text for people or logs, as given: a single line without control characters."""
    if len(text) > characters_max:
        raise Invalid(field, f"at most {characters_max} characters are allowed, not {len(text)}")
    if _CONTROL.search(text):
        raise Invalid(field, "control characters are not allowed")
    return text


def not_negative(number: int, *, field: str) -> int:
    """The number, as given."""
    if number < 0:
        raise Invalid(field, f"must not be negative, like {number}")
    return number


def within(number: int, least: int, most: int, *, field: str, default: int) -> int:
    """The number when it is from `least` to `most`; 0 means the default."""
    if number == 0:
        return default
    if not least <= number <= most:
        raise Invalid(field, f"must be from {least} to {most}, not {number}")
    return number


def page_size(number: int, *, limits: Limits, field: str = "page_size") -> int:
    """How many items a page may have at most; more than the server gives is not an error (AIP-158)."""
    return min(not_negative(number, field=field) or PAGE_SIZE_DEFAULT, limits.page_entries_max)


def required(given: bool, *, field: str, rule: str = "this field is required") -> None:
    """Refuses a request in which the field is not given."""
    if not given:
        raise Invalid(field, rule)
