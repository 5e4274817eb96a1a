"""Leases: who may work on an activation, and until when.

Pure functions of a lease and the time; nothing here asks for the time. A fence rises with every grant and never falls, so a
holder that slept is told apart from its successor (A2, A3).
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.errors import Invalid, LeaseLost, expired
from lavagna_server.domain.limits import MAXIMUM_INTEGER


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one claim to work on one activation."""

    holder: str
    nonce: str
    """Unguessable, and made for this claim: two processes of one name cannot share a lease."""
    expires_at: datetime
    duration: timedelta
    ends_at: datetime | None = None
    """The run deadline, past which it cannot be extended."""


@dataclass(frozen=True, slots=True)
class LeaseToken:
    """What a holder shows with every write: names the claim, and proves it."""

    space: SpaceName
    activation: int
    fence: int
    nonce: str

    def __str__(self) -> str:
        parts = [*self.space, self.activation, self.fence, self.nonce]
        return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode()


def parse_token(text: str, *, field: str) -> LeaseToken:
    """The token that `text` is.

    Raises:
        Invalid: It is not a token that this server could have made.
    """
    try:
        board, owner, activation, fence, nonce = json.loads(base64.urlsafe_b64decode(text.encode()))
        space = SpaceName(str(board), str(owner))
        token = LeaseToken(space, int(activation), int(fence), str(nonce))
    except (ValueError, TypeError, OverflowError, binascii.Error, RecursionError):
        raise _not_a_token(field) from None
    numbers, names = (token.activation, token.fence), (*token.space, token.nonce)
    if not all(0 < number <= MAXIMUM_INTEGER for number in numbers):
        raise _not_a_token(field)
    if not all(name.isascii() for name in names) or str(token) != text:
        raise _not_a_token(field)
    return token


def _not_a_token(field: str) -> Invalid:
    return Invalid(field, "not a lease token: give the token that Acquire returned, unaltered")


def renewed(lease: Lease, *, now: datetime) -> Lease:
    """The same lease, running its full duration from `now`, but never past its deadline and never shorter than before."""
    until = now + lease.duration
    if lease.ends_at is not None:
        until = min(until, lease.ends_at)
    return replace(lease, expires_at=max(lease.expires_at, until))


def check_held(
    lease: Lease | None,
    fence: int,
    token: LeaseToken,
    *,
    holder: str,
    now: datetime,
    activation: str,
) -> None:
    """Checks that `token` is the right to work, now.

    Raises:
        LeaseLost: Somebody else holds the activation, nobody does, or the lease ended, even if nobody has taken over yet.
    """
    if lease is None:
        raise LeaseLost(activation, "nobody holds it")
    if token.fence != fence or token.nonce != lease.nonce or holder != lease.holder:
        raise LeaseLost(
            activation,
            f"fence {token.fence} is not the current {fence}, or the token is another claim's",
        )
    if lease.expires_at <= now:
        raise LeaseLost(activation, expired(lease.expires_at))
