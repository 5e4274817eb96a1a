"""Work: one attempt at one activation, in an agent's hands."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from lavagna.activations import Activation, Lease
from lavagna.board import Board
from lavagna.changes import Change, Put
from lavagna.clients.activations import Activations
from lavagna.conditions import Absent, Condition
from lavagna.entries import Committed, Entry
from lavagna.errors import LeaseLost
from lavagna.proposals import Proposal
from lavagna.retry import PATIENT
from lavagna.times import Seconds
from lavagna.values import Value
from lavagna.views import Seen, View


class Work:
    """What an agent's function gets: an activation, and the means to settle it."""

    def __init__(self, lease: Lease, view: View) -> None:
        self.activation: Activation = lease.activation
        """The firing that this work is about."""
        self.entry: Entry | None = lease.entry
        """The entry that fired it: as it is now for `edge`, as the change left it for `every`."""
        self.old: Entry | None = lease.old
        """The version before the change, for `every`."""
        self.bind: Mapping[str, str] = lease.activation.bind
        """The segments that the pattern bound."""
        self.proposal: Proposal | None = None
        """What is to be voted on, for a function of `Agent.votes_on`."""
        self.attempt: int = lease.activation.attempt
        """Counts the attempts from 1."""
        self.lost = asyncio.Event()
        """Set when the lease is lost; the function is cancelled then."""
        self._token = lease.token
        self._seen = Seen()
        caller = view.caller.retrying(PATIENT)
        # The firing was seen, so reads must not fall behind it (S5).
        space = lease.activation.space
        caller.revisions.saw(caller.log(space), lease.activation.fired_revision)
        view = View(caller, space, lease.token, self._seen)
        self.board: Board = Board(view)
        """The board, in the activation's space; once the lease is lost its writes are refused."""
        self._activations = Activations(caller)
        self._settled = False
        if lease.entry is not None:
            view.remember(lease.entry)

    @property
    def settled(self) -> bool:
        """Whether the activation was completed, failed or released."""
        return self._settled

    async def complete(
        self,
        changes: Mapping[str, Value] | Sequence[Change] = (),
        *,
        conditions: Sequence[Condition] = (),
        otherwise: Sequence[Change] = (),
    ) -> Committed:
        """Commits the changes and completes the activation together, or neither.

        A mapping puts each value at its key: over the version that `board` saw of it in this
        work, or else only where there is no entry. Claims want no such guard: give them as `Put`s.

        Raises:
            Conflict: A key was changed by somebody else meanwhile; nothing was written, and the
                work goes on.
            LeaseLost: The lease is lost; nothing was written.
        """
        if isinstance(changes, Mapping):
            puts = [self._guarded(key, value) for key, value in changes.items()]
            changes = [put for put, _ in puts]
            conditions = [*(guard for _, guard in puts if guard is not None), *conditions]
        with self._noticing_loss():
            committed = await self._activations.complete(
                self._token,
                changes,
                conditions=conditions,
                otherwise=otherwise,
                space=self.activation.space,
            )
        self._settled = True
        return committed

    async def fail(
        self, reason: str, *, retry_after: Seconds | None = None, final: bool = False
    ) -> Activation:
        """Gives up this attempt; the activation is tried again later, unless this is `final`.

        Raises:
            LeaseLost: The lease is lost; whoever has it now decides.
        """
        with self._noticing_loss():
            failed = await self._activations.fail(
                self._token, reason, retry_after=retry_after, final=final
            )
        self._settled = True
        return failed

    async def release(self) -> Activation:
        """Gives the lease back without counting an attempt.

        Raises:
            LeaseLost: The lease is lost already.
        """
        with self._noticing_loss():
            released = await self._activations.release(token=self._token)
        self._settled = True
        return released

    def _guarded(self, key: str, value: Value) -> tuple[Put, Condition | None]:
        seen = self._seen.version(self.activation.space, key)
        if seen is None:
            return Put(key, value), Absent(key)
        return Put(key, value, expected_version=seen), None

    @contextmanager
    def _noticing_loss(self) -> Generator[None]:
        try:
            yield
        except LeaseLost:
            self.lost.set()
            raise
