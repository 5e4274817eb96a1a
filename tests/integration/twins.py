"""Twin servers: the same happens on both, but for what is hidden on the first; for tests that nothing tells them apart."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple, TypeAlias

import grpc
from google.protobuf.message import Message

from lavagna.v1 import entries_pb2
from lavagna_server.domain.agents import SERVER_WIDE, Role
from tests.integration.requests import BOARD
from tests.wire import Outcome, Wire, served

CODE = grpc.StatusCode
MARKER = "XYZZY"
"""What stands in everything that is hidden."""
COMMIT = "/lavagna.v1.Entries/Commit"
SET_TRIGGER = "/lavagna.v1.Triggers/SetTrigger"
ACQUIRE = "/lavagna.v1.Activations/Acquire"
COMPLETE = "/lavagna.v1.Activations/Complete"


class Crew(NamedTuple):
    """A server and its agents' tokens."""

    wire: Wire
    tokens: dict[str, str]

    async def call(self, method: str, who: str, request: Message) -> Outcome:
        """What becomes of a call by one of the crew."""
        return await self.wire.call(method, request, token=self.tokens[who], messages=2)

    async def commit(self, who: str, key: str, text: str, **more: Any) -> None:
        """Stores a text."""
        put = entries_pb2.Put(value=entries_pb2.Value(text=text))
        change = entries_pb2.Change(key=key, put=put, overwrite=True, tags=[f"about-{key[:4]}"])
        request = entries_pb2.CommitRequest(board=BOARD, changes=[change], **more)
        outcome = await self.call(COMMIT, who, request)
        assert outcome.code is CODE.OK, outcome.message


Twins: TypeAlias = "tuple[Crew, Crew]"
Story: TypeAlias = "Callable[[Crew], Awaitable[None]]"
"""What happens on a server."""


@asynccontextmanager
async def twin_servers(
    share: Story, hide: Story, go_on: Story | None = None
) -> AsyncGenerator[Twins]:
    """Two servers on which the same happens, but for what is hidden on the first."""
    async with AsyncExitStack() as stack:
        first, second = [await _crew(stack) for _ in range(2)]
        for crew in (first, second):
            await share(crew)
            if crew is first:
                await hide(crew)
            if go_on is not None:
                await go_on(crew)
        yield first, second


async def _crew(stack: AsyncExitStack) -> Crew:
    wire = await stack.enter_async_context(served(trust_names=False))
    return Crew(
        wire,
        {
            "alice": await wire.register("alice", Role.ADMIN),
            "bob": await wire.register("bob"),
            "olga": await wire.register("olga", Role.OBSERVER),
            "ada": await wire.register("ada", Role.ADMIN),
            "otto": await wire.register("otto", Role.ADMIN, board=SERVER_WIDE),
        },
    )
