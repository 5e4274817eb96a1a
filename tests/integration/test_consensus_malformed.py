"""Malformed input where votes and claims are real: always a typed error that names the field, and nothing half done."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.protobuf.message import Message
from structlog.testing import capture_logs

from lavagna.v1 import agents_pb2, boards_pb2, consensus_pb2, entries_pb2
from lavagna_server.clocks import ManualClock
from tests.desks import running
from tests.integration.conftest import OpenStore
from tests.integration.malformations import malformed
from tests.integration.requests import BOARD
from tests.integration.test_malformed import CODE, check
from tests.wire import Outcome, Wire, connected

CONSENSUS = "/lavagna.v1.Consensus/"
SET_REGION = "/lavagna.v1.Boards/SetRegion"
COMMIT = "/lavagna.v1.Entries/Commit"
KEY_BYTES_MAX = 512
LONG_NAME = "a" * 63
PUT = entries_pb2.Put(value=entries_pb2.Value(json="1"))

VOTERS = [boards_pb2.Voters(name=name, weight=1.0) for name in ("mallory", "bob", LONG_NAME)]
QUORUM = boards_pb2.Region(
    path="design",
    policy=boards_pb2.POLICY_QUORUM,
    electorate=boards_pb2.Electorate(voters=VOTERS, approvals=3, groups_min=2, group_cap=2),
)
WEIGHTED = boards_pb2.Region(
    path="effort",
    policy=boards_pb2.POLICY_WEIGHTED,
    owner="mallory",
    merging=boards_pb2.Merging(number="mean", threshold=0.5, group_cap=2, reconcilers=["bob"]),
)


@pytest.fixture
async def wire(open_store: OpenStore, clock: ManualClock) -> AsyncIterator[Wire]:
    """A server on each store, on which something is proposed and something claimed."""
    async with running(open_store(), clock) as engine, connected(engine) as wire:
        for region in (QUORUM, WEIGHTED):
            await set_region(wire, region)
        await claim(wire, "effort", "alice")
        yield wire


async def set_region(wire: Wire, region: boards_pb2.Region) -> Outcome:
    request = boards_pb2.SetRegionRequest(board=BOARD, region=region)
    return await wire.call(SET_REGION, request, agent="root")


def change(key: str) -> entries_pb2.Change:
    return entries_pb2.Change(key=key, put=PUT, confidence=0.5)


async def claim(wire: Wire, key: str, agent: str) -> Outcome:
    request = consensus_pb2.ClaimRequest(board=BOARD, change=change(key))
    return await wire.call(CONSENSUS + "Claim", request, agent=agent)


async def propose(wire: Wire, key: str, agent: str) -> Outcome:
    request = consensus_pb2.ProposeRequest(board=BOARD, change=change(key))
    return await wire.call(CONSENSUS + "Propose", request, agent=agent)


async def good(wire: Wire, method: str) -> Message:
    """A request that would succeed, about something that is there."""
    if method in {"Propose", "Claim"}:
        key, request_type = (
            ("design", consensus_pb2.ProposeRequest)
            if method == "Propose"
            else ("effort", consensus_pb2.ClaimRequest)
        )
        return request_type(board=BOARD, change=change(key))
    if method in {"ListClaims", "Explain"}:
        kind: Any = getattr(consensus_pb2, f"{method}Request")
        request: Message = kind(board=BOARD, key="effort")
        return request
    if method == "Resolve":
        value = entries_pb2.Value(json="1")
        return consensus_pb2.ResolveRequest(board=BOARD, key="effort", value=value, tolerance=0.5)
    if method == "ListProposals":
        return consensus_pb2.ListProposalsRequest(
            board=BOARD, outcomes=[consensus_pb2.OUTCOME_OPEN]
        )
    proposal = (await propose(wire, "design", "bob")).response.proposal
    if method == "Vote":
        return consensus_pb2.VoteRequest(
            board=BOARD,
            proposal_key=proposal.key,
            choice=consensus_pb2.CHOICE_ACCEPT,
            confidence=0.5,
            reason="because",
            content_hash=proposal.content_hash,
        )
    kind = getattr(consensus_pb2, f"{method}Request")
    about: Message = kind(board=BOARD, proposal_key=proposal.key)
    return about


METHODS = sorted(consensus_pb2.DESCRIPTOR.services_by_name["Consensus"].methods_by_name)


@pytest.mark.parametrize("method", METHODS)
async def test_whatever_is_malformed_about_what_is_there_is_refused_with_a_typed_error(
    wire: Wire, method: str
) -> None:
    request = await good(wire, method)
    with capture_logs() as events:
        for what, raw in malformed(request):
            if "wait" not in what:  # a wait that is good waits
                check(await wire.call(CONSENSUS + method, raw, agent="mallory"), what)
    outcome = await wire.call(CONSENSUS + method, await good(wire, method), agent="bob")

    assert not [event for event in events if event["event"] == "call failed"]
    assert outcome.code in {CODE.OK, CODE.NOT_FOUND, CODE.PERMISSION_DENIED}, outcome.message


@pytest.mark.parametrize("region", [QUORUM, WEIGHTED], ids=lambda each: each.path)
async def test_rules_that_are_taken_can_be_lived_by(wire: Wire, region: boards_pb2.Region) -> None:
    """Whatever of a region's terms is not refused at the door breaks no later proposal, vote or claim."""
    request = boards_pb2.SetRegionRequest(board=BOARD, region=region)
    taken = 0
    with capture_logs() as events:
        for what, raw in malformed(request):
            outcome = await wire.call(SET_REGION, raw, agent="root")
            check(outcome, what)
            if outcome.code is CODE.OK:
                taken += 1
                for each in (propose, claim):
                    for agent in ("mallory", "bob"):
                        check(await each(wire, region.path, agent), what)
                await set_region(wire, region)

    assert taken
    assert not [event for event in events if event["event"] == "call failed"]


