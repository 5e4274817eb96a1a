"""Desks: agents at work on an engine, without a wire between; and the engine they work on.

For tests that move the clock, look inside a commit, or run the same on every store.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from lavagna_server.clocks import ManualClock
from lavagna_server.conditions.cel import CelConditions
from lavagna_server.conditions.schemas import JsonSchemas
from lavagna_server.domain.agenda import Activation, ActivationState
from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import (
    Change,
    Commit,
    Condition,
    Entry,
    EntryId,
    Kind,
    Operation,
    Request,
    SpaceName,
)
from lavagna_server.domain.keys import parse_pattern
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.positions import Target
from lavagna_server.domain.regions import Region
from lavagna_server.domain.triggers import Mode, Source, Trigger, TriggerId, TriggerLimits
from lavagna_server.domain.values import Form, Value
from lavagna_server.engine.activations import Acquired
from lavagna_server.engine.calls import Call
from lavagna_server.engine.commits import Written
from lavagna_server.engine.engine import Engine, EngineOptions
from lavagna_server.engine.grants import Leased
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.engine.watcher import Message, Watcher
from lavagna_server.engine.watches import Start
from lavagna_server.engine.workspace import Workspace
from lavagna_server.ports.faults import Faults
from lavagna_server.ports.store import Store

T = TypeVar("T")

BOARD = "main"
LIMITS = Limits()
_requests = itertools.count()


def note(key: str) -> EntryId:
    """The name of a note."""
    return EntryId(Kind.NOTE, key)


def json_value(value: object) -> Value:
    """A JSON value."""
    return Value(Form.JSON, json.dumps(value))


def put(
    key: str, value: object, *, expected: int | None = None, overwrite: bool = False, **more: Any
) -> Change:
    """A change that stores a JSON value."""
    return Change(note(key), Operation.PUT, json_value(value), expected, overwrite, **more)


def delete(key: str, *, expected: int | None = None, overwrite: bool = True) -> Change:
    """A change that deletes an entry."""
    return Change(note(key), Operation.DELETE, None, expected, overwrite)


@dataclass
class Desk:
    """One agent at work on one board."""

    engine: Engine
    agent: str
    role: Role = Role.ADMIN
    teams: frozenset[str] = field(default_factory=frozenset[str])
    board: str = BOARD

    @property
    def caller(self) -> Caller:
        """Who calls."""
        return Caller(self.board, self.agent, self.role, self.teams)

    @property
    def shared(self) -> SpaceName:
        """The crew's log."""
        return SpaceName(self.board)

    @property
    def private(self) -> SpaceName:
        """The agent's own log."""
        return SpaceName(self.board, self.agent)

    def call(self, request_id: str | None = None, fingerprint: bytes = b"same") -> Call[Any, Any]:
        """A call whose response is the domain's own result; recorded responses cannot be decoded."""

        def refuse(_: bytes) -> Any:
            raise AssertionError("a recorded response was asked for")

        name = f"r{next(_requests)}" if request_id is None else request_id
        return Call(self.caller, name, fingerprint, lambda result: result, lambda _: b"", refuse)

    async def commit(
        self,
        *changes: Change,
        conditions: Sequence[Condition] = (),
        otherwise: Sequence[Change] = (),
        space: SpaceName | None = None,
        token: str = "",
    ) -> Written:
        """Commits changes to the shared space, or to another."""
        call = self.call()
        request = Request(
            space or self.shared,
            tuple(changes),
            tuple(conditions),
            tuple(otherwise),
            call.request_id,
        )
        written: Written = await self.engine.commits.commit(call, request, token=token)
        return written

    async def put(self, key: str, value: object, **more: Any) -> Entry:
        """Stores a JSON value; overwrites unless a version is expected."""
        space = more.pop("space", None)
        token = more.pop("token", "")
        more.setdefault("overwrite", "expected" not in more)
        written = await self.commit(put(key, value, **more), space=space, token=token)
        return entries_of(written)[0]

    async def get(self, key: str, *, at: int = 0, space: SpaceName | None = None) -> Entry:
        """An entry, now or as of a revision."""
        read = await self.engine.reads.get(
            self.caller, space or self.shared, note(key), ReadPoint(at)
        )
        return read.entry

    async def trigger(self, name: str, *patterns: str, **more: Any) -> Trigger:
        """Sets a trigger on the shared space."""
        limits = TriggerLimits(**more.pop("limits", {}))
        reads = tuple(
            parse_pattern(text, field="reads", limits=LIMITS) for text in more.pop("reads", ())
        )
        changes = frozenset(more.pop("changes", ()))
        sources = tuple(
            Source(parse_pattern(text, field="on", limits=LIMITS), changes=changes)
            for text in patterns
        )
        space = more.pop("space", self.shared)
        mode = more.pop("mode", Mode.EDGE)
        draft = Trigger(
            space, name, self.agent, on=sources, reads=reads, limits=limits, mode=mode, **more
        )
        trigger: Trigger = await self.engine.triggers.set(self.call(), draft, expected_version=0)
        return trigger

    async def acquire(self, *, most: int = 1, triggers: Sequence[str] = ()) -> tuple[Leased, ...]:
        """Leases what there is now, without waiting."""
        acquired: Acquired = await self.engine.activations.acquire(
            self.call(),
            most=most,
            wait=timedelta(0),
            triggers=frozenset(triggers),
            until=asyncio.Event(),
        )
        return acquired.leases

    async def acquire_one(self) -> Leased:
        """The one activation that there is."""
        (leased,) = await self.acquire(most=10)
        return leased

    async def complete(self, leased: Leased, *changes: Change, **more: Any) -> Written:
        """Completes an activation with writes."""
        request = Request(self.shared, tuple(changes), **more)
        written: Written = await self.engine.activations.complete(
            self.call(), str(leased.activation.token), request
        )
        return written

    async def fail(
        self, leased: Leased, reason: str = "broken", *, final: bool = False
    ) -> Activation:
        """Gives up an attempt."""
        activation: Activation = await self.engine.activations.fail(
            self.call(), str(leased.activation.token), reason=reason, retry_after=None, final=final
        )
        return activation

    async def activations(
        self, *states: ActivationState, trigger: str = ""
    ) -> Sequence[Activation]:
        """The shared space's activations, the newest first."""
        return await self.engine.activations.list(
            self.caller,
            self.shared,
            states=frozenset(states),
            trigger=trigger,
            below_number=0,
            size=1_000,
        )

    async def statistics(self, trigger: str) -> Any:
        """A trigger's statistics."""
        found = await self.engine.triggers.get(self.caller, TriggerId(self.shared, trigger))
        return found.statistics

    async def region(self, path: str, **more: Any) -> Region:
        """Sets a region."""
        region: Region = await self.engine.regions.set(
            self.call(), Region(self.board, path, **more), expected_version=0
        )
        return region

    async def commits(self) -> Sequence[Commit]:
        """All commits of the shared space."""
        return await self.engine.readers.run(
            lambda snapshot: snapshot.commits(
                self.shared, after=0, limit=100_000, bytes_max=1 << 30
            )
        )

    async def watch(
        self, *patterns: str, start: Start | None = None, space: SpaceName | None = None
    ) -> Watcher:
        """Opens a watcher on the shared space."""
        targets = tuple(
            Target(space or self.shared, parse_pattern(text, field="pattern", limits=LIMITS))
            for text in patterns or ("**",)
        )
        return await self.engine.watches.open(self.caller, targets, start or Start())


