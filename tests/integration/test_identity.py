"""Identity on the wire: certificates, and access that ends at once, on open calls too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration

from lavagna.v1 import activations_pb2, agents_pb2, watch_pb2
from lavagna.v1.agents_pb2_grpc import AgentsStub
from lavagna.v1.watch_pb2_grpc import WatchStub
from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import SERVER_WIDE, Role
from lavagna_server.engine.engine import EngineOptions
from lavagna_server.rpc.server import RpcOptions, Tls, build
from lavagna_server.storage.ephemeral import EphemeralStore
from tests.desks import running
from tests.integration.authority import Authority, Pair
from tests.integration.requests import BOARD, REQUESTS
from tests.wire import Wire, operator_call, served

CODE = grpc.StatusCode
LONG = Duration(seconds=60)
LIST = "/lavagna.v1.Entries/List"


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A server that asks for tokens."""
    async with served(trust_names=False) as wire:
        yield wire


async def rest_of(stream: Any) -> grpc.StatusCode:
    """How a stream ends."""
    try:
        async for _ in stream:
            pass
    except grpc.aio.AioRpcError as error:
        return error.code()
    return CODE.OK


async def open_watch(wire: Wire, token: str) -> asyncio.Task[grpc.StatusCode]:
    """A watch that has told where it stands; the task gives how it ends."""
    stream: Any = WatchStub(wire.channel).Watch(
        watch_pb2.WatchRequest(board=BOARD), metadata=(("authorization", f"Bearer {token}"),)
    )
    await anext(aiter(stream))
    return asyncio.create_task(rest_of(stream))


async def test_revoking_an_agent_ends_its_open_watch_and_nobody_elses(wire: Wire) -> None:
    alice = await open_watch(wire, await wire.register("alice"))
    bob = await open_watch(wire, await wire.register("bob"))
    await wire.revoke("alice")

    assert await alice is CODE.UNAUTHENTICATED
    assert not bob.done()
    bob.cancel()


async def test_a_new_token_ends_the_streams_of_the_old_one(wire: Wire) -> None:
    token = await wire.register("alice")
    watch = await open_watch(wire, token)
    request = agents_pb2.RotateTokenRequest(name="boards/main/agents/alice")
    rotated = await wire.call("/lavagna.v1.Agents/RotateToken", request, token=token)

    assert await watch is CODE.UNAUTHENTICATED
    assert (await wire.call(LIST, REQUESTS[LIST], token=token)).code is CODE.UNAUTHENTICATED
    renewed = await wire.call(LIST, REQUESTS[LIST], token=rotated.response.token)
    assert renewed.code is CODE.OK


WAITS = {
    "/lavagna.v1.Watch/Pull": watch_pb2.PullRequest(board=BOARD, wait=LONG),
    "/lavagna.v1.Activations/Acquire": activations_pb2.AcquireRequest(board=BOARD, wait=LONG),
}


@pytest.mark.parametrize("method", WAITS)
async def test_revoking_an_agent_ends_its_waits(wire: Wire, method: str) -> None:
    token = await wire.register("alice")
    waiting = asyncio.ensure_future(wire.call(method, WAITS[method], token=token))
    await wire.inside(method)
    await wire.revoke("alice")
    outcome = await waiting

    if method.endswith("/Acquire"):
        assert (outcome.code, list(outcome.response.leases)) == (CODE.OK, [])
    else:
        assert outcome.code is CODE.UNAUTHENTICATED


@pytest.mark.guarantee("S6")
async def test_a_retried_registration_gives_the_same_token_and_stores_none(wire: Wire) -> None:
    admin = await wire.register("ada", Role.ADMIN)
    request = agents_pb2.RegisterAgentRequest(board=BOARD, agent_id="bob", request_id="r-1")
    first, again = [
        await wire.call("/lavagna.v1.Agents/RegisterAgent", request, token=admin) for _ in range(2)
    ]
    kept = await wire.engine.readers.run(lambda snapshot: snapshot.effect("main", "ada", "r-1"))

    assert first.response.token == again.response.token != ""
    assert kept is not None
    assert first.response.token.encode() not in kept.response


@pytest.mark.guarantee("S7")
async def test_the_author_is_who_the_token_says_whatever_name_is_stated(wire: Wire) -> None:
    token = await wire.register("alice")
    outcome = await wire.call(
        "/lavagna.v1.Entries/Commit",
        REQUESTS["/lavagna.v1.Entries/Commit"],
        token=token,
        agent="bob",
    )
    read = await wire.call(
        "/lavagna.v1.Entries/Get", REQUESTS["/lavagna.v1.Entries/Get"], token=token
    )

    assert outcome.code is CODE.OK
    assert read.response.entry.author == "alice"


