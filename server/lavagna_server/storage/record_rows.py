"""What is configured, as rows and back: boards, regions, agents and triggers."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from lavagna_server.domain.agents import Agent, Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import ChangeType, Kind, SpaceName
from lavagna_server.domain.keys import Pattern
from lavagna_server.domain.merging.rules import MergeRules
from lavagna_server.domain.regions import Electorate, Merging, Policy, Region, Retention, Voters
from lavagna_server.domain.schedules import Schedule
from lavagna_server.domain.standings import Standing
from lavagna_server.domain.triggers import Mode, Source, Statistics, Trigger, TriggerLimits
from lavagna_server.domain.weighing.calibration import Calibration
from lavagna_server.storage.damage import of_row
from lavagna_server.storage.rows import Cells, Row, micros, micros_or_none, moment_or_none

_MICROSECOND = timedelta(microseconds=1)
_DURATIONS = frozenset({"lease", "backoff", "cooldown", "start_deadline", "run_deadline"})
_encoded = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def board_cells(board: Board) -> Cells:
    """A board's row."""
    return (
        board.name,
        board.epoch,
        board.display_name,
        board.cascade_max,
        board.rating_min,
        board.version,
        micros_or_none(board.created_at),
    )


@of_row
def board_of(row: Row) -> Board:
    """The board of a row."""
    name, epoch, display_name, cascade_max, rating_min, version, created_at = row
    return Board(
        name, epoch, display_name, cascade_max, rating_min, version, moment_or_none(created_at)
    )


def region_cells(region: Region) -> Cells:
    """A region's row."""
    return (
        region.board,
        region.path,
        region.owner,
        _encoded(region.readers),
        _encoded(region.writers),
        region.policy.value,
        region.schema_json,
        duration(region.retention.age),
        region.retention.versions_max,
        region.version,
        region.oldest,
        _electorate_text(region.electorate),
        _merging_text(region.merging),
    )


@of_row
def region_of(row: Row) -> Region:
    """The region of a row."""
    (
        board,
        path,
        owner,
        readers,
        writers,
        policy,
        schema_json,
        age,
        versions_max,
        version,
        oldest,
        electorate,
        merging,
    ) = row
    return Region(
        board,
        path,
        owner,
        tuple(json.loads(readers)),
        tuple(json.loads(writers)),
        Policy(policy),
        schema_json,
        Retention(_timedelta(age), versions_max),
        version,
        oldest,
        _electorate_of(electorate),
        _merging_of(merging),
    )


def agent_cells(agent: Agent) -> Cells:
    """An agent's row."""
    return (
        agent.board,
        agent.name,
        int(agent.role),
        _encoded(agent.teams),
        agent.token_hash,
        agent.revoked,
        micros_or_none(agent.created_at),
        agent.version,
    )


@of_row
def agent_of(row: Row) -> Agent:
    """The agent of a row."""
    board, name, role, teams, token_hash, revoked, created_at, version = row
    return Agent(
        board,
        name,
        Role(role),
        tuple(json.loads(teams)),
        token_hash,
        bool(revoked),
        moment_or_none(created_at),
        version,
    )


def standing_cells(standing: Standing) -> Cells:
    """A standing's row."""
    calibrations = {path: each.to_json() for path, each in standing.calibrations.items()}
    return (
        standing.board,
        standing.agent,
        standing.trust,
        standing.group,
        standing.version,
        _encoded(calibrations),
    )


@of_row
def standing_of(row: Row) -> Standing:
    """The standing of a row."""
    board, agent, trust, group, version, text = row
    stored: dict[str, str] = json.loads(text)
    calibrations = {
        path: Calibration.from_json(each, field=f"calibrations[{path}]")
        for path, each in stored.items()
    }
    return Standing(board, agent, trust, group, version, calibrations)


def trigger_cells(trigger: Trigger) -> Cells:
    """A trigger's row."""
    return (
        *trigger.space,
        trigger.name,
        trigger.agent,
        trigger.team,
        _encoded([_source_json(source) for source in trigger.on]),
        _encoded([pattern.text for pattern in trigger.reads]),
        trigger.when,
        trigger.rating,
        trigger.mode.value,
        _schedule_text(trigger.schedule),
        limits_text(trigger.limits),
        trigger.own_writes,
        trigger.suspended,
        trigger.version,
        _statistics_text(trigger.statistics),
        micros_or_none(trigger.next_due_at),
    )


