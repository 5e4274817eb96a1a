"""The servicer of `lavagna.v1.Consensus`."""

from __future__ import annotations

import asyncio

from lavagna.v1.consensus_pb2 import (
    ClaimRequest,
    ClaimResponse,
    ExplainRequest,
    ExplainResponse,
    GetProposalRequest,
    GetProposalResponse,
    ListClaimsRequest,
    ListClaimsResponse,
    ListProposalsRequest,
    ListProposalsResponse,
    ProposeRequest,
    ProposeResponse,
    ResolveRequest,
    ResolveResponse,
    VoteRequest,
    VoteResponse,
    WaitProposalRequest,
    WaitProposalResponse,
    WithdrawRequest,
    WithdrawResponse,
)
from lavagna_server.domain.keys import normal_key, parse_pattern
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.identity import Session
from lavagna_server.rpc.calls import Calls
from lavagna_server.rpc.codec import claims, consensus, explanations
from lavagna_server.rpc.codec.checks import page_size, required
from lavagna_server.rpc.codec.records import briefly_recorded
from lavagna_server.rpc.codec.times import span_from_wire
from lavagna_server.rpc.waits import either


class Consensus:
    """Keeps proposals and claims, counts votes, and explains what came of them."""

    def __init__(self, engine: Engine, calls: Calls, closing: asyncio.Event) -> None:
        self._consensus, self._claims = engine.consensus, engine.claims
        self._explanations, self._limits = engine.explanations, engine.limits
        self._calls, self._closing = calls, closing

    async def Propose(self, request: ProposeRequest, session: Session) -> ProposeResponse:
        board = session.caller.board
        wanted = consensus.request_from_wire(request, board=board, limits=self._limits)
        call = self._calls.mutation(
            session.caller, request, consensus.propose_response, ProposeResponse
        )
        return await self._consensus.propose(
            briefly_recorded(call), wanted, token=request.activation_token
        )

    async def Vote(self, request: VoteRequest, session: Session) -> VoteResponse:
        vote = consensus.vote_from_wire(request, limits=self._limits)
        call = self._calls.mutation(session.caller, request, consensus.vote_response, VoteResponse)
        return await self._consensus.vote(
            briefly_recorded(call), vote, token=request.activation_token
        )

    async def Withdraw(self, request: WithdrawRequest, session: Session) -> WithdrawResponse:
        if request.WhichOneof("subject") == "claimed_key":
            return await self._withdraw_claim(request, session)
        key = consensus.proposal_key(request.proposal_key, limits=self._limits)
        reason = consensus.reason_from_wire(request.reason, limits=self._limits)
        call = self._calls.mutation(
            session.caller, request, consensus.withdraw_response, WithdrawResponse
        )
        return await self._consensus.withdraw(
            briefly_recorded(call), key, reason=reason, token=request.activation_token
        )

    async def _withdraw_claim(self, request: WithdrawRequest, session: Session) -> WithdrawResponse:
        key = normal_key(request.claimed_key, field="claimed_key", limits=self._limits)
        required(
            not request.reason, field="reason", rule="a claim is withdrawn without one; claim anew"
        )
        call = self._calls.mutation(
            session.caller, request, claims.withdraw_response, WithdrawResponse
        )
        return await self._claims.withdraw(call, key, token=request.activation_token)

    async def GetProposal(
        self, request: GetProposalRequest, session: Session
    ) -> GetProposalResponse:
        key = consensus.proposal_key(request.proposal_key, limits=self._limits)
        point = consensus.read_point(request)
        return consensus.get_response(await self._consensus.get(session.caller, key, point))

    async def ListProposals(
        self, request: ListProposalsRequest, session: Session
    ) -> ListProposalsResponse:
        caller = session.caller
        point, after = consensus.proposals_place(request, caller)
        read = await self._consensus.list(
            caller,
            parse_pattern(request.pattern, field="pattern", limits=self._limits),
            outcomes=consensus.outcomes_from_wire(request.outcomes),
            voter=caller.agent if request.awaiting_me else "",
            point=point,
            after=after,
            size=page_size(request.page_size, limits=self._limits),
        )
        return consensus.proposals_response(read, request, caller)

    async def WaitProposal(
        self, request: WaitProposalRequest, session: Session
    ) -> WaitProposalResponse:
        key = consensus.proposal_key(request.proposal_key, limits=self._limits)
        wait = span_from_wire(request.wait, field="wait", most=consensus.WAIT_MAX)
        async with either(session.ended, self._closing) as until:
            read = await self._consensus.wait(session.caller, key, wait=wait, until=until)
        return consensus.wait_response(read)

    async def Claim(self, request: ClaimRequest, session: Session) -> ClaimResponse:
        board = session.caller.board
        wanted = claims.claim_from_wire(request, board=board, limits=self._limits)
        call = self._calls.mutation(session.caller, request, claims.claim_response, ClaimResponse)
        return await self._claims.claim(call, wanted, token=request.activation_token)

    async def ListClaims(self, request: ListClaimsRequest, session: Session) -> ListClaimsResponse:
        key = normal_key(request.key, field="key", limits=self._limits)
        point, after = claims.claims_place(request, session.caller)
        size = page_size(request.page_size, limits=self._limits)
        read = await self._claims.list(session.caller, key, point=point, after=after, size=size)
        return claims.claims_response(read, request, session.caller)

    async def Resolve(self, request: ResolveRequest, session: Session) -> ResolveResponse:
        truth = claims.truth_from_wire(request, limits=self._limits)
        call = self._calls.mutation(
            session.caller, request, claims.resolve_response, ResolveResponse
        )
        return await self._claims.resolve(call, truth, token=request.activation_token)

    async def Explain(self, request: ExplainRequest, session: Session) -> ExplainResponse:
        key = normal_key(request.key, field="key", limits=self._limits)
        found = await self._explanations.explain(session.caller, key, consensus.read_point(request))
        return explanations.explain_response(found, limits=self._limits)
