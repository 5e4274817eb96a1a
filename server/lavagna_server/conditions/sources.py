"""The source of a rule, before it is given to any compiler."""

from __future__ import annotations

from lavagna_server.domain.errors import Invalid


def check_source(source: str, maximum: int, *, limit: str, field: str) -> None:
    """Checks that `source` is text, and not too long.

    Raises:
        Invalid: It has lone surrogates, or more than `maximum` bytes in UTF-8.
    """
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise Invalid(field, "text must not contain lone surrogates") from None
    if size > maximum:
        raise Invalid(field, f"limited to {maximum} bytes ({limit}), this has {size}")
