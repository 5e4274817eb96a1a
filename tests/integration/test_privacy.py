"""A private store shows in nothing that another agent can see: the same calls, on a server with secrets and on its twin without."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from google.protobuf.message import Message

from lavagna.v1 import activations_pb2, entries_pb2, triggers_pb2, watch_pb2
from tests.integration.requests import BOARD, REQUESTS
from tests.integration.twins import (
    ACQUIRE,
    CODE,
    COMPLETE,
    MARKER,
    SET_TRIGGER,
    Crew,
    Twins,
    twin_servers,
)
from tests.wire import METHODS, Outcome

PRIVATE = entries_pb2.SPACE_PRIVATE


async def share(crew: Crew) -> None:
    """What both servers have: some shared work of alice's, and something private of bob's own."""
    await crew.commit("alice", "plan", "one")
    await crew.commit("bob", "own", "bob's", space=PRIVATE)
    assert (
        await crew.call(SET_TRIGGER, "alice", trigger(entries_pb2.SPACE_SHARED))
    ).code is CODE.OK
    await crew.commit("alice", "tasks/1", "ready")


async def hide(crew: Crew) -> None:
    """What only one server has: entries, a trigger, activations and history in alice's private store."""
    assert (await crew.call(SET_TRIGGER, "alice", trigger(PRIVATE))).code is CODE.OK
    for number in range(5):
        await crew.commit("alice", f"tasks/{MARKER}{number}", MARKER, space=PRIVATE)
    await crew.commit("alice", "own", MARKER, space=PRIVATE)
    acquire = activations_pb2.AcquireRequest(board=BOARD, count_max=100, trigger_ids=["hidden"])
    leases = (await crew.call(ACQUIRE, "alice", acquire)).response.leases
    assert len(leases) == 5
    complete = activations_pb2.CompleteRequest(board=BOARD, activation_token=leases[0].token)
    assert (await crew.call(COMPLETE, "alice", complete)).code is CODE.OK


def trigger(space: entries_pb2.Space.ValueType) -> triggers_pb2.SetTriggerRequest:
    """A trigger on alice's own writes."""
    name = "hidden" if space == PRIVATE else "on-task"
    request = triggers_pb2.SetTriggerRequest(board=BOARD, trigger_id=name)
    request.trigger.on.add(pattern="tasks/{task}")
    request.trigger.space, request.trigger.own_writes = space, True
    return request


@pytest.fixture
async def twins() -> AsyncIterator[Twins]:
    """Two servers on which the same happened, but for what alice keeps to herself on the first."""
    async with twin_servers(share, hide) as servers:
        yield servers


def attempts(method: str) -> Iterator[Message]:
    """Ways to call a method that a curious agent would try."""
    given = REQUESTS[method]
    yield given
    fields = given.DESCRIPTOR.fields_by_name
    variants: dict[str, tuple[Any, ...]] = {
        "space": (PRIVATE,),
        "name": tuple(
            f"boards/main/agents/alice/{rest}"
            for rest in ("triggers/hidden", "triggers/on-task", "activations/1", "activations/6")
        ),
        "key": ("own", f"tasks/{MARKER}0", MARKER),
        "pattern": (f"tasks/{MARKER}0", "**", f"{MARKER}/**"),
        "trigger_id": ("hidden",),
        "at_revision": (1, 5),
        "min_revision": (4,),
        "revision": (5,),
        "page_size": (1,),
        "activation_token": ("WyJtYWluIiwiYWxpY2UiLDEsMSwibiJd",),
    }
    for name, values in variants.items():
        for value in values if name in fields else ():
            request: Any = type(given)()
            request.CopyFrom(given)
            setattr(request, name, value)
            yield request
    if "targets" in fields:
        yield type(given)(board=BOARD, targets=[watch_pb2.WatchTarget(space=PRIVATE)])


def seen(outcome: Outcome, crew: Crew) -> tuple[Any, ...]:
    """All that a caller can see of a call, but for what differs between any two servers: epochs and tokens."""
    epochs = [known.board.epoch.encode() for known in crew.wire.engine.catalog.boards.values()]
    shown: list[bytes] = []
    for response in outcome.responses:
        for message in (response, *getattr(response, "responses", ())):
            if "token" in message.DESCRIPTOR.fields_by_name:
                message.ClearField("token")
            if getattr(message, "next_page_token", ""):
                place = base64.urlsafe_b64decode(message.next_page_token)
                message.next_page_token = place.decode("latin-1")
        raw = response.SerializeToString(deterministic=True)
        for epoch in epochs:
            raw = raw.replace(epoch, b"")
        shown.append(raw)
    return outcome.code, outcome.message, outcome.reason, dict(outcome.info.metadata), shown


@pytest.mark.guarantee("S8")
@pytest.mark.field_report("F16")
@pytest.mark.parametrize("method", METHODS)
async def test_no_call_of_anybody_elses_tells_of_a_private_store(twins: Twins, method: str) -> None:
    for who in ("bob", "olga", "ada", "otto"):
        for request in attempts(method):
            with_secret, without = await asyncio.gather(
                *(crew.call(method, who, request) for crew in twins)
            )
            told = seen(with_secret, twins[0])

            assert told == seen(without, twins[1]), (who, request)
            if MARKER not in str(request):
                assert MARKER not in repr(told)


@pytest.mark.guarantee("S8")
async def test_the_owner_sees_what_nobody_else_does(twins: Twins) -> None:
    listing = entries_pb2.ListRequest(board=BOARD, space=PRIVATE)
    shown = await twins[0].call("/lavagna.v1.Entries/List", "alice", listing)
    hidden = await twins[0].call("/lavagna.v1.Entries/List", "ada", listing)

    assert sum(MARKER in entry.value.text for entry in shown.response.entries) == 6
    assert list(hidden.response.entries) == []
