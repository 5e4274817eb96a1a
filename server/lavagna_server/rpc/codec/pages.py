"""Page tokens: where a list goes on, bound to the request that it belongs to.

A token is opaque and not a secret: what it says is checked like any other input, and it gives no right that its request
does not have.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Protocol

from google.protobuf.message import Message

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import EntryId, Kind, Space
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import MAXIMUM_INTEGER
from lavagna_server.engine.reading import ReadPoint

FIELD = "page_token"
TOKEN_CHARACTERS_MAX = 4_096
DIGEST_BYTES = 8
SEPARATOR = "\n"
"""Stands in no name and no key."""
MAY_DIFFER = ("page_token", "page_size", "min_revision")
"""What may change from page to page: a client that reads on asks for at least what it has seen meanwhile."""

_NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)


class Page(Protocol):
    """A page of what is listed by key, at one revision."""

    @property
    def space(self) -> Space: ...

    @property
    def revision(self) -> int: ...

    @property
    def next_after(self) -> EntryId | None: ...


def next_token(page: Page, request: Message, caller: Caller) -> str:
    """The token that continues a list by key; empty on its last page."""
    if page.next_after is None:
        return ""
    return page_token(request, caller, page.space.epoch, page.revision, page.next_after.key)


def next_place(
    token: str, request: Message, caller: Caller, *, kind: Kind, point: ReadPoint
) -> tuple[ReadPoint, EntryId | None]:
    """At which revision a page of a list by key is read, and after which entry; later pages stay where the first one was."""
    place = place_of(token, request, caller, parts=3)
    if place is None:
        return point, None
    epoch, revision, key = place
    return ReadPoint(number_of(revision), point.min_revision, epoch), EntryId(kind, key)


def page_token(request: Message, caller: Caller, *place: int | str) -> str:
    """The token that continues the list of `request` after `place`."""
    text = SEPARATOR.join(map(str, place)).encode()
    return base64.urlsafe_b64encode(_fingerprint(request, caller) + text).decode()


def place_of(token: str, request: Message, caller: Caller, *, parts: int) -> list[str] | None:
    """The place that a token continues after, in as many parts as it was made of; None for the first page.

    Raises:
        Invalid: The token is none, or belongs to another request.
    """
    if not token:
        return None
    if len(token) > TOKEN_CHARACTERS_MAX:
        raise _not_a_token()
    try:
        raw = base64.b64decode(token, altchars=b"-_", validate=True)
        place = raw[DIGEST_BYTES:].decode().split(SEPARATOR)
    except (ValueError, binascii.Error):
        raise _not_a_token() from None
    if raw[:DIGEST_BYTES] != _fingerprint(request, caller):
        raise Invalid(
            FIELD, "the token belongs to another request: repeat the request that it came from"
        )
    if len(place) != parts:
        raise _not_a_token()
    return place


def number_of(part: str) -> int:
    """The number that a part of a place is.

    Raises:
        Invalid: It is none, so the token was not made here.
    """
    if not _NUMBER.fullmatch(part) or int(part) > MAXIMUM_INTEGER:
        raise _not_a_token()
    return int(part)


def _fingerprint(request: Message, caller: Caller) -> bytes:
    same = type(request)()
    same.CopyFrom(request)
    for name in MAY_DIFFER:
        if name in request.DESCRIPTOR.fields_by_name:
            same.ClearField(name)
    asked = f"{request.DESCRIPTOR.full_name}\n{caller.board}\n{caller.agent}\n".encode()
    raw = asked + same.SerializeToString(deterministic=True)
    return hashlib.blake2b(raw, digest_size=DIGEST_BYTES).digest()


def _not_a_token() -> Invalid:
    return Invalid(
        FIELD, "not a page token: give the next_page_token of the previous page, unaltered"
    )