async def test_standings_that_are_no_numbers_are_refused(wire: Wire) -> None:
    for trust in (math.nan, math.inf, -math.inf, -0.1, 1.1):
        standing = agents_pb2.Standing(name=f"{BOARD}/agents/bob", trust=trust)
        outcome = await wire.call(
            "/lavagna.v1.Agents/SetStanding",
            agents_pb2.SetStandingRequest(standing=standing),
            agent="root",
        )
        assert (outcome.code, outcome.fields) == (CODE.INVALID_ARGUMENT, ["standing.trust"])


@pytest.mark.parametrize(
    ("method", "path", "room"),
    [
        ("Propose", "design", KEY_BYTES_MAX - len(f"/000000000002-000/@{LONG_NAME}")),
        ("Claim", "effort", KEY_BYTES_MAX - len("/@mallory")),
    ],
)
async def test_a_key_must_leave_room_for_what_the_server_makes_of_it(
    wire: Wire, method: str, path: str, room: int
) -> None:
    fits = f"{path}/{'é' * 100}".ljust(room - 100, "x")
    call = propose if method == "Propose" else claim
    commit = entries_pb2.CommitRequest(board=BOARD, changes=[change(fits + "x")])
    outcomes = [
        await call(wire, fits + "x", "mallory"),
        await wire.call(COMMIT, commit, agent="mallory"),
    ]
    taken = await call(wire, fits, "mallory")

    assert len(fits.encode()) == room
    assert [(each.code, each.fields) for each in outcomes] == [
        (CODE.INVALID_ARGUMENT, ["change.key"]),
        (CODE.INVALID_ARGUMENT, ["changes[0].key"]),
    ]
    assert "key_bytes_max" in outcomes[0].message
    assert taken.code is CODE.OK, taken.message
    if method == "Propose":
        vote = consensus_pb2.VoteRequest(
            board=BOARD,
            proposal_key=taken.response.proposal.key,
            choice=consensus_pb2.CHOICE_ACCEPT,
            content_hash=taken.response.proposal.content_hash,
        )
        voted = await wire.call(CONSENSUS + "Vote", vote, agent=LONG_NAME)
        assert voted.code is CODE.OK, voted.message


async def test_an_error_names_the_field_of_the_one_change(wire: Wire) -> None:
    append = entries_pb2.Change(key="design", append=entries_pb2.Append(value=PUT.value))
    bad = {
        "change.key": entries_pb2.Change(key="a//b", put=PUT),
        "change.confidence": entries_pb2.Change(key="design", put=PUT, confidence=math.nan),
        "change.put.value.json": entries_pb2.Change(
            key="design", put=entries_pb2.Put(value=entries_pb2.Value(json="NaN"))
        ),
        "change.kind": entries_pb2.Change(key="design", put=PUT, kind=entries_pb2.KIND_BALLOT),
        "change": append,
    }
    for field, each in bad.items():
        for method in ("Propose", "Claim"):
            kind: Any = getattr(consensus_pb2, f"{method}Request")
            request = kind(board=BOARD, change=each)
            outcome = await wire.call(CONSENSUS + method, request, agent="mallory")
            assert (outcome.code, outcome.fields) == (CODE.INVALID_ARGUMENT, [field]), method
