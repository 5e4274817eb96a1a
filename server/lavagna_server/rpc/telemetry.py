"""What the operator sees of calls: a structured log event and metrics for each, never a value and never a token."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import structlog
from google.protobuf.message import Message
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from lavagna_server.domain import errors
from lavagna_server.rpc.errors import INTERNAL_REASON, reason_of

OK = "OK"
CANCELLED = "CANCELLED"
SECONDS_BUCKETS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    60.0,
)

NOTEWORTHY = (
    errors.Unauthenticated,
    errors.PermissionDenied,
    errors.Exhausted,
    errors.Unavailable,
)
"""Errors that an operator wants to read about; conflicts and the like are the crew's daily work, and counted."""

_log = structlog.get_logger("lavagna.rpc")


@dataclass(slots=True)
class Visit:
    """One call, as far as it has come."""

    request: str
    """What the client calls the request."""
    started: float
    board: str = ""
    agent: str = ""
    outcome: str = CANCELLED
    """The reason it ended with; a call that nobody waited for any more was cancelled."""
    revision: int | None = None
    is_noteworthy: bool = False


class Telemetry:
    """The metrics of all methods."""

    def __init__(self, registry: CollectorRegistry, *, log_calls: bool) -> None:
        self._log_calls = log_calls
        self._calls = Counter(
            "lavagna_calls",
            "Calls answered, by how they ended.",
            ["method", "outcome"],
            registry=registry,
        )
        self._seconds = Histogram(
            "lavagna_call_seconds",
            "Time from a call's arrival to its end.",
            ["method"],
            registry=registry,
            buckets=SECONDS_BUCKETS,
        )
        self._open = Gauge("lavagna_open_calls", "Calls under way.", ["method"], registry=registry)

    def meter(self, method: str) -> Meter:
        """What measures one method."""
        return Meter(method, self._calls, self._seconds, self._open, log_calls=self._log_calls)


class Meter:
    """Measures one method; its labels are looked up once, because that costs more than counting."""

    def __init__(
        self, method: str, calls: Counter, seconds: Histogram, open_calls: Gauge, *, log_calls: bool
    ) -> None:
        self._method, self._log_calls = method, log_calls
        self._calls, self._by_outcome = calls, dict[str, Counter]()
        self._seconds = seconds.labels(method)
        self._inside = 0  # counted here and read when asked for, because a metric takes a lock
        open_calls.labels(method).set_function(lambda: self._inside)

    def arrive(self, request: str) -> Visit:
        """A call begins."""
        self._inside += 1
        return Visit(request, time.perf_counter())

    def succeed(self, visit: Visit, response: Message) -> None:
        """A call ends with a response."""
        visit.outcome = OK
        if self._log_calls and (header := getattr(response, "header", None)) is not None:
            visit.revision = header.revision

    def fail(self, visit: Visit, error: Exception) -> None:
        """A call ends with an error."""
        if not isinstance(error, errors.BoardError):
            visit.outcome = INTERNAL_REASON
            _log.error("call failed", exc_info=error, **self._facts(visit))
            return
        visit.outcome = reason_of(error)
        if isinstance(
            error, errors.StorageFailed
        ):  # the server's own fault, too, but one that is understood
            _log.error("call failed", why=str(error), **self._facts(visit))
        else:
            visit.is_noteworthy = isinstance(error, NOTEWORTHY)

    def leave(self, visit: Visit) -> None:
        """A call is over."""
        elapsed = time.perf_counter() - visit.started
        self._inside -= 1
        self._seconds.observe(elapsed)
        counter = self._by_outcome.get(visit.outcome)
        if counter is None:
            counter = self._calls.labels(self._method, visit.outcome)
            self._by_outcome[visit.outcome] = counter
        counter.inc()
        if visit.is_noteworthy or self._log_calls:
            _log.info("call", seconds=round(elapsed, 6), **self._facts(visit))

    def _facts(self, visit: Visit) -> dict[str, Any]:
        facts = {
            "method": self._method,
            "outcome": visit.outcome,
            "board": visit.board,
            "agent": visit.agent,
            "request": visit.request,
            "revision": visit.revision,
        }
        return {name: fact for name, fact in facts.items() if fact not in ("", None)}
