"""The writer: one thread that carries out every mutation of the server, in groups.

While one group reaches stable storage the next one gathers, so that a sync serves many commits (group commit). Nothing is acknowledged,
published or handed out before its group is durable (S2).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from lavagna_server.domain.entries import Commit, EntryId, SpaceName
from lavagna_server.domain.errors import Exhausted, ShuttingDown
from lavagna_server.engine.catalog import Catalog
from lavagna_server.engine.group import Group
from lavagna_server.engine.workspace import Workspace
from lavagna_server.ports.clock import Clock
from lavagna_server.ports.faults import Faults
from lavagna_server.ports.store import Record, Store

T = TypeVar("T")

GROUP_OPERATIONS_MAX = 512
QUEUE_OPERATIONS_MAX = 10_000


@dataclass(slots=True)
class Aftermath:
    """What a durable group means for the rest of the server."""

    commits: list[Commit] = field(default_factory=list[Commit])
    records: list[tuple[Record, bool]] = field(default_factory=list[tuple[Record, bool]])
    """What is configured otherwise now, each with whether it is removed."""
    woken: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Boards and workers for whom an activation may have become available."""
    deadline: datetime | None = None
    """The earliest moment at which upkeep has something to do because of this group."""


@dataclass(slots=True)
class _Pending(Generic[T]):
    operation: Callable[[Workspace], T]
    touches: Collection[tuple[SpaceName, EntryId]]
    answer: asyncio.Future[T]
    outcome: T | None = None
    error: BaseException | None = None

    def tell(self) -> None:
        """Gives the caller its answer, unless it has gone; the effect stands all the same."""
        if self.answer.done():
            return
        if self.error is not None:
            self.answer.set_exception(self.error)
        else:
            self.answer.set_result(cast("T", self.outcome))


class Writer:
    """Gathers operations into groups and carries each group out in one transaction."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        faults: Faults,
        settle: Callable[[Workspace], None],
        publish: Callable[[Aftermath], None],
    ) -> None:
        self._store, self._clock, self._faults = store, clock, faults
        self._draft = Catalog()
        """The configuration with what the present group changes of it; nobody else sees it before it is durable."""
        self._is_stale = True
        self._settle, self._publish = settle, publish
        self._ready = threading.Condition()
        self._queue: list[_Pending[Any]] = []
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="lavagna-writer", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begins to work for the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Finishes what was submitted, then refuses more."""
        with self._ready:
            self._stopping = True
            self._ready.notify()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)
        await asyncio.sleep(0)  # lets the last group's answers be delivered

    async def perform(
        self,
        operation: Callable[[Workspace], T],
        *,
        touches: Collection[tuple[SpaceName, EntryId]] = (),
    ) -> T:
        """Carries out an operation; returns once its group is durable.

        `touches` names entries that it will look at, which are then read together with the rest of the group's. The operation takes
        effect even when the caller is cancelled meanwhile.

        Raises:
            BoardError: What the operation raised; it then changed nothing.
            StorageFailed: The group could not be stored.
            Exhausted, ShuttingDown: It was not begun.
        """
        assert self._loop is not None
        pending: _Pending[T] = _Pending(operation, touches, self._loop.create_future())
        with self._ready:
            if self._stopping:
                raise ShuttingDown
            if len(self._queue) >= QUEUE_OPERATIONS_MAX:
                raise Exhausted(
                    "queued operations",
                    maximum=QUEUE_OPERATIONS_MAX,
                    subject="this server",
                    retry_seconds=0.1,
                )
            self._queue.append(pending)
            self._ready.notify()
        return await pending.answer

    def _run(self) -> None:
        while group := self._gather():
            self._faults.at("gathered")
            aftermath = self._carry_out(group)
            self._faults.at("before_feed")
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._deliver, group, aftermath)

    def _gather(self) -> Sequence[_Pending[Any]]:
        with self._ready:
            while not self._queue and not self._stopping:
                self._ready.wait()
            taken, self._queue = (
                self._queue[:GROUP_OPERATIONS_MAX],
                self._queue[GROUP_OPERATIONS_MAX:],
            )
            return taken

    def _carry_out(self, pending: Sequence[_Pending[Any]]) -> Aftermath:
        aftermath = Aftermath()
        try:
            self._load()
            with self._store.transaction() as transaction:
                group = Group(transaction, self._draft, self._clock.now())
                group.prefetch([touch for each in pending for touch in each.touches])
                for each in pending:
                    self._attempt(group, each, aftermath)
                self._faults.at("in_transaction")
                if not group.overlay.is_empty:
                    transaction.write(group.overlay.changes())
                self._faults.at("before_sync")
            self._faults.at("after_sync")
        except Exception as error:  # noqa: BLE001 (the group's boundary: every waiting caller is told)
            self._undo(pending, error)
            return Aftermath()
        aftermath.commits = group.overlay.commits
        aftermath.records = group.overlay.records
        return aftermath

    def _load(self) -> None:
        """Reads the configuration, at first and whenever it holds what was never stored."""
        if self._is_stale:
            with self._store.snapshot() as snapshot:
                self._draft.load(snapshot)
            self._is_stale = False

    def _attempt(self, group: Group, pending: _Pending[Any], aftermath: Aftermath) -> None:
        work = Workspace(group)
        try:
            pending.outcome = pending.operation(work)
            self._settle(work)
        except Exception as error:  # noqa: BLE001 (an operation's failure is its caller's, not its neighbours')
            pending.error = error
            return
        work.succeed()
        aftermath.woken |= work.woken
        if work.deadlines:
            earliest = min(work.deadlines)
            aftermath.deadline = (
                min(aftermath.deadline, earliest) if aftermath.deadline else earliest
            )

    def _undo(self, pending: Sequence[_Pending[Any]], error: Exception) -> None:
        # Also what an operation refused by itself may speak of commits of this group, which never were.
        for each in pending:
            each.error = error
        self._is_stale = True

    def _deliver(self, group: Sequence[_Pending[Any]], aftermath: Aftermath) -> None:
        try:
            self._publish(aftermath)
        finally:
            for each in group:
                each.tell()
            self._faults.at("acknowledged")