def entries_of(written: Written) -> tuple[Entry, ...]:
    """The entries that a commit made."""
    assert written.plan.commit is not None
    return written.plan.commit.entries


def revisions(messages: Sequence[Message]) -> list[int]:
    """The revisions of all commits in messages."""
    return [seen.commit.revision for message in messages for seen in message.commits]


def bind_of(leased: Leased) -> Mapping[str, str]:
    """What the trigger's pattern bound."""
    return leased.activation.bind


@asynccontextmanager
async def running(
    store: Store,
    clock: ManualClock,
    *,
    options: EngineOptions | None = None,
    board: bool = True,
    faults: Faults | None = None,
) -> AsyncGenerator[Engine]:
    """An engine at work on a store, with a board called `main`."""
    options = options or EngineOptions()
    conditions, schemas = CelConditions(options.limits), JsonSchemas(options.limits)
    engine = Engine(store, clock, conditions, schemas, options, faults=faults)
    await engine.start()
    clock.settle_with(engine.settled)
    try:
        if board and BOARD not in engine.catalog.boards:
            await engine.boards.create(Desk(engine, "root").call(), Board(BOARD, ""))
        yield engine
    finally:
        await engine.stop()


async def in_one_group(engine: Engine, *calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """What calls come to that the writer carries out in one group, in this order; errors as values."""
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def hold_up(_: Workspace) -> None:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(30)

    holding = asyncio.ensure_future(engine.writer.perform(hold_up))
    await begun.wait()
    tasks: list[asyncio.Task[Any]] = []
    for call in calls:
        tasks.append(asyncio.ensure_future(call))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(holding, return_exceptions=True)
    return await asyncio.gather(*tasks, return_exceptions=True)
