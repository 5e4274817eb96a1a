"""Work as a scripted peer hands it out: a welcome for ada, leases, and answers to heartbeats."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from lavagna import Retry
from lavagna.v1 import activations_pb2 as wire
from lavagna.v1 import agents_pb2, entries_pb2, triggers_pb2
from tests.integration.scripted_peer import Peer, Refusal, scripted_peer

QUICK = Retry(attempts_max=4, first_seconds=0.001, most_seconds=0.002)
HEADER = entries_pb2.ResponseHeader(epoch="e", revision=5)
NO_WORK = wire.AcquireResponse(header=HEADER)


@asynccontextmanager
async def welcoming_peer() -> AsyncGenerator[Peer]:
    """A peer that welcomes ada and keeps every lease alive."""
    async with scripted_peer() as each:
        welcome = agents_pb2.HelloResponse(header=HEADER)
        welcome.agent.name = "boards/main/agents/ada"
        each.script("Hello", welcome)
        each.script("GetTrigger", Refusal(grpc.StatusCode.NOT_FOUND))
        each.script("SetTrigger", triggers_pb2.SetTriggerResponse())
        each.script("Heartbeat", beats("t1"))
        each.script("Complete", wire.CompleteResponse(header=HEADER, succeeded=True))
        each.script("Fail", wire.FailResponse())
        each.script("Release", wire.ReleaseResponse())
        yield each


def granted(token: str = "t1", *, lease_seconds: float = 30) -> wire.AcquireResponse:
    """A lease on an activation of ada's trigger."""
    lease = Duration()
    lease.FromNanoseconds(int(lease_seconds * 1e9))
    activation = wire.Activation(
        name="boards/main/activations/1",
        trigger_name="boards/main/triggers/ada.build",
        space=entries_pb2.SPACE_SHARED,
        bind={"task": "1"},
        attempt=1,
    )
    entry = entries_pb2.Entry(key="tasks/1", version=3, value=entries_pb2.Value(text="ready"))
    leased = wire.LeasedActivation(activation=activation, token=token, entry=entry, lease=lease)
    return wire.AcquireResponse(header=HEADER, leases=[leased])


def beats(token: str, lost: str = "") -> wire.HeartbeatResponse:
    """The answer to a heartbeat."""
    until = None if lost else Timestamp(seconds=2_000_000_000)
    result = wire.HeartbeatResult(token=token, lease_expire_time=until, lost_reason=lost)
    return wire.HeartbeatResponse(header=HEADER, results=[result])
