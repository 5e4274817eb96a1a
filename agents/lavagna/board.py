"""Board: what an agent sees of a board, and how it changes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal, overload

from lavagna.channel import Identity
from lavagna.checks import checked_count, checked_flag, checked_text
from lavagna.clients import Activations, Boards, Members, Regions, Triggers
from lavagna.commits import Commit, State, Target, target_message
from lavagna.consensus import Consensus
from lavagna.entries import Kind, Space, Written
from lavagna.reads import Reads
from lavagna.retry import CONTENDED
from lavagna.times import Seconds
from lavagna.triggers import Evaluation
from lavagna.updating import updated
from lavagna.v1 import watch_pb2
from lavagna.values import Value
from lavagna.views import View
from lavagna.waiting import wait_until
from lavagna.watch import Watch
from lavagna.writes import Writes


class Board(Reads, Writes, Consensus):
    """One agent's view of one space of a board."""

    def __init__(self, view: View) -> None:
        super().__init__(view)

    def __repr__(self) -> str:
        return f"<Board {self.name!r} ({self.space}) as {self.agent_name or 'its token'!r}>"

    @property
    def name(self) -> str:
        """The board's name."""
        return self._view.caller.board

    @property
    def agent_name(self) -> str:
        """The name that calls are made in; empty when the caller only gave a token."""
        return self._view.caller.identity.agent

    @property
    def space(self) -> Space:
        """Which log of the board this is a view of."""
        return self._view.space

    @property
    def view(self) -> View:
        """What this board stands on; for the rest of the SDK."""
        return self._view

    @cached_property
    def private(self) -> Board:
        """The caller's private space of the same board."""
        return Board(replace(self._view, space=Space.PRIVATE))

    def as_agent(self, name: str, *, token: str | None = None) -> Board:
        """The same board as another agent sees it, over the same connection."""
        identity = Identity(checked_text(name, field="name"), token)
        caller = self._view.caller.acting_as(identity)
        return Board(View(caller, self._view.space))

    async def update(
        self,
        key: str,
        change: Callable[[Value], Value],
        *,
        attempts: int = CONTENDED.attempts_max,
    ) -> Written:
        """Reads the entry, changes its value and writes it, again when somebody was faster.

        `change` gets the value, or None where there is no entry, and returns the new one, or an
        awaitable of it; it may run several times. No write of anybody's is lost. Where others
        have a say the result is a proposal of what `change` made, or a claim.

        Raises:
            Conflict: Somebody was faster at every attempt.
        """
        return await updated(self, key, change, attempts=attempts)

    @overload
    def watch(
        self,
        *targets: str | Target,
        token: str | None = None,
        after: int | None = None,
        initial_state: Literal[False] = False,
    ) -> Watch[Commit]: ...

    @overload
    def watch(
        self,
        *targets: str | Target,
        token: str | None = None,
        after: int | None = None,
        initial_state: bool,
    ) -> Watch[Commit | State]: ...

    def watch(
        self,
        *targets: str | Target,
        token: str | None = None,
        after: int | None = None,
        initial_state: bool = False,
    ) -> Watch[Commit] | Watch[Commit | State]:
        """The commits that match: from now on, after a revision, or after a token.

        No target means everything in this space. With `initial_state` the state comes first, as
        `State` items, the last of them with `synced`. Bookmarks are consumed and only move
        `Watch.token`. A pattern means entries of every kind, proposals, ballots and claims too; a
        `Target` narrows it.
        """
        request = watch_pb2.WatchRequest(
            board=self._view.caller.board_name,
            targets=[target_message(each, space=self.space) for each in targets or ("",)],
            token=checked_text("" if token is None else token, field="token"),
            initial_state=checked_flag(initial_state, field="initial_state"),
        )
        if after is not None:
            request.after_revision = checked_count(after, field="after")
        return Watch[Commit | State](self._view.caller, request)

    async def wait(
        self,
        when: str,
        *,
        on: str = "**",
        reads: Sequence[str] = (),
        timeout: Seconds | None = None,  # noqa: ASYNC109 - the word that shells and people say
        kind: Kind = Kind.NOTE,
    ) -> Evaluation:
        """Waits until a condition (CEL, as a trigger's `when`) holds for an entry of that kind.

        Every revision that touches what `on` and `reads` name is looked at, so a condition that
        holds only for a moment is seen as well. Time alone (`now`) wakes nobody.

        Raises:
            Invalid: The condition or a pattern is malformed.
            NotInTime: It did not hold in time; this is a `TimeoutError` too.
        """
        return await wait_until(self, when, on=on, reads=reads, limit=timeout, kind=kind)

    @cached_property
    def triggers(self) -> Triggers:
        """The triggers of this board."""
        return Triggers(self._view.caller)

    @cached_property
    def activations(self) -> Activations:
        """The agenda of this board."""
        return Activations(self._view.caller)

    @cached_property
    def agents(self) -> Members:
        """The agents of this board."""
        return Members(self._view.caller)

    @cached_property
    def regions(self) -> Regions:
        """The regions of this board."""
        return Regions(self._view.caller)

    @cached_property
    def boards(self) -> Boards:
        """The boards of the server."""
        return Boards(self._view.caller)
