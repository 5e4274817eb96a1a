"""Upkeep: what happens because time passes, each as an ordinary operation of the writer.

Entries expire, leases run out, waits and holds end, start deadlines pass, schedules fall due, retention gives history up, and records of requests are forgotten.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from lavagna_server.domain.agenda import (
    ActivationFilter,
    ActivationState,
    finished,
    lease_expired,
    offered,
)
from lavagna_server.domain.consensus.pens import Pen
from lavagna_server.domain.consensus.settling import Step, overdue
from lavagna_server.domain.decisions import pen_for
from lavagna_server.domain.entries import (
    ChangeType,
    Entry,
    Kind,
    Occasion,
    SpaceName,
)
from lavagna_server.domain.regions import Region, Retention
from lavagna_server.domain.triggers import Trigger
from lavagna_server.engine.boards import note_compaction
from lavagna_server.engine.commits import Log
from lavagna_server.engine.controller import Controller
from lavagna_server.engine.evaluation import Subject, Verdict
from lavagna_server.engine.firing import Spark, count, fire, note_error
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.workspace import Workspace
from lavagna_server.ports.store import Order, Subtree

BATCH = 128
"""How many expiries one operation carries out, so that upkeep never holds up a group for long."""
CLAIMS_BATCH = 8
"""How many of them may be claims, each of which makes a merge anew."""
CHORES_EVERY = timedelta(minutes=1)
"""How often retention and the records of requests are looked at."""

_log = logging.getLogger(__name__)


class Upkeep:
    """Sleeps until something is due, and carries it out."""

    def __init__(
        self, ground: Ground, log: Log, controller: Controller, *, requests_kept: timedelta
    ) -> None:
        self._writer, self._readers, self._catalog = ground.writer, ground.readers, ground.catalog
        self._commits, self._controller = log, controller
        self._clock, self._requests_kept = ground.clock, requests_kept
        self._started_at = ground.clock.now()
        self._chores_at = ground.clock.now() + CHORES_EVERY
        self._deadline: datetime | None = None
        self._earlier = asyncio.Event()
        self._asleep = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Extends the leases that ran when the last server stopped (A5), and begins to watch the time."""
        await self._writer.perform(self._extend_leases)
        self._task = asyncio.create_task(self._run(), name="lavagna-upkeep")

    async def stop(self) -> None:
        """Stops watching the time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def notice(self, deadline: datetime) -> None:
        """Makes sure that upkeep looks at `deadline` at the latest."""
        if self._deadline is None or deadline < self._deadline:
            self._deadline = deadline
            self._earlier.set()

    async def settled(self) -> None:
        """Carries out what is due now and returns when upkeep sleeps again; for clocks that are moved by hand."""
        await self.look()
        while self._task is not None and not self._task.done() and self._earlier.is_set():  # noqa: ASYNC110 (turns of the loop, not time)
            await asyncio.sleep(0)
        if self._task is not None and not self._task.done():
            await self._asleep.wait()
            await asyncio.sleep(0)  # lets the sleep itself begin

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:  # noqa: BLE001 (reported, and tried again)
                # A store that refuses for a while must not end upkeep; it looks again at the next chance.
                _log.exception("upkeep failed")
                self._deadline = self._clock.now() + timedelta(seconds=1)
            await self._sleep()

    async def look(self) -> None:
        """Carries out everything that is due now."""
        self._deadline = None
        more, upcoming = True, None
        while more:
            more, upcoming = await self._writer.perform(self._tick)
        if self._clock.now() >= self._chores_at:
            self._chores_at = self._clock.now() + CHORES_EVERY
            await self._do_chores()
        self.notice(min(upcoming, self._chores_at) if upcoming is not None else self._chores_at)
        for slot in self._slots():
            self.notice(slot)

    def _slots(self) -> list[datetime]:
        boards = list(self._catalog.boards.values())
        slots = [trigger.next_due_at for board in boards for trigger in list(board.due.values())]
        return [slot for slot in slots if slot is not None]

    async def _sleep(self) -> None:
        """Until the deadline, or until an earlier one is noticed."""
        while self._deadline is not None and self._clock.now() < self._deadline:
            self._earlier.clear()
            sleep = asyncio.ensure_future(self._clock.sleep_until(self._deadline))
            earlier = asyncio.ensure_future(self._earlier.wait())
            self._asleep.set()
            try:
                await asyncio.wait([sleep, earlier], return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._asleep.clear()
                sleep.cancel()
                earlier.cancel()

    def _tick(self, work: Workspace) -> tuple[bool, datetime | None]:
        """One batch of what is due: whether there may be more, and what comes next when there is not."""
        moved = self._expire_entries(work)
        moved += self._end_waits(work)
        moved += self._fire_due(work)
        return moved > 0, work.transaction.next_deadline(work.now)

    def _extend_leases(self, work: Workspace) -> None:
        for activation in work.agenda.select(
            _in(ActivationState.LEASED), order=Order.AGENDA, limit=1_000_000
        ):
            lease = activation.lease
            assert lease is not None
            # By this clock alone: the one that set the old time may have been ahead.
            until = work.now + lease.duration
            work.agenda.put(replace(activation, lease=replace(lease, expires_at=until)))

    def _expire_entries(self, work: Workspace) -> int:
        """Ends entries whose time has come, and decides on proposals at their deadline: one commit per space."""
        ending: dict[SpaceName, list[Entry]] = {}
        due = _batch(work.transaction.expiring(work.now, BATCH))
        # What ends at one moment ends in one order on every store: of two proposals that exclude each other the older wins.
        for name, stored in sorted(due, key=lambda each: (each[1].expires_at, each[1].id)):
            entry = work.newest(name, stored.id)
            if (
                name.board in work.catalog.boards
                and entry is not None
                and entry.version == stored.version
            ):
                ending.setdefault(name, []).append(entry)
        for name, entries in ending.items():
            state = self._commits.state(work, name)
            pen = pen_for(state.space, "", work.now, None)
            self._commits.conclude(
                work,
                name,
                [_expired(entry, pen) for entry in entries if entry.kind is not Kind.PROPOSAL],
                [overdue(state, entry) for entry in entries if entry.kind is Kind.PROPOSAL],
                author="",
                occasion=Occasion.EXPIRY,
            )
        return len(due)

    def _end_waits(self, work: Workspace) -> int:
        """Leases that ran out, start deadlines that passed, holds and waits that ended."""
        leases = replace(_in(ActivationState.LEASED), lease_expired_by=work.now)
        ran_out = work.agenda.select(leases, order=Order.AGENDA, limit=BATCH)
        for activation in ran_out:
            after = lease_expired(activation, now=work.now)
            work.agenda.put(after)
            count(
                work,
                activation,
                expired_leases=1,
                dead=int(after.state is ActivationState.DEAD),
            )
        late = replace(_in(ActivationState.WAITING, ActivationState.HELD), start_due_by=work.now)
        expired = work.agenda.select(late, order=Order.AGENDA, limit=BATCH)
        for activation in expired:
            reason = "nobody acquired it before its start deadline"
            work.agenda.put(
                finished(activation, ActivationState.EXPIRED, now=work.now, reason=reason)
            )
        held = replace(_in(ActivationState.HELD), wait_ended_by=work.now)
        let_go = work.agenda.select(held, order=Order.AGENDA, limit=BATCH)
        for activation in let_go:
            work.agenda.put(offered(activation))
        # Waits that have ended need no change, but somebody may be waiting for them.
        waited = replace(_in(ActivationState.WAITING), wait_ended_by=work.now)
        for activation in work.agenda.select(waited, order=Order.AGENDA, limit=BATCH):
            work.woken.add((activation.id.space.board, activation.worker))
        return max(len(ran_out), len(expired), len(let_go))

    def _fire_due(self, work: Workspace) -> int:
        fired = 0
        for board in list(work.catalog.boards.values()):
            for trigger in list(board.due.values()):
                if trigger.next_due_at is not None and trigger.next_due_at <= work.now:
                    self._fire_slot(work, trigger, trigger.next_due_at)
                    fired += 1
        return fired

    def _fire_slot(self, work: Workspace, trigger: Trigger, first: datetime) -> None:
        """Fires for the newest slot that has come; earlier ones that were missed are folded into it."""
        assert trigger.schedule is not None
        slot = trigger.schedule.last_until(first, work.now)
        work.save(replace(trigger, next_due_at=trigger.schedule.next_after(slot)))
        evaluated = self._controller.evaluate(work, trigger, Subject(None, None, {}))
        note_error(work, trigger, evaluated)
        if evaluated.verdict is not Verdict.TRUE:
            work.closed.add(trigger.space)  # the slot no longer stands in the way of quiescence
            return
        late = slot < self._started_at
        fire(work, Spark(trigger, {}, "", None, None, evaluated.rating, slot_at=slot, late=late))

    async def _do_chores(self) -> None:
        """Each as an operation of its own, so that none holds up a group for long."""
        await self._writer.perform(self._forget_requests)
        for board in list(self._catalog.boards.values()):
            for region in list(board.regions_of(SpaceName(board.board.name))):
                if region.retention != Retention():
                    await self._retain(region)

    def _forget_requests(self, work: Workspace) -> None:
        work.transaction.forget_effects(work.now - self._requests_kept)

    async def _retain(self, region: Region) -> None:
        """Gives up what a region's retention does not keep, as a logged compaction.

        First the horizon is made known, then history goes: whoever finds something missing has been told before (S4).
        """
        thinning = await self._writer.perform(lambda work: self._mark(work, region))
        if thinning is not None:
            name, subtree, horizon = thinning
            await self._writer.perform(
                lambda work: work.transaction.compact(name, subtree, horizon)
            )

    def _mark(self, work: Workspace, seen: Region) -> tuple[SpaceName, Subtree, int] | None:
        name = SpaceName(seen.board)
        board = work.catalog.boards.get(seen.board)
        regions = list(board.regions_of(name)) if board is not None else []
        region = next((each for each in regions if each.path == seen.path), None)
        if region is None:
            return None
        retention = region.retention
        inner = tuple(each.path for each in regions if each.path.startswith(region.path + "/"))
        subtree = Subtree(region.path, inner)
        horizon = 0
        if retention.versions_max:
            horizon = work.transaction.surplus_revision(name, subtree, retention.versions_max) or 0
        if retention.age is not None:
            horizon = max(horizon, work.transaction.revision_by(name, work.now - retention.age))
        if not work.transaction.has_superseded(name, subtree, horizon):
            return None
        if horizon > region.oldest:
            work.save(replace(region, oldest=horizon))
            note_compaction(work, name, subtree, horizon, author="")
        return name, subtree, max(horizon, region.oldest)


def _batch(due: Sequence[tuple[SpaceName, Entry]]) -> list[tuple[SpaceName, Entry]]:
    """What of it one operation carries out; the rest is still due."""
    claims = [each for each in due if each[1].kind is Kind.CLAIM]
    late = {entry.id for _, entry in claims[CLAIMS_BATCH:]}
    return [each for each in due if each[1].id not in late]


def _expired(entry: Entry, pen: Pen) -> Step:
    ended = entry.ended(ChangeType.EXPIRED, revision=pen.revision, author="", at=pen.at, cause=None)
    return entry, ended


def _in(*states: ActivationState) -> ActivationFilter:
    return ActivationFilter(states=frozenset(states))
