"""Symptoms: what can be wrong with a server's data, and how each is told. Looks, and changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path

from lavagna_server.domain.agenda import OPEN_STATES, Activation, ActivationFilter, ActivationState
from lavagna_server.domain.agents import Agent, Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.triggers import Trigger
from lavagna_server.engine.identity import token_hash
from lavagna_server.ports.store import Order, Snapshot
from lavagna_server.storage.damage import RESTORE, Damaged
from lavagna_server.storage.sqlite.inspection import Inspection
from lavagna_server.storage.verification import Progress

SLACK = timedelta(minutes=1)
"""How far clocks and upkeep may be off before that is a symptom."""
ACTIVATIONS_MAX = 100_000
OTHERS_MAY = 0o077


class Area(Enum):
    """What part of the data a finding is about."""

    FILES = "files"
    LOG = "log"
    LEASES = "leases"
    TRIGGERS = "triggers"
    TOKENS = "tokens"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be."""

    area: Area
    what: str
    remedy: str
    """What can be done about it."""
    is_repaired: bool = False
    """Whether this run did it."""
    is_beyond_repair: bool = False
    """Whether the database cannot be read, so that nothing in it is touched."""


REPAIR = "doctor --repair, with the server stopped"


def readable_by_others(data_dir: Path) -> Iterator[Path]:
    """The directory and the files in it that other users of the machine can use."""
    for path in (data_dir, *sorted(data_dir.iterdir())):
        if path.stat().st_mode & OTHERS_MAY:
            yield path


def of_files(data_dir: Path, inspection: Inspection) -> Iterator[Finding]:
    """Of the files themselves."""
    shared = list(readable_by_others(data_dir))
    # Behind a closed door, what the files allow does not matter.
    if data_dir in shared:
        for path in shared:
            yield Finding(
                Area.FILES,
                f"{path} can be used by other users of this machine",
                f"{REPAIR}, or chmod",
            )
    for damage in inspection.damage():
        yield of_damage(Damaged(f"the database is damaged: {damage}"))


def of_damage(damage: Damaged) -> Finding:
    """Of data that cannot be read."""
    return Finding(Area.FILES, damage.what, damage.remedy, is_beyond_repair=True)


def of_log(inspection: Inspection, progress: Progress | None) -> Iterator[Finding]:
    """Of the logs, and of what is derived from them."""
    for fault in inspection.verify(progress):
        remedy = REPAIR if " head" in fault.fault else RESTORE
        yield Finding(Area.LOG, str(fault), remedy)


def stuck(
    snapshot: Snapshot, now: datetime, *, is_served: bool
) -> Iterator[tuple[Activation, str]]:
    """The leases that will not end as they should, and why; a server that stops leaves leases that its successor extends."""
    where = ActivationFilter(states=frozenset({ActivationState.LEASED}))
    for activation in snapshot.activations(where, order=Order.NEWEST, limit=ACTIVATIONS_MAX):
        lease = activation.lease
        if lease is None:
            yield activation, "is leased, but to nobody"
        elif lease.expires_at > now + lease.duration + SLACK:
            yield (
                activation,
                f"is leased until {_told(lease.expires_at)}, beyond its duration: the clock was set back",
            )
        elif is_served and lease.expires_at < now - SLACK:
            yield activation, f"is leased until {_told(lease.expires_at)}, which is past"


def of_leases(snapshot: Snapshot, now: datetime, *, is_served: bool) -> Iterator[Finding]:
    """Of leases."""
    for activation, why in stuck(snapshot, now, is_served=is_served):
        yield Finding(
            Area.LEASES, f"activation {activation.id} of {activation.trigger} {why}", REPAIR
        )


def dangling(snapshot: Snapshot) -> Iterator[Activation]:
    """The open activations of triggers that there are not."""
    known = {trigger.id for trigger in snapshot.records(Trigger)}
    where = ActivationFilter(states=OPEN_STATES)
    for activation in snapshot.activations(where, order=Order.NEWEST, limit=ACTIVATIONS_MAX):
        if activation.trigger_id not in known:
            yield activation


def of_triggers(inspection: Inspection) -> Iterator[Finding]:
    """Of what remains of triggers."""
    for activation in dangling(inspection.snapshot):
        what = f"activation {activation.id} waits for {activation.trigger}, a trigger that there is not"
        yield Finding(Area.TRIGGERS, what, REPAIR)
    for (space, name), count in inspection.orphaned_edges():
        what = f"{count} edges in {space} are remembered for {name}, a trigger that there is not"
        yield Finding(Area.TRIGGERS, what, REPAIR)


def of_tokens(snapshot: Snapshot, admin_token: str | None) -> Iterator[Finding]:
    """Of tokens; `admin_token` is what the administrator's file says, None when there is none."""
    proven = [agent for agent in snapshot.records(Agent) if agent.token_hash and not agent.revoked]
    shared = [
        digest
        for digest, count in Counter(agent.token_hash for agent in proven).items()
        if count > 1
    ]
    for digest in shared:
        names = ", ".join(
            f"{agent.board}/{agent.name}" for agent in proven if agent.token_hash == digest
        )
        yield Finding(
            Area.TOKENS, f"one token is that of several agents: {names}", "rotate their tokens"
        )
    if admin_token is None:
        return
    if not any(agent.token_hash == token_hash(admin_token) for agent in proven):
        yield Finding(Area.TOKENS, "the administrator's file has a token that is not valid", REPAIR)
    elif not any(agent.role is Role.ADMIN for agent in proven):
        yield Finding(Area.TOKENS, "no administrator has a valid token", REPAIR)


def of_clock(snapshot: Snapshot, now: datetime) -> Iterator[Finding]:
    """Of times that have not come."""
    for board in snapshot.records(Board):
        for space in snapshot.spaces(board.name):
            at = space.committed_at
            if at is not None and at > now + SLACK:
                what = (
                    f"the newest commit of {space.name} was made at {_told(at)}, which has not come"
                )
                yield Finding(
                    Area.CLOCK,
                    what,
                    "set the system's clock: until then, commits all bear that time",
                )


def _told(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
