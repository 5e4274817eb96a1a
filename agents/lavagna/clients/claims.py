"""Claims: the client that looks at them, and says what turned out to be true."""

from __future__ import annotations

from collections.abc import AsyncIterator

from lavagna.checks import checked_number, checked_text
from lavagna.claims import Resolved
from lavagna.entries import Entry, entry_of
from lavagna.paging import pages
from lavagna.v1 import consensus_pb2 as wire
from lavagna.values import Value, encoded
from lavagna.views import View


class Claims:
    """The claims on one board."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._stub = view.caller.stubs.consensus

    async def list(self, key: str, *, at: int | None = None) -> AsyncIterator[Entry]:
        """The live claims about a key, by agent, all of one revision."""
        request = wire.ListClaimsRequest(
            board=self._view.caller.board_name, key=checked_text(key, field="key")
        )

        async def fetch(request: wire.ListClaimsRequest) -> wire.ListClaimsResponse:
            return await self._view.read(self._stub.ListClaims, request, at=at)

        async for page in pages(fetch, request):
            for message in page.claims:
                yield entry_of(message)

    async def resolve(self, key: str, value: Value, *, tolerance: float = 0.0) -> Resolved:
        """Says what is true about a key: the claims end, and what their agents say is weighed by it.

        A claimed number is right within `tolerance`. The region's owner, and administrators.

        Raises:
            NotFound: There are no claims about it.
            NotMerged: Claims are not merged there.
            PermissionDenied: The caller may not say what is true there.
        """
        request = wire.ResolveRequest(
            board=self._view.caller.board_name,
            activation_token=self._view.activation_token,
            key=checked_text(key, field="key"),
            value=encoded(value),
            tolerance=checked_number(tolerance, field="tolerance"),
        )
        answer = await self._view.caller.mutate(self._stub.Resolve, request)
        self._view.note(answer.header)
        resolved = Resolved(entry_of(answer.entry), tuple(answer.right), tuple(answer.wrong))
        self._view.remember(resolved.entry)
        return resolved
