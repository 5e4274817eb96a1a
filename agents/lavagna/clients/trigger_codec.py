"""Triggers between Python and the wire."""

from __future__ import annotations

from lavagna.checks import (
    INT32_MAX,
    checked_choice,
    checked_count,
    checked_flag,
    checked_several,
    checked_text,
    checked_texts,
    checked_type,
)
from lavagna.entries import (
    ChangeType,
    Kind,
    change_numbers,
    change_type_of,
    kind_numbers,
    kind_of,
    space_number,
    space_of,
)
from lavagna.names import last_part
from lavagna.times import duration, optional_time, seconds_of, timestamp
from lavagna.triggers import (
    Evaluation,
    Limits,
    Mode,
    Schedule,
    Source,
    Statistics,
    Trial,
    Trigger,
    Verdict,
)
from lavagna.v1 import triggers_pb2 as wire

_MODES = {
    Mode.EDGE: wire.TRIGGER_MODE_EDGE,
    Mode.EVERY: wire.TRIGGER_MODE_EVERY,
    Mode.DUE: wire.TRIGGER_MODE_DUE,
}
_MODE_OF = {number: mode for mode, number in _MODES.items()}
_VERDICT_OF = {
    wire.VERDICT_TRUE: Verdict.TRUE,
    wire.VERDICT_FALSE: Verdict.FALSE,
    wire.VERDICT_ERROR: Verdict.ERROR,
}


def trigger_message(trigger: Trigger) -> wire.Trigger:
    """The trigger as the wire has it, without what the server fills in.

    Raises:
        Invalid: A part of it is not what it has to be, or out of its range.
    """
    checked_type(trigger, Trigger, field="trigger")
    checked_text(trigger.id, field="trigger.id")
    sources = checked_several(trigger.on, field="trigger.on", expected="a list of patterns")
    message = wire.Trigger(
        team=checked_text(trigger.team, field="trigger.team"),
        space=space_number(trigger.space, field="trigger.space"),
        on=[_source_message(source) for source in sources],
        reads=checked_texts(trigger.reads, field="trigger.reads"),
        when=checked_text(trigger.when, field="trigger.when"),
        rating=checked_text(trigger.rating, field="trigger.rating"),
        mode=checked_choice(trigger.mode, _MODES, field="trigger.mode"),
        limits=_limits_message(trigger.limits),
        own_writes=checked_flag(trigger.own_writes, field="trigger.own_writes"),
        version=checked_count(trigger.version, field="trigger.version"),
    )
    if trigger.schedule is not None:
        message.schedule.CopyFrom(_schedule_message(trigger.schedule))
    return message


def trigger_of(message: wire.Trigger) -> Trigger:
    """The trigger that the wire holds."""
    return Trigger(
        id=last_part(message.name),
        on=tuple(_source_of(source) for source in message.on),
        reads=tuple(message.reads),
        when=message.when,
        rating=message.rating,
        mode=_MODE_OF.get(message.mode, Mode.EDGE),
        schedule=_schedule_of(message.schedule) if message.HasField("schedule") else None,
        limits=_limits_of(message.limits),
        space=space_of(message.space),
        team=message.team,
        own_writes=message.own_writes,
        version=message.version,
        agent=message.agent,
        suspended=message.suspended,
        statistics=_statistics_of(message.statistics),
        next_due_at=optional_time(message, "next_due_time"),
    )


def trial_of(message: wire.TryTriggerResponse) -> Trial:
    """The trial that the wire holds."""
    return Trial(
        revision=message.header.revision,
        would_fire=message.would_fire,
        evaluations=tuple(_evaluation_of(each) for each in message.evaluations),
    )


def _source_message(source: str | Source) -> wire.TriggerSource:
    checked_type(source, (str, Source), field="trigger.on")
    if isinstance(source, str):
        source = Source(source)
    return wire.TriggerSource(
        pattern=checked_text(source.pattern, field="trigger.on"),
        kinds=kind_numbers(source.kinds, field="trigger.on.kinds"),
        change_types=change_numbers(source.changes, field="trigger.on.changes"),
    )


