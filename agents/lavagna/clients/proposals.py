"""Proposals: the client that looks at them, and waits for what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from lavagna.checks import checked_flag, checked_several, checked_text, checked_type
from lavagna.clients.consensus_codec import outcome_number, proposal_of
from lavagna.errors import NotInTime
from lavagna.paging import pages
from lavagna.proposals import Outcome, Proposal
from lavagna.retry import PATIENT
from lavagna.times import Seconds, duration, seconds
from lavagna.v1 import consensus_pb2 as wire
from lavagna.views import View

_POLL_SECONDS = 20.0
"""Shorter than the channel's keepalive, so that waiting proves that the server lives."""


class Proposals:
    """The proposals of one board."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._stub = view.caller.stubs.consensus

    async def get(self, key: str, *, at: int | None = None) -> Proposal:
        """The proposal of that key with its ballots, decided or not, now or as of a revision."""
        request = wire.GetProposalRequest(
            board=self._view.caller.board_name, proposal_key=checked_text(key, field="key")
        )
        answer = await self._view.read(self._stub.GetProposal, request, at=at)
        return proposal_of(answer.proposal)

    async def list(
        self,
        pattern: str = "",
        *,
        outcomes: Sequence[Outcome] = (),
        awaiting_me: bool = False,
        at: int | None = None,
    ) -> AsyncIterator[Proposal]:
        """The proposals about entries that match, by key, all of one revision.

        `outcomes` narrows them to those that stand or ended so, and `awaiting_me` to those in which
        the caller has a vote and has not cast it.
        """
        request = wire.ListProposalsRequest(
            board=self._view.caller.board_name,
            pattern=checked_text(pattern, field="pattern"),
            outcomes=[outcome_number(each) for each in checked_several(outcomes, field="outcomes")],
            awaiting_me=checked_flag(awaiting_me, field="awaiting_me"),
        )

        async def fetch(request: wire.ListProposalsRequest) -> wire.ListProposalsResponse:
            return await self._view.read(self._stub.ListProposals, request, at=at)

        async for page in pages(fetch, request):
            for message in page.proposals:
                yield proposal_of(message)

    async def wait(
        self,
        proposal: Proposal | str,
        *,
        timeout: Seconds | None = None,  # noqa: ASYNC109 - the word that shells and people say
    ) -> Proposal:
        """Waits until a proposal, or the one of that key, is decided; gives it as it ended.

        Raises:
            NotInTime: It was not decided in time; this is a `TimeoutError` too.
        """
        checked_type(proposal, (str, Proposal), field="proposal")
        key = proposal if isinstance(proposal, str) else proposal.key
        request = wire.WaitProposalRequest(
            board=self._view.caller.board_name,
            proposal_key=checked_text(key, field="proposal"),
            wait=duration(_POLL_SECONDS, field="wait"),
        )
        limit_seconds = None if timeout is None else seconds(timeout, field="timeout")
        stand = "" if isinstance(proposal, str) else f": {proposal.reason}"
        try:
            async with asyncio.timeout(limit_seconds):
                while (found := await self._polled(request)).is_open:
                    stand = f": {found.reason}"
        except TimeoutError:
            raise NotInTime(f"{key} was not decided within {limit_seconds} s{stand}") from None
        return found

    async def _polled(self, request: wire.WaitProposalRequest) -> Proposal:
        answer = await self._view.caller.retrying(PATIENT).ask(self._stub.WaitProposal, request)
        self._view.note(answer.header)
        return proposal_of(answer.proposal)
