"""Consensus: what a view of a board can have decided, or merged, by others.

All of it is about the shared space, the only one with regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

from lavagna.changes import Change, Delete, Put, change_message
from lavagna.checks import checked_number, checked_text, checked_type
from lavagna.claims import Claimed
from lavagna.clients import Claims, Proposals
from lavagna.clients.consensus_codec import choice_number, explanation_of, proposal_of
from lavagna.entries import Entry, Space, entry_of
from lavagna.errors import Invalid
from lavagna.explanations import Explanation
from lavagna.proposals import Choice, Proposal
from lavagna.times import Seconds
from lavagna.v1 import consensus_pb2 as wire
from lavagna.values import Value
from lavagna.views import View


class Consensus:
    """Proposes, votes, claims and has explained what came of it."""

    def __init__(self, view: View) -> None:
        self._view = view

    async def propose(
        self,
        key: str,
        value: Value,
        *,
        expected_version: int | None = None,
        tags: Sequence[str] = (),
        confidence: float | None = None,
        sources: Sequence[str] = (),
        ttl: Seconds | None = None,
    ) -> Proposal:
        """Writes an entry where that waits for votes, and gives the proposal that it became.

        It is decided already when the author's own vote was enough. Any write there proposes.

        Raises:
            Conflict: The entry is not at the expected version.
            NotVoted: The write would wait for nobody's vote.
            QuorumImpossible: The electorate could never accept it.
        """
        put = Put(
            key,
            value,
            expected_version=expected_version,
            tags=tags,
            confidence=confidence,
            sources=sources,
            ttl=ttl,
        )
        return await self._proposed(put)

    async def propose_delete(self, key: str, *, expected_version: int | None = None) -> Proposal:
        """Proposes to delete an entry.

        Raises:
            Conflict: The entry is not at the expected version.
            NotFound: There is no such entry.
            NotVoted: The deletion would wait for nobody's vote.
            QuorumImpossible: The electorate could never accept it.
        """
        return await self._proposed(Delete(key, expected_version=expected_version))

    async def vote(
        self,
        proposal: Proposal,
        choice: Choice,
        *,
        confidence: float | None = None,
        reason: str = "",
    ) -> Proposal:
        """Casts a ballot on what was looked at, and gives the proposal as it stands then.

        A later ballot takes the place of an earlier one while the proposal is open.

        Raises:
            ContentMismatch: The proposal is about something else.
            NotAVoter: The caller was not in the electorate when it was made.
            PollClosed: It is decided.
        """
        self._check_shared()
        checked_type(proposal, Proposal, field="proposal")
        request = wire.VoteRequest(
            board=self._view.caller.board_name,
            activation_token=self._view.activation_token,
            proposal_key=proposal.key,
            choice=choice_number(choice),
            reason=checked_text(reason, field="reason"),
            content_hash=proposal.content_hash,
            base_version=proposal.base_version,
        )
        if confidence is not None:
            request.confidence = checked_number(confidence, field="confidence")
        answer = await self._view.caller.mutate(self._view.caller.stubs.consensus.Vote, request)
        self._view.note(answer.header)
        return proposal_of(answer.proposal)

    async def claim(
        self,
        key: str,
        value: Value,
        *,
        tags: Sequence[str] = (),
        confidence: float | None = None,
        sources: Sequence[str] = (),
        ttl: Seconds | None = None,
    ) -> Claimed:
        """States what the caller holds to be true about a key, and gives what all claims come to.

        It takes the place of the caller's earlier claim, and never conflicts with anybody's. Any
        write there claims.

        Raises:
            NotMerged: Claims are not merged there.
        """
        self._check_shared()
        put = Put(key, value, tags=tags, confidence=confidence, sources=sources, ttl=ttl)
        request = wire.ClaimRequest(
            board=self._view.caller.board_name,
            activation_token=self._view.activation_token,
            change=change_message(put),
        )
        answer = await self._view.caller.mutate(self._view.caller.stubs.consensus.Claim, request)
        self._view.note(answer.header)
        claimed = Claimed(entry_of(answer.claim), entry_of(answer.merged))
        self._view.remember(claimed.merged)
        return claimed

    @overload
    async def withdraw(self, subject: Proposal, *, reason: str = "") -> Proposal: ...

    @overload
    async def withdraw(self, subject: str, *, reason: str = "") -> Entry | None: ...

    async def withdraw(
        self, subject: Proposal | str, *, reason: str = ""
    ) -> Proposal | Entry | None:
        """Ends a proposal that waits for votes; or, by the key it is about, the caller's claim.

        A proposal is given as it was looked at, and alone may be given a reason; who has its key
        has `proposals.get`. Returns the proposal as it ended; or what the claims that are left come
        to, None without any.

        Raises:
            NotFound: There is no such proposal or claim.
            PermissionDenied: The proposal is another's, and the caller no administrator.
            PollClosed: The proposal is decided.
        """
        self._check_shared()
        checked_type(subject, (str, Proposal), field="subject")
        request = wire.WithdrawRequest(
            board=self._view.caller.board_name,
            activation_token=self._view.activation_token,
            reason=checked_text(reason, field="reason"),
        )
        if isinstance(subject, Proposal):
            request.proposal_key = subject.key
        elif reason:
            raise Invalid.field("reason", "a claim is withdrawn without one")
        else:
            request.claimed_key = checked_text(subject, field="subject")
        stub = self._view.caller.stubs.consensus
        answer = await self._view.caller.mutate(stub.Withdraw, request)
        self._view.note(answer.header)
        if isinstance(subject, Proposal):
            return proposal_of(answer.proposal)
        merged = entry_of(answer.merged) if answer.HasField("merged") else None
        self._view.remember_version(subject, None if merged is None else merged.version)
        return merged

    async def explain(self, key: str, *, at: int | None = None) -> Explanation:
        """How the entry at a key, or the proposal of that key, came about.

        Raises:
            NotFound: There is neither, or the caller may not read it.
        """
        self._check_shared()
        request = wire.ExplainRequest(
            board=self._view.caller.board_name, key=checked_text(key, field="key")
        )
        stub = self._view.caller.stubs.consensus
        return explanation_of(await self._view.read(stub.Explain, request, at=at))

    @cached_property
    def proposals(self) -> Proposals:
        """The proposals of this board."""
        self._check_shared()
        return Proposals(self._view)

    @cached_property
    def claims(self) -> Claims:
        """The claims on this board."""
        self._check_shared()
        return Claims(self._view)

    async def _proposed(self, change: Change) -> Proposal:
        self._check_shared()
        request = wire.ProposeRequest(
            board=self._view.caller.board_name,
            activation_token=self._view.activation_token,
            change=change_message(change),
        )
        answer = await self._view.caller.mutate(self._view.caller.stubs.consensus.Propose, request)
        self._view.note(answer.header)
        return proposal_of(answer.proposal)

    def _check_shared(self) -> None:
        """Checks that nothing private is carried into the shared space by mistake."""
        if self._view.space is not Space.SHARED:
            raise Invalid.field("space", "a private space has no regions; use the board itself")
