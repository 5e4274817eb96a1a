"""Twin servers on which bob lives the same day, while on one of them alice is busy in her private store: bob cannot tell which."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

import pytest

import lavagna
from lavagna import Board, Conflict, Entry, Put, Space, Trigger
from lavagna_server.clocks import ManualClock
from tests.wire import served

MARKER = "XYZZY"
Pause: TypeAlias = Callable[[], Awaitable[None]]
"""What happens between any two things that bob does."""


@asynccontextmanager
async def a_day() -> AsyncGenerator[tuple[Board, Board, ManualClock]]:
    """A board on a server of its own, as alice and as bob see it, and the server's clock."""
    async with served() as wire:
        address, clock = f"127.0.0.1:{wire.server.port}", wire.engine.clock
        assert isinstance(clock, ManualClock)
        async with (
            lavagna.connect(address, agent="alice", board="main") as alice,
            lavagna.connect(address, agent="bob", board="main") as bob,
        ):
            await alice.agents.hello()
            await bob.agents.hello()
            yield alice, bob, clock


async def look(alice: Board) -> None:
    """Alice finds her private store empty."""
    assert [entry async for entry in alice.private.entries()] == []


async def keep_secrets(alice: Board) -> None:
    """Alice writes, works, forgets and compacts in private, and leaves work waiting and work begun."""
    secret = alice.private
    hidden = Trigger("hidden", on=["tasks/**"], own_writes=True, space=Space.PRIVATE)
    await alice.triggers.set(hidden)
    await secret.append(f"tasks/{MARKER}", MARKER)
    for lease in await alice.activations.acquire(trigger_ids=["hidden"]):
        await alice.activations.complete(lease.token, space=Space.PRIVATE)
    await secret.append(f"tasks/{MARKER}", MARKER)
    await secret.append(f"tasks/{MARKER}", MARKER)
    await alice.activations.acquire(trigger_ids=["hidden"])
    await secret.put("log", MARKER, ttl=1, overwrite=True)
    await secret.put("tasks/0", MARKER, overwrite=True)
    await secret.delete("tasks/0", overwrite=True)
    await secret.commit(Put("log/done", MARKER, overwrite=True), request_id="bob's 0")
    await secret.compact()


async def lived(bob: Board, clock: ManualClock, pause: Pause) -> list[Any]:
    """All that bob is told in the course of a day."""
    told: list[Any] = []
    await bob.triggers.set(Trigger("work", on=["tasks/{task}"], own_writes=True))
    async with bob.watch(after=0) as watch:
        for number in range(3):
            await pause()
            told.append(await bob.commit(Put(f"tasks/{number}", 1), request_id=f"bob's {number}"))
            told.append(await bob.append("log", number))
        await pause()
        with pytest.raises(Conflict) as stale:
            await bob.put("tasks/0", 2, expected_version=7)
        told += [stale.value.message, dict(stale.value.metadata), stale.value.current]
        for _ in range(3):
            await pause()
            (lease,) = await bob.activations.acquire()
            told += [lease.activation, lease.entry]
            await pause()
            told.append(await bob.activations.complete(lease.token, [Put("log/done", 1)]))
            await bob.delete("log/done", overwrite=True)
        await clock.advance(3_600)
        await pause()
        newest = (await bob.agents.hello()).revision
        while watch.revision < newest:
            told.append(await anext(watch))
    return told + await surveyed(bob)


async def surveyed(bob: Board) -> list[Any]:
    """All that bob finds when he looks at everything, but for the board's epoch, which no two servers share."""
    welcome = await bob.agents.hello()
    told: list[Any] = [welcome.member, welcome.revision, *await bob.diff("**", 0)]
    for view in (bob, bob.private):
        told += [entry async for entry in view.entries()]
        told += [(part.last_revision, part.commits) async for part in view.export()]
    told += [entry async for entry in bob.history("tasks/0")]
    told += [each async for each in bob.activations.list()]
    told += [each async for each in bob.triggers.list()]
    told += [each async for each in bob.agents.list()]
    return told


@pytest.mark.guarantee("S8")
@pytest.mark.field_report("F16")
async def test_nothing_that_happens_in_a_private_store_is_felt_by_another_agent() -> None:
    days: list[list[Any]] = []
    hidden: list[Entry] = []
    for alice_does in (look, keep_secrets):
        async with a_day() as (alice, bob, clock):
            days.append(await lived(bob, clock, partial(alice_does, alice)))
            hidden = [entry async for entry in alice.private.entries()]

    assert hidden
    assert days[0] == days[1]
    assert MARKER not in repr(days)