@of_row
def trigger_of(row: Row) -> Trigger:
    """The trigger of a row."""
    (
        board,
        owner,
        name,
        agent,
        team,
        sources,
        reads,
        when,
        rating,
        mode,
        schedule,
        limits,
        *rest,
    ) = row
    own_writes, suspended, version, statistics, next_due_at = rest
    return Trigger(
        SpaceName(board, owner),
        name,
        agent,
        team,
        tuple(_source_of(source) for source in json.loads(sources)),
        tuple(_pattern_of(text) for text in json.loads(reads)),
        when,
        rating,
        Mode(mode),
        _schedule_of(schedule),
        limits_of(limits),
        bool(own_writes),
        bool(suspended),
        version,
        _statistics_of(statistics),
        moment_or_none(next_due_at),
    )


@lru_cache(maxsize=1_024)  # all activations of a trigger share its limits
def limits_text(limits: TriggerLimits) -> str:
    """A trigger's limits as they are stored: by name, so that a limit that comes later has its default."""
    return _encoded({each.name: _stored(getattr(limits, each.name)) for each in fields(limits)})


@lru_cache(maxsize=1_024)
def limits_of(text: str) -> TriggerLimits:
    """Stored limits of a trigger."""
    limits: dict[str, Any] = json.loads(text)
    for name in _DURATIONS & limits.keys():
        if limits[name] is not None:
            limits[name] = timedelta(microseconds=limits[name])
    return TriggerLimits(**limits)


def duration(length: timedelta | None) -> int | None:
    """A duration as it is stored."""
    return None if length is None else length // _MICROSECOND


def _timedelta(number: int | None) -> timedelta | None:
    return None if number is None else timedelta(microseconds=number)


def _stored(value: object) -> object:
    if isinstance(value, timedelta):
        return duration(value)
    return micros(value) if isinstance(value, datetime) else value


def _electorate_text(electorate: Electorate) -> str:
    if electorate == Electorate():
        return ""
    stored = {each.name: _stored(getattr(electorate, each.name)) for each in fields(electorate)}
    return _encoded(stored | {"voters": [asdict(each) for each in electorate.voters]})


def _electorate_of(text: str) -> Electorate:
    if not text:
        return Electorate()
    stored: dict[str, Any] = json.loads(text)
    stored["voters"] = tuple(Voters(**each) for each in stored["voters"])
    stored["deadline"] = timedelta(microseconds=stored["deadline"])
    return Electorate(**stored)


def _merging_text(merging: Merging) -> str:
    return "" if merging == Merging() else _encoded(asdict(merging))


def _merging_of(text: str) -> Merging:
    if not text:
        return Merging()
    stored: dict[str, Any] = json.loads(text)
    return Merging(MergeRules(**stored["rules"]), stored["group_cap"], tuple(stored["reconcilers"]))


def _statistics_text(statistics: Statistics) -> str:
    return _encoded(
        {each.name: _stored(getattr(statistics, each.name)) for each in fields(statistics)}
    )


def _statistics_of(text: str) -> Statistics:
    stored = json.loads(text)
    return Statistics(**stored | {"last_fired_at": moment_or_none(stored["last_fired_at"])})


def _source_json(source: Source) -> list[Any]:
    return [
        source.pattern.text,
        sorted(kind.value for kind in source.kinds),
        sorted(change.value for change in source.changes),
    ]


def _source_of(stored: list[Any]) -> Source:
    text, kinds, changes = stored
    return Source(
        _pattern_of(text), frozenset(map(Kind, kinds)), frozenset(map(ChangeType, changes))
    )


def _pattern_of(text: str) -> Pattern:
    return Pattern(text, tuple(text.split("/")))


def _schedule_text(schedule: Schedule | None) -> str | None:
    return (
        None
        if schedule is None
        else _encoded([micros_or_none(schedule.at), schedule.cron, schedule.time_zone])
    )


def _schedule_of(text: str | None) -> Schedule | None:
    if text is None:
        return None
    at, cron, time_zone = json.loads(text)
    return Schedule(moment_or_none(at), cron, time_zone)
