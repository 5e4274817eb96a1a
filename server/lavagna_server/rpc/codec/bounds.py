"""What bounds a trigger's activations: the ranges that the contract states, and the defaults of what is unset."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, TypeAlias

from lavagna.v1 import triggers_pb2
from lavagna_server.domain.triggers import BACKOFF_MAX, LEASE_MAX, LEASE_MIN, TriggerLimits
from lavagna_server.rpc.codec.checks import not_negative, within
from lavagna_server.rpc.codec.times import LONGEST, optional_span, span_from_wire, span_to_wire

ATTEMPTS_MAX = 100
CAUSAL_DEPTH_MAX = 1_000
COUNT_MAX = 1_000_000
"""Of leases at once and of firings in a minute."""

_DEFAULT = TriggerLimits()
_NONE = timedelta(0)
_SHORTEST = timedelta(milliseconds=1)

_Span: TypeAlias = Literal["lease", "backoff", "cooldown", "start_deadline", "run_deadline"]


def bounds_to_wire(limits: TriggerLimits) -> triggers_pb2.TriggerLimits:
    """The bounds as a message, defaults filled in."""
    return triggers_pb2.TriggerLimits(
        lease=span_to_wire(limits.lease),
        attempts_max=limits.attempts_max,
        backoff=span_to_wire(limits.backoff),
        concurrency_max=limits.concurrency_max,
        binding_concurrency_max=limits.binding_concurrency_max,
        cooldown=span_to_wire(limits.cooldown),
        start_deadline=optional_span(limits.start_deadline),
        run_deadline=optional_span(limits.run_deadline),
        causal_depth_max=limits.causal_depth_max,
        firings_per_minute_max=limits.firings_per_minute_max,
    )


def bounds_from_wire(message: triggers_pb2.TriggerLimits) -> TriggerLimits:
    """The bounds that a caller wants.

    Raises:
        Invalid: One of them is out of its range.
    """
    return TriggerLimits(
        lease=_span(message, "lease", LEASE_MIN, LEASE_MAX) or _DEFAULT.lease,
        attempts_max=_number(
            message.attempts_max, "attempts_max", ATTEMPTS_MAX, _DEFAULT.attempts_max
        ),
        backoff=_given(_span(message, "backoff", _NONE, BACKOFF_MAX), _DEFAULT.backoff),
        concurrency_max=not_negative(
            message.concurrency_max, field="trigger.limits.concurrency_max"
        ),
        binding_concurrency_max=_number(
            message.binding_concurrency_max,
            "binding_concurrency_max",
            COUNT_MAX,
            _DEFAULT.binding_concurrency_max,
        ),
        cooldown=_given(_span(message, "cooldown", _NONE, LONGEST), _DEFAULT.cooldown),
        start_deadline=_span(message, "start_deadline", _SHORTEST, LONGEST),
        run_deadline=_span(message, "run_deadline", LEASE_MIN, LONGEST),
        causal_depth_max=_number(
            message.causal_depth_max,
            "causal_depth_max",
            CAUSAL_DEPTH_MAX,
            _DEFAULT.causal_depth_max,
        ),
        firings_per_minute_max=_number(
            message.firings_per_minute_max,
            "firings_per_minute_max",
            COUNT_MAX,
            _DEFAULT.firings_per_minute_max,
        ),
    )


def _number(number: int, name: str, most: int, default: int) -> int:
    return within(number, 1, most, field=f"trigger.limits.{name}", default=default)


def _span(
    message: triggers_pb2.TriggerLimits, name: _Span, least: timedelta, most: timedelta
) -> timedelta | None:
    if not message.HasField(name):
        return None
    return span_from_wire(
        getattr(message, name), field=f"trigger.limits.{name}", least=least, most=most
    )


def _given(span: timedelta | None, default: timedelta) -> timedelta:
    return default if span is None else span