async def test_an_agent_of_the_whole_server_lists_and_creates_boards(wire: Wire) -> None:
    operator = await wire.register("otto", Role.ADMIN, board=SERVER_WIDE)
    create, listing = "/lavagna.v1.Boards/CreateBoard", "/lavagna.v1.Boards/ListBoards"
    created = await wire.call(create, REQUESTS[create], token=operator)
    again = await wire.call(create, REQUESTS[create], token=operator)
    listed = await wire.call(listing, REQUESTS[listing], token=operator)

    assert created.response.board.name == "boards/studio"
    assert [board.name for board in listed.response.boards] == ["boards/main", "boards/studio"]
    assert (again.code, again.reason) == (CODE.ALREADY_EXISTS, "ALREADY_EXISTS")


class Secured:
    """A server with TLS, and calls to it by whoever holds a certificate."""

    def __init__(self, port: int, authority: Authority) -> None:
        self._port, self.authority = port, authority

    async def hello(self, pair: Pair | None, *metadata: tuple[str, str]) -> Any:
        """Says hello; the answer, or the status that it ended with."""
        request = agents_pb2.HelloRequest(board=BOARD)
        credentials = grpc.ssl_channel_credentials(
            self.authority.certificate,
            pair.key if pair else None,
            pair.certificate if pair else None,
        )
        async with grpc.aio.secure_channel(f"localhost:{self._port}", credentials) as channel:
            try:
                return await AgentsStub(channel).Hello(request, metadata=metadata, timeout=20)
            except grpc.aio.AioRpcError as error:
                return error.code()


@pytest.fixture
async def secured() -> AsyncIterator[Secured]:
    """A server that wants a certificate of everyone; alice is registered, and rita no longer."""
    authority = Authority()
    host = authority.pair("localhost")
    tls = Tls(host.certificate, host.key, authority.certificate)
    options = EngineOptions(trust_names=False, secret=b"of these tests")
    async with running(EphemeralStore(), ManualClock(), options=options) as engine:
        for name in ("alice", "rita"):
            await engine.agents.register(operator_call("main"), name, Role.AGENT, ())
        await engine.agents.revoke(operator_call("main"), "rita")
        server = build(engine, RpcOptions(listen="localhost:0", tls=tls))
        await server.start()
        yield Secured(server.port, authority)
        await server.stop(1)


async def test_a_certificate_names_its_agent(secured: Secured) -> None:
    hello = await secured.hello(secured.authority.pair("alice"))

    assert hello.agent.name == "boards/main/agents/alice"
    assert hello.agent.role == agents_pb2.ROLE_AGENT


@pytest.mark.parametrize("name", ["rita", "stranger", "", "a" * 60])
async def test_a_certificate_of_nobody_here_is_refused(secured: Secured, name: str) -> None:
    pair = secured.authority.pair(name or "-")

    assert await secured.hello(pair) is CODE.UNAUTHENTICATED


async def test_a_stated_name_adds_nothing_to_a_certificate(secured: Secured) -> None:
    pair = secured.authority.pair("stranger")

    assert await secured.hello(pair, ("lavagna-agent", "alice")) is CODE.UNAUTHENTICATED


async def test_a_certificate_of_another_authority_does_not_connect(secured: Secured) -> None:
    foreign = Authority().pair("alice")

    assert await secured.hello(foreign) is CODE.UNAVAILABLE
    assert await secured.hello(None) is CODE.UNAVAILABLE


async def test_a_name_is_taken_as_stated_where_names_are_trusted() -> None:
    async with served(trust_names=True) as wire:
        hello = await wire.call(
            "/lavagna.v1.Agents/Hello",
            agents_pb2.HelloRequest(board=BOARD, session="pid 1", teams=["testers"]),
            agent="alice",
        )
        unset = await wire.call(LIST, REQUESTS[LIST])
        wrong = await wire.call(LIST, REQUESTS[LIST], agent="no such name")

    assert hello.response.trusted
    assert list(hello.response.agent.teams) == ["testers"]
    assert hello.response.agent.session == "pid 1"
    assert hello.response.server_version
    assert hello.response.bookmark_interval.seconds == 5
    assert unset.code is wrong.code is CODE.UNAUTHENTICATED