def _source_of(message: wire.TriggerSource) -> Source:
    kinds: list[Kind] = [kind_of(number) for number in message.kinds]
    changes: list[ChangeType] = [change_type_of(number) for number in message.change_types]
    return Source(message.pattern, tuple(kinds), tuple(changes))


def _schedule_message(schedule: Schedule) -> wire.Schedule:
    checked_type(schedule, Schedule, field="schedule")
    message = wire.Schedule(time_zone=checked_text(schedule.time_zone, field="schedule.time_zone"))
    if schedule.at is not None:
        message.at.CopyFrom(timestamp(schedule.at, field="schedule.at"))
    if schedule.cron != "":
        message.cron = checked_text(schedule.cron, field="schedule.cron")
    return message


def _schedule_of(message: wire.Schedule) -> Schedule:
    return Schedule(optional_time(message, "at"), message.cron, message.time_zone or "UTC")


def _limits_message(limits: Limits) -> wire.TriggerLimits:
    checked_type(limits, Limits, field="limits")

    def count(name: str) -> int:
        said = getattr(limits, name)
        return 0 if said is None else checked_count(said, field=f"limits.{name}", most=INT32_MAX)

    message = wire.TriggerLimits(
        attempts_max=count("attempts_max"),
        concurrency_max=count("concurrency_max"),
        binding_concurrency_max=count("binding_concurrency_max"),
        causal_depth_max=count("causal_depth_max"),
        firings_per_minute_max=count("firings_per_minute_max"),
    )
    for length, place, name in (
        (limits.lease_seconds, message.lease, "lease_seconds"),
        (limits.backoff_seconds, message.backoff, "backoff_seconds"),
        (limits.cooldown_seconds, message.cooldown, "cooldown_seconds"),
        (limits.start_deadline_seconds, message.start_deadline, "start_deadline_seconds"),
        (limits.run_deadline_seconds, message.run_deadline, "run_deadline_seconds"),
    ):
        if length is not None:
            place.CopyFrom(duration(length, field=f"limits.{name}"))
    return message


def _limits_of(message: wire.TriggerLimits) -> Limits:
    return Limits(
        lease_seconds=seconds_of(message.lease) if message.HasField("lease") else None,
        attempts_max=message.attempts_max or None,
        backoff_seconds=seconds_of(message.backoff) if message.HasField("backoff") else None,
        concurrency_max=message.concurrency_max or None,
        binding_concurrency_max=message.binding_concurrency_max or None,
        cooldown_seconds=seconds_of(message.cooldown) if message.HasField("cooldown") else None,
        start_deadline_seconds=(
            seconds_of(message.start_deadline) if message.HasField("start_deadline") else None
        ),
        run_deadline_seconds=(
            seconds_of(message.run_deadline) if message.HasField("run_deadline") else None
        ),
        causal_depth_max=message.causal_depth_max or None,
        firings_per_minute_max=message.firings_per_minute_max or None,
    )


def _statistics_of(message: wire.TriggerStatistics) -> Statistics:
    return Statistics(
        fired=message.fired,
        completed=message.completed,
        failed=message.failed,
        expired_leases=message.expired_leases,
        obviated=message.obviated,
        dead=message.dead,
        overrun=message.overrun,
        errors=message.errors,
        last_error=message.last_error,
        last_fired_at=optional_time(message, "last_fire_time"),
    )


def _evaluation_of(message: wire.Evaluation) -> Evaluation:
    return Evaluation(
        key=message.key,
        bind=dict(message.bind),
        verdict=_VERDICT_OF.get(message.verdict, Verdict.UNKNOWN),
        rating=message.rating,
        reason=message.reason,
        read_keys=tuple(message.read_keys),
    )
