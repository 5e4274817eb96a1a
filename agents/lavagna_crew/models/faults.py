"""Faults of a model server: which of them pass, and what a person can do about the others."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec

import openai

from lavagna_crew.models.patience import told_to_wait

PASSING_STATUSES = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.CONFLICT,
        HTTPStatus.TOO_EARLY,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
"""Statuses below 500 that ask for another try."""

REMEDIES: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "set OPENAI_API_KEY to a key that it accepts",
    HTTPStatus.FORBIDDEN: "set OPENAI_API_KEY to a key that may use this model",
    HTTPStatus.NOT_FOUND: "set LAVAGNA_MODEL to a model that it has, and OPENAI_BASE_URL to where its API is",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "give it a smaller task",
    HTTPStatus.TOO_MANY_REQUESTS: "raise the quota of the account, or use another one",
}


class CutOff(Exception):
    """The stream ended before the reply did."""


class SaysNo(Exception):
    """The model answered that it will not answer."""


@dataclass(frozen=True, slots=True)
class Passing:
    """Asking again may help."""

    why: str
    told_seconds: float | None = None
    """How long the server asks to wait."""


@dataclass(frozen=True, slots=True)
class Lasting:
    """Asking again will not help."""

    why: str
    remedy: str


def _transport_faults() -> Iterator[type[Exception]]:
    """What a cut stream raises. The openai package wraps it from version 3 on, and not before."""
    for name in ("httpx", "httpx2"):
        if find_spec(name) is not None:
            fault: type[Exception] = import_module(name).TransportError
            yield fault


FAULTS: tuple[type[Exception], ...] = (
    openai.APIError,
    CutOff,
    SaysNo,
    *_transport_faults(),
)
"""Everything that one call to a model can raise."""


def judged(fault: Exception) -> Passing | Lasting:
    """What to make of one of FAULTS."""
    why = str(fault) or type(fault).__name__
    if isinstance(fault, SaysNo):
        return Lasting(why, "word the task differently")
    if not isinstance(fault, openai.APIStatusError):
        return Passing(why)
    told = told_to_wait(fault.response.headers, now=datetime.now(UTC))
    status = fault.status_code
    if fault.code == "insufficient_quota":
        return Lasting(why, REMEDIES[HTTPStatus.TOO_MANY_REQUESTS])
    if status in PASSING_STATUSES or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Passing(why, told)
    return Lasting(why, REMEDIES.get(status, "set LAVAGNA_MODEL to another model"))
