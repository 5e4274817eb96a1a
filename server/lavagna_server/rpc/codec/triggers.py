"""Triggers as resources: what an agent sets, and what it reads of it."""

from __future__ import annotations

from collections.abc import Sequence

from lavagna.v1 import triggers_pb2
from lavagna_server.domain.agents import Caller, check_name
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import parse_pattern
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.names import trigger_name
from lavagna_server.domain.schedules import Schedule, check_schedule
from lavagna_server.domain.triggers import Mode, Source, Statistics, Trigger
from lavagna_server.rpc.codec.bounds import bounds_from_wire, bounds_to_wire
from lavagna_server.rpc.codec.checks import check_bytes, check_count
from lavagna_server.rpc.codec.enums import CHANGE_TYPES, KINDS, MODES
from lavagna_server.rpc.codec.spaces import space_from_wire, space_to_wire
from lavagna_server.rpc.codec.times import moment_from_wire, moment_to_wire, optional_moment


def trigger_to_wire(trigger: Trigger) -> triggers_pb2.Trigger:
    """The trigger as a message."""
    return triggers_pb2.Trigger(
        name=trigger_name(trigger.id),
        agent=trigger.agent,
        team=trigger.team,
        space=space_to_wire(trigger.space),
        on=[_source_to_wire(source) for source in trigger.on],
        reads=[pattern.text for pattern in trigger.reads],
        when=trigger.when,
        rating=trigger.rating,
        mode=MODES.to_wire(trigger.mode),
        schedule=None if trigger.schedule is None else _schedule_to_wire(trigger.schedule),
        limits=bounds_to_wire(trigger.limits),
        own_writes=trigger.own_writes,
        suspended=trigger.suspended,
        version=trigger.version,
        statistics=_statistics_to_wire(trigger.statistics),
        next_due_time=optional_moment(trigger.next_due_at),
    )


def trigger_from_wire(
    message: triggers_pb2.Trigger, name: str, caller: Caller, *, limits: Limits
) -> Trigger:
    """The trigger that a caller wants; what the server sets is left at its defaults.

    Raises:
        Invalid: Naming the field, as in `trigger.on[1].pattern`.
    """
    _check_sizes(message, limits)
    trigger = Trigger(
        space_from_wire(message.space, caller, field="trigger.space"),
        name,
        caller.agent,
        check_name(message.team, field="trigger.team") if message.team else "",
        _sources(message.on, limits),
        tuple(
            parse_pattern(pattern, field=f"trigger.reads[{index}]", limits=limits)
            for index, pattern in enumerate(message.reads)
        ),
        message.when,
        message.rating,
        MODES.from_wire(message.mode, field="trigger.mode"),
        _schedule(message.schedule) if message.HasField("schedule") else None,
        bounds_from_wire(message.limits),
        message.own_writes,
    )
    _check_mode(trigger)
    return trigger


def set_response(trigger: Trigger) -> triggers_pb2.SetTriggerResponse:
    """The trigger as it now is."""
    return triggers_pb2.SetTriggerResponse(trigger=trigger_to_wire(trigger))


def suspend_response(trigger: Trigger) -> triggers_pb2.SuspendTriggerResponse:
    """The trigger as it now is."""
    return triggers_pb2.SuspendTriggerResponse(trigger=trigger_to_wire(trigger))


def resume_response(trigger: Trigger) -> triggers_pb2.ResumeTriggerResponse:
    """The trigger as it now is."""
    return triggers_pb2.ResumeTriggerResponse(trigger=trigger_to_wire(trigger))


def delete_response(_: None) -> triggers_pb2.DeleteTriggerResponse:
    """The trigger is gone."""
    return triggers_pb2.DeleteTriggerResponse()


def _check_sizes(message: triggers_pb2.Trigger, limits: Limits) -> None:
    check_count(
        message.reads,
        limits.trigger_patterns_max,
        field="trigger.reads",
        limit="trigger_patterns_max",
    )
    for name, source in (("when", message.when), ("rating", message.rating)):
        field = f"trigger.{name}"
        check_bytes(source, limits.condition_bytes_max, field=field, limit="condition_bytes_max")


def _check_mode(trigger: Trigger) -> None:
    if trigger.mode is Mode.DUE:
        if trigger.schedule is None:
            raise Invalid("trigger.schedule", "a due trigger needs a schedule")
        if trigger.on:
            raise Invalid(
                "trigger.on", "a due trigger is about times and not about changes; use reads"
            )
    elif trigger.schedule is not None:
        raise Invalid("trigger.schedule", "only a due trigger has a schedule")
    elif not trigger.on:
        raise Invalid("trigger.on", "say which changes the trigger is about")


def _sources(messages: Sequence[triggers_pb2.TriggerSource], limits: Limits) -> tuple[Source, ...]:
    check_count(
        messages, limits.trigger_patterns_max, field="trigger.on", limit="trigger_patterns_max"
    )
    return tuple(
        Source(
            parse_pattern(message.pattern, field=f"trigger.on[{index}].pattern", limits=limits),
            KINDS.set_from_wire(message.kinds, field=f"trigger.on[{index}].kinds"),
            CHANGE_TYPES.set_from_wire(
                message.change_types, field=f"trigger.on[{index}].change_types"
            ),
        )
        for index, message in enumerate(messages)
    )


def _source_to_wire(source: Source) -> triggers_pb2.TriggerSource:
    return triggers_pb2.TriggerSource(
        pattern=source.pattern.text,
        kinds=sorted(KINDS.to_wire(kind) for kind in source.kinds),
        change_types=sorted(CHANGE_TYPES.to_wire(change) for change in source.changes),
    )


def _schedule(message: triggers_pb2.Schedule) -> Schedule:
    at = (
        moment_from_wire(message.at, field="trigger.schedule.at")
        if message.HasField("at")
        else None
    )
    schedule = Schedule(at, message.cron, message.time_zone or "UTC")
    check_schedule(schedule, field="trigger.schedule")
    return schedule


def _schedule_to_wire(schedule: Schedule) -> triggers_pb2.Schedule:
    if schedule.at is not None:
        return triggers_pb2.Schedule(at=moment_to_wire(schedule.at), time_zone=schedule.time_zone)
    return triggers_pb2.Schedule(cron=schedule.cron, time_zone=schedule.time_zone)


def _statistics_to_wire(statistics: Statistics) -> triggers_pb2.TriggerStatistics:
    return triggers_pb2.TriggerStatistics(
        fired=statistics.fired,
        completed=statistics.completed,
        failed=statistics.failed,
        expired_leases=statistics.expired_leases,
        obviated=statistics.obviated,
        dead=statistics.dead,
        overrun=statistics.overrun,
        errors=statistics.errors,
        last_error=statistics.last_error,
        last_fire_time=optional_moment(statistics.last_fired_at),
    )
