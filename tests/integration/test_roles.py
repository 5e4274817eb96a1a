"""Every method by role by space: what each caller may do, walked from the contract so that no method is forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from lavagna.v1 import boards_pb2, entries_pb2, triggers_pb2
from lavagna_server.domain.agents import SERVER_WIDE, Role
from tests.integration.requests import BOARD, REQUESTS
from tests.wire import METHODS, Outcome, Wire, served

CODE = grpc.StatusCode
NEEDS: Mapping[str, str] = {
    "CreateBoard": "operator", "GetBoard": "observer", "ListBoards": "observer", "UpdateBoard": "admin",
    "DeleteBoard": "admin", "Compact": "admin", "Export": "observer", "SetRegion": "admin",
    "GetRegion": "observer", "ListRegions": "observer", "DeleteRegion": "admin",
    "RegisterAgent": "admin", "GetAgent": "observer", "ListAgents": "observer", "RotateToken": "admin",
    "RevokeAgent": "admin", "SetStanding": "admin", "GetStanding": "observer", "Hello": "observer",
    "Commit": "agent", "Get": "observer", "BatchGet": "observer", "List": "observer",
    "History": "observer", "Diff": "observer", "Revert": "agent",
    "Watch": "observer", "Pull": "observer",
    "Propose": "agent", "Vote": "agent", "Withdraw": "agent",
    "GetProposal": "observer", "ListProposals": "observer", "WaitProposal": "observer",
    "Claim": "agent", "ListClaims": "observer", "Resolve": "admin", "Explain": "observer",
    "SetTrigger": "agent", "GetTrigger": "observer", "ListTriggers": "observer",
    "SuspendTrigger": "agent", "ResumeTrigger": "agent", "DeleteTrigger": "agent", "TryTrigger": "observer",
    "Acquire": "agent", "Heartbeat": "agent", "Complete": "agent", "Fail": "agent", "Release": "agent",
    "Hold": "agent", "Cancel": "agent", "GetActivation": "observer", "ListActivations": "observer",
    "Replay": "agent",
}  # fmt: skip
"""The least that may make the request of `REQUESTS`. Written out again, so that a change of the server's table shows here."""

MAY: Mapping[str, set[str]] = {
    "observer": {"observer"},
    "agent": {"observer", "agent"},
    "admin": {"observer", "agent", "admin"},
    "operator": {"observer", "agent", "admin", "operator"},
}
ORDINARY = {
    "Heartbeat": CODE.INVALID_ARGUMENT,  # the token is none
    "Complete": CODE.INVALID_ARGUMENT,
    "Fail": CODE.INVALID_ARGUMENT,
    "Vote": CODE.FAILED_PRECONDITION,  # it is about other content
    "Release": CODE.FAILED_PRECONDITION,  # the activation waits, and is not held
    "Replay": CODE.FAILED_PRECONDITION,  # it has not ended
}
"""How a request ends that the caller may make, where not with OK."""

VOTED = (
    "/lavagna.v1.Boards/SetRegion",
    "admin",
    boards_pb2.SetRegionRequest(
        board=BOARD,
        region=boards_pb2.Region(
            path="design",
            policy=boards_pb2.POLICY_QUORUM,
            electorate=boards_pb2.Electorate(
                voters=[boards_pb2.Voters(name=name) for name in ("alice", "bob", "ada", "otto")],
                approvals=3,
            ),
        ),
    ),
)
"""A region in which all of them vote."""
MERGED = (
    "/lavagna.v1.Boards/SetRegion",
    "admin",
    boards_pb2.SetRegionRequest(
        board=BOARD, region=boards_pb2.Region(path="effort", policy=boards_pb2.POLICY_WEIGHTED)
    ),
)
"""A region in which claims are merged."""
WITH_SPACE = {
    name for name, method in METHODS.items() if "space" in method.input_type.fields_by_name
}


@dataclass(frozen=True)
class Crew:
    """A server with a crew, and everyone's token."""

    wire: Wire
    tokens: Mapping[str, str]

    async def call(self, method: str, who: str, request: Message | None = None) -> Outcome:
        """What becomes of a call by one of the crew."""
        return await self.wire.call(
            method, REQUESTS[method] if request is None else request, token=self.tokens[who]
        )

    async def commit(self, who: str, key: str, text: str, **more: Any) -> Outcome:
        """Stores a text."""
        put = entries_pb2.Put(value=entries_pb2.Value(text=text))
        change = entries_pb2.Change(key=key, put=put)
        request = entries_pb2.CommitRequest(board=BOARD, changes=[change], **more)
        return await self.call("/lavagna.v1.Entries/Commit", who, request)


