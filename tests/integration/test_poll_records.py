"""What is told of large polls over the wire: to a retry, on a page, and to who asks for an explanation."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import grpc
import pytest
from google.protobuf.message import Message

from lavagna.v1 import boards_pb2, consensus_pb2, entries_pb2
from lavagna_server.clocks import ManualClock
from lavagna_server.domain.limits import Limits
from lavagna_server.rpc.codec.records import RECORD_BYTES_MAX
from tests.desks import running
from tests.integration.conftest import OpenStore
from tests.integration.requests import BOARD
from tests.wire import Outcome, Wire, connected

CODE = grpc.StatusCode
CLIENT_BYTES_MAX = 4 << 20
"""What gRPC clients take when nobody tells them otherwise."""
LARGE = json.dumps("x" * (Limits().value_bytes_max - 2))
REASON = "r" * Limits().reason_bytes_max
CREW = [f"v{number:02d}" for number in range(30)]


@dataclass
class Council:
    """Thirty who decide on `design` by all of them, and merge what they claim about `effort`."""

    wire: Wire

    async def told(
        self, method: str, request: Message, agent: str, service: str = "Consensus"
    ) -> Outcome:
        """What a call comes to."""
        outcome = await self.wire.call(f"/lavagna.v1.{service}/{method}", request, agent=agent)
        assert outcome.code is CODE.OK, outcome.message
        return outcome

    async def propose(self, value: str, request_id: str = "") -> consensus_pb2.ProposeResponse:
        put = entries_pb2.Put(value=entries_pb2.Value(json=value))
        change = entries_pb2.Change(key="design", put=put)
        request = consensus_pb2.ProposeRequest(board=BOARD, request_id=request_id, change=change)
        response: consensus_pb2.ProposeResponse = (
            await self.told("Propose", request, CREW[0])
        ).response
        return response

    async def vote(
        self, on: consensus_pb2.Proposal, agent: str, request_id: str = ""
    ) -> consensus_pb2.VoteResponse:
        request = consensus_pb2.VoteRequest(
            board=BOARD, request_id=request_id, proposal_key=on.key, reason=REASON,
            choice=consensus_pb2.CHOICE_ACCEPT, content_hash=on.content_hash,
            base_version=on.base_version,
        )  # fmt: skip
        response: consensus_pb2.VoteResponse = (await self.told("Vote", request, agent)).response
        return response

    async def recorded(self, agent: str, request_id: str) -> int:
        """How many bytes are kept of a response."""
        effect = await self.wire.engine.readers.run(
            lambda snapshot: snapshot.effect("main", agent, request_id)
        )
        assert effect is not None
        return len(effect.response)


@pytest.fixture
async def council(open_store: OpenStore, clock: ManualClock) -> AsyncIterator[Council]:
    """A council on each store."""
    async with running(open_store(), clock) as engine, connected(engine) as wire:
        council = Council(wire)
        voters = [boards_pb2.Voters(name=name) for name in CREW]
        terms = boards_pb2.Electorate(voters=voters, approvals=len(CREW))
        for region in (
            boards_pb2.Region(path="design", policy=boards_pb2.POLICY_QUORUM, electorate=terms),
            boards_pb2.Region(path="effort", policy=boards_pb2.POLICY_WEIGHTED),
        ):
            request = boards_pb2.SetRegionRequest(board=BOARD, region=region)
            await council.told("SetRegion", request, "root", "Boards")
        yield council


@pytest.mark.guarantee("S6")
async def test_of_a_large_poll_little_is_recorded_and_a_retry_is_told_all_of_it(
    council: Council,
) -> None:
    made = await council.propose(LARGE, "p")
    votes = [await council.vote(made.proposal, name, "v") for name in CREW[1:]]
    assert votes[-1].proposal.outcome == consensus_pb2.OUTCOME_ACCEPTED
    assert len(votes[4].proposal.ballots) == 6

    assert await council.propose(LARGE, "p") == made
    for name, told in zip(CREW[1:], votes, strict=True):
        assert await council.vote(made.proposal, name, "v") == told
        assert await council.recorded(name, "v") <= RECORD_BYTES_MAX
    assert await council.recorded(CREW[0], "p") <= RECORD_BYTES_MAX


@pytest.mark.guarantee("S6")
async def test_a_withdrawal_that_is_tried_again_is_told_what_was_withdrawn(
    council: Council,
) -> None:
    made = await council.propose(LARGE)
    request = consensus_pb2.WithdrawRequest(
        board=BOARD, request_id="w", proposal_key=made.proposal.key, reason="too large"
    )
    first = (await council.told("Withdraw", request, CREW[0])).response
    again = (await council.told("Withdraw", request, CREW[0])).response

    assert first.proposal.value.json == LARGE
    assert again == first
    assert await council.recorded(CREW[0], "w") <= RECORD_BYTES_MAX


@pytest.mark.guarantee("S6")
async def test_a_retry_after_history_was_given_up_is_told_how_it_stood_then(
    council: Council,
) -> None:
    made = await council.propose(LARGE, "p")
    votes = [await council.vote(made.proposal, name) for name in CREW[1:]]
    compact = boards_pb2.CompactRequest(board=BOARD, revision=votes[-1].header.revision)
    await council.told("Compact", compact, "root", "Boards")
    again = await council.propose(LARGE, "p")

    assert again.header == made.header
    for field in ("key", "content_hash", "outcome", "reason", "propose_time", "deadline_time"):
        assert getattr(again.proposal, field) == getattr(made.proposal, field)
    assert not again.proposal.HasField("value")


async def test_a_page_of_large_proposals_fits_into_a_message(council: Council) -> None:
    for _ in range(3):
        await council.propose(LARGE)
    request = consensus_pb2.ListProposalsRequest(board=BOARD)
    keys: list[str] = []
    while not keys or request.page_token:
        page = (await council.told("ListProposals", request, CREW[0])).response
        assert page.ByteSize() < CLIENT_BYTES_MAX
        keys += [each.key for each in page.proposals]
        request.page_token = page.next_page_token
    assert keys == [f"design/{revision:012d}-000" for revision in (1, 2, 3)]


async def test_an_explanation_leaves_out_what_is_too_much_and_says_so(council: Council) -> None:
    for name in CREW[:3]:
        put = entries_pb2.Put(value=entries_pb2.Value(json=LARGE))
        change = entries_pb2.Change(key="effort", put=put)
        claim = consensus_pb2.ClaimRequest(board=BOARD, change=change)
        await council.told("Claim", claim, name)
    proposal = (await council.propose(LARGE)).proposal
    for name in CREW[1:]:
        await council.vote(proposal, name)
    explained = {
        key: (
            await council.told("Explain", consensus_pb2.ExplainRequest(board=BOARD, key=key), "v00")
        ).response
        for key in ("effort", "design")
    }

    for response in explained.values():
        assert response.ByteSize() < CLIENT_BYTES_MAX
        assert response.entry.value.json == LARGE
        assert response.lines[-1].startswith(
            "what was claimed, proposed or given as a reason is left"
        )
    assert [each.agent for each in explained["effort"].contributions] == CREW[:3]
    assert not any(each.HasField("claim") for each in explained["effort"].contributions)
    assert not explained["design"].proposal.HasField("value")
    assert {each.reason for each in explained["design"].proposal.ballots[1:]} == {REASON}
