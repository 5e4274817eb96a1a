"""The servicer of `lavagna.v1.Watch`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, closing

from lavagna.v1.watch_pb2 import PullRequest, PullResponse, WatchRequest, WatchResponse
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.identity import Session
from lavagna_server.rpc.codec.activations import WAIT_MAX
from lavagna_server.rpc.codec.times import span_from_wire
from lavagna_server.rpc.codec.watch import start_from_wire, targets_from_wire, watch_response
from lavagna_server.rpc.waits import while_valid


class Watch:
    """Streams commits as they become durable."""

    def __init__(self, engine: Engine) -> None:
        self._watches, self._quotas, self._limits = engine.watches, engine.quotas, engine.limits

    async def Watch(
        self, request: WatchRequest, session: Session
    ) -> AsyncGenerator[WatchResponse, None]:
        caller = session.caller
        targets = targets_from_wire(request, caller, limits=self._limits)
        start = start_from_wire(request)
        with (
            self._quotas.stream(caller),
            closing(await self._watches.open(caller, targets, start)) as watcher,
        ):
            async with aclosing(self._watches.stream(watcher, session.ended)) as messages:
                async for message in messages:
                    yield watch_response(message)

    async def Pull(self, request: PullRequest, session: Session) -> PullResponse:
        caller = session.caller
        targets = targets_from_wire(request, caller, limits=self._limits)
        wait = span_from_wire(request.wait, field="wait", most=WAIT_MAX)
        pulled = self._watches.pull(caller, targets, start_from_wire(request), wait.total_seconds())
        messages = await while_valid(pulled, session)
        return PullResponse(responses=[watch_response(message) for message in messages])