@pytest.fixture
async def crew() -> AsyncIterator[Crew]:
    """A board on which alice has made one of everything, and everyone else who could call."""
    async with served(trust_names=False) as wire:
        await wire.create_board("elsewhere")
        tokens = {
            "nobody": "",
            "a stranger": "lav_unknown",
            "revoked": await wire.register("rita"),
            "elsewhere": await wire.register("eve", Role.ADMIN, board="elsewhere"),
            "observer": await wire.register("olga", Role.OBSERVER),
            "agent": await wire.register("alice"),
            "bob": await wire.register("bob"),
            "spare": await wire.register("spare"),
            "admin": await wire.register("ada", Role.ADMIN),
            "operator": await wire.register("otto", Role.ADMIN, board=SERVER_WIDE),
        }
        await wire.revoke("rita")
        crew = Crew(wire, tokens)
        for method, who in (
            ("/lavagna.v1.Triggers/SetTrigger", "agent"),
            ("/lavagna.v1.Boards/SetRegion", "admin"),
        ):
            request = type(REQUESTS[method])()
            request.CopyFrom(REQUESTS[method])
            if isinstance(request, triggers_pb2.SetTriggerRequest):
                request.trigger_id, request.trigger.own_writes = "on-task", True
            else:
                request.region.path = "plan"  # type: ignore[attr-defined]
            assert (await crew.call(method, who, request)).code is CODE.OK
        assert (await crew.call(*VOTED)).code is CODE.OK
        assert (await crew.call(*MERGED)).code is CODE.OK
        assert (await crew.commit("agent", "plan", "one")).code is CODE.OK
        assert (await crew.commit("agent", "tasks/1", "ready")).code is CODE.OK
        assert (await crew.commit("agent", "design", "a proposal")).code is CODE.OK
        assert (await crew.commit("agent", "effort", "a claim")).code is CODE.OK
        yield crew


def test_every_method_has_a_request_and_a_rule_here() -> None:
    assert set(REQUESTS) == set(METHODS)
    assert set(NEEDS) == {method.name for method in METHODS.values()}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("who", ["nobody", "a stranger", "revoked"])
async def test_who_cannot_be_identified_is_refused(crew: Crew, method: str, who: str) -> None:
    outcome = await crew.call(method, who)

    assert (outcome.code, outcome.reason) == (CODE.UNAUTHENTICATED, "UNAUTHENTICATED")


@pytest.mark.guarantee("S8")
@pytest.mark.parametrize("method", METHODS)
async def test_another_board_is_as_if_it_did_not_exist(crew: Crew, method: str) -> None:
    outcome = await crew.call(method, "elsewhere")

    if method.endswith("/ListBoards"):
        assert [board.name for board in outcome.response.boards] == ["boards/elsewhere"]
        return
    whole_server = method.endswith("/CreateBoard")
    request = REQUESTS[method].SerializeToString()
    unknown = await crew.wire.call(
        method, request.replace(b"boards/main", b"boards/none"), token=crew.tokens["elsewhere"]
    )
    assert (outcome.code, outcome.reason) == (CODE.NOT_FOUND, "NOT_FOUND")
    assert unknown.code is CODE.NOT_FOUND
    if not whole_server:
        assert outcome.message == unknown.message.replace("none", "main")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("who", MAY)
async def test_a_role_may_do_what_it_is_for_and_no_more(crew: Crew, method: str, who: str) -> None:
    outcome = await crew.call(method, who)
    name = METHODS[method].name

    if NEEDS[name] in MAY[who]:
        assert outcome.code is ORDINARY.get(name, CODE.OK), outcome.message
    elif NEEDS[name] == "operator":
        assert outcome.code is CODE.NOT_FOUND
    else:
        assert outcome.code is CODE.PERMISSION_DENIED
        assert outcome.reason in {"ROLE_REQUIRED", "PERMISSION_DENIED"}


@pytest.mark.parametrize("method", sorted(WITH_SPACE))
@pytest.mark.parametrize("who", ["observer", "agent", "admin", "operator"])
async def test_everyone_but_an_observer_has_a_private_space(
    crew: Crew, method: str, who: str
) -> None:
    await crew.commit(who, "plan", "mine", space=entries_pb2.SPACE_PRIVATE)
    request: Any = type(REQUESTS[method])()
    request.CopyFrom(REQUESTS[method])
    request.space = entries_pb2.SPACE_PRIVATE
    outcome = await crew.call(method, who, request)

    if who == "observer":
        assert (outcome.code, outcome.reason) == (CODE.PERMISSION_DENIED, "ROLE_REQUIRED")
    else:
        assert outcome.code is CODE.OK, outcome.message


@pytest.mark.guarantee("S8")
@pytest.mark.parametrize("method", sorted(WITH_SPACE))
async def test_a_private_space_shows_nothing_of_another_agents(crew: Crew, method: str) -> None:
    for key in ("plan", "tasks/2"):
        await crew.commit("agent", key, "SECRET", space=entries_pb2.SPACE_PRIVATE)
    await crew.commit("bob", "plan", "bob's", space=entries_pb2.SPACE_PRIVATE)
    request: Any = type(REQUESTS[method])()
    request.CopyFrom(REQUESTS[method])
    request.space = entries_pb2.SPACE_PRIVATE
    outcome = await crew.call(method, "bob", request)

    assert outcome.code is CODE.OK
    told = b"".join(response.SerializeToString() for response in outcome.responses)
    assert b"SECRET" not in told
    assert b"tasks/2" not in told
    for response in outcome.responses:
        if response.DESCRIPTOR.fields_by_name.get("header"):
            assert response.header.revision <= 2  # bob's own commits


@pytest.mark.guarantee("S8")
@pytest.mark.parametrize(
    "method",
    [
        name
        for name, method in METHODS.items()
        if method.name.endswith("Trigger")
        or method.name in {"GetActivation", "Hold", "Cancel", "Replay", "Release"}
        if "name" in method.input_type.fields_by_name
    ],
)
@pytest.mark.parametrize("who", ["bob", "observer", "admin", "operator"])
async def test_what_names_anothers_private_store_is_not_found(
    crew: Crew, method: str, who: str
) -> None:
    request: Any = type(REQUESTS[method])()
    request.CopyFrom(REQUESTS[method])
    request.name = request.name.replace("boards/main/", "boards/main/agents/alice/")
    absent: Any = type(request)()
    absent.CopyFrom(request)
    absent.name = request.name.replace("alice", "nobody")
    setting = triggers_pb2.SetTriggerRequest(board=BOARD, trigger_id="on-task")
    setting.trigger.CopyFrom(REQUESTS["/lavagna.v1.Triggers/SetTrigger"].trigger)  # type: ignore[attr-defined]
    setting.trigger.space, setting.trigger.own_writes = entries_pb2.SPACE_PRIVATE, True
    assert (await crew.call("/lavagna.v1.Triggers/SetTrigger", "agent", setting)).code is CODE.OK
    await crew.commit("agent", "tasks/1", "ready", space=entries_pb2.SPACE_PRIVATE)

    outcome = await crew.call(method, who, request)
    unknown = await crew.call(method, who, absent)

    needs_agent = who == "observer" and NEEDS[METHODS[method].name] == "agent"
    assert outcome.code is (CODE.PERMISSION_DENIED if needs_agent else CODE.NOT_FOUND)
    assert outcome.message.replace("alice", "nobody") == unknown.message


async def test_an_agent_may_replace_its_own_token_and_an_observer_too(crew: Crew) -> None:
    for who, name in (("observer", "olga"), ("bob", "bob")):
        request = REQUESTS["/lavagna.v1.Agents/RotateToken"].__class__(
            name=f"boards/main/agents/{name}"
        )
        outcome = await crew.call("/lavagna.v1.Agents/RotateToken", who, request)
        assert outcome.code is CODE.OK
        again = await crew.call("/lavagna.v1.Entries/List", who)
        assert again.code is CODE.UNAUTHENTICATED
        renewed = await crew.wire.call(
            "/lavagna.v1.Entries/List",
            REQUESTS["/lavagna.v1.Entries/List"],
            token=outcome.response.token,
        )
        assert renewed.code is CODE.OK


async def test_hello_tells_each_role_what_it_may_call(crew: Crew) -> None:
    told = {
        who: set((await crew.call("/lavagna.v1.Agents/Hello", who)).response.methods)
        for who in ("observer", "agent", "admin")
    }

    assert told["observer"] < told["agent"] < told["admin"] == set(METHODS)


async def test_no_token_is_ever_shown_again(crew: Crew) -> None:
    for method in ("/lavagna.v1.Agents/ListAgents", "/lavagna.v1.Agents/GetAgent"):
        shown = (await crew.call(method, "admin")).response.SerializeToString()
        assert not [token for token in crew.tokens.values() if token and token.encode() in shown]
