"""Agent: a program's part in a crew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Literal, Self, TypeVar

from lavagna.board import Board
from lavagna.channel import Identity
from lavagna.checks import (
    INT32_MAX,
    checked_choice,
    checked_several,
    checked_text,
    checked_texts,
    checked_type,
    checked_whole,
)
from lavagna.clients.trigger_codec import trigger_message
from lavagna.entries import ChangeType, Kind, Space
from lavagna.errors import Invalid
from lavagna.registration import Function, Registration, checked_function
from lavagna.runtime import Runtime, Terms
from lavagna.tasks import ended, sharing_fate
from lavagna.times import seconds
from lavagna.triggers import Limits, Mode, Schedule, Source, Trigger
from lavagna.views import View
from lavagna.voting import VotingFunction, proposed, voting

Decorated = TypeVar("Decorated", bound=Function)
DecoratedVoting = TypeVar("DecoratedVoting", bound=VotingFunction)

_MODES = {mode: mode for mode in (Mode.EDGE, Mode.EVERY)}
_SPACES = {space: space for space in Space}
_NEVER_OF_NOTES = frozenset({ChangeType.PROPOSED, ChangeType.DECIDED})


class Agent:
    """A named agent with functions that the board wakes.

    Once joined it takes work, keeps the leases alive, goes on over restarts of the server, and
    cancels a function whose lease is lost.
    """

    def __init__(
        self,
        name: str,
        *,
        teams: Sequence[str] = (),
        token: str | None = None,
        concurrency: int = 1,
        session: str | None = None,
        grace_seconds: float = 10.0,
    ) -> None:
        Identity(checked_text(name, field="name"), token)
        if session is not None:
            checked_text(session, field="session")
        self.name = name
        self._token, self._session = token, session
        self._terms = Terms(
            name,
            checked_texts(teams, field="teams"),
            checked_whole(concurrency, field="concurrency", least=1, most=INT32_MAX),
            seconds(grace_seconds, field="grace_seconds"),
        )
        self._registrations: dict[str, Registration] = {}
        self._stop = asyncio.Event()
        self._is_joined = False

    def on(
        self,
        *patterns: str | Source,
        when: str = "",
        rating: str | int = "",
        reads: Sequence[str] = (),
        mode: Literal["edge", "every"] = "edge",
        changes: Sequence[ChangeType] = (),
        space: Space | Literal["shared", "private"] = Space.SHARED,
        team: str = "",
        name: str = "",
        own_writes: bool = False,
        limits: Limits | None = None,
    ) -> Callable[[Decorated], Decorated]:
        """Wakes the function for entries that match a pattern and make the condition true.

        A pattern that is given as a string means notes, and `changes` narrows it to some types of
        change; a `Source` says which kinds. With a `team` any of its members may do the work.
        `name` is the trigger's id; without it the id is the team's or else the agent's name, a dot,
        and the function's name. The other options are those of `Trigger`.

        Raises:
            Invalid: An option is not what it has to be.
            TypeError: What is decorated is not a coroutine function.
        """
        sources = [_notes(each, changes) if isinstance(each, str) else each for each in patterns]
        trigger = Trigger(
            id=name,
            on=sources,
            reads=reads,
            when=when,
            rating=_rating(rating),
            mode=checked_choice(mode, _MODES, field="mode"),
            limits=limits or Limits(),
            space=checked_choice(space, _SPACES, field="space"),
            team=team,
            own_writes=own_writes,
        )
        return self._registering(trigger)

    def votes_on(
        self,
        *patterns: str,
        when: str = "",
        rating: str | int = "",
        reads: Sequence[str] = (),
        name: str = "",
        limits: Limits | None = None,
    ) -> Callable[[DecoratedVoting], DecoratedVoting]:
        """Wakes the function for proposals about entries that match, and casts the ballot it says.

        The function looks at `work.proposal` and returns a `Choice`, or `(choice, confidence,
        reason)`; None casts no ballot. It is woken for open proposals in which the agent has a vote
        that it has not cast, and for none of its own. In the condition `entry` is the proposal's
        entry, with what is proposed as its value. The other options are those of `on`.

        Raises:
            Invalid: An option is not what it has to be.
            TypeError: What is decorated is not a coroutine function.
        """
        waking = self.on(
            *(proposed(each) for each in patterns),
            when=when,
            rating=rating,
            reads=reads,
            name=name,
            limits=limits,
        )

        def register(function: DecoratedVoting) -> DecoratedVoting:
            waking(voting(function, self.name))
            return function

        return register

    def due(
        self,
        *,
        cron: str = "",
        at: datetime | None = None,
        time_zone: str = "UTC",
        when: str = "",
        rating: str | int = "",
        reads: Sequence[str] = (),
        space: Space | Literal["shared", "private"] = Space.SHARED,
        team: str = "",
        name: str = "",
        limits: Limits | None = None,
    ) -> Callable[[Decorated], Decorated]:
        """Wakes the function once at a time, or at each time of a cron rule.

        Raises:
            Invalid: An option is not what it has to be.
            TypeError: What is decorated is not a coroutine function.
        """
        if bool(cron) == (at is not None):
            raise Invalid.field("cron", "give either a cron rule or a time `at`")
        trigger = Trigger(
            id=name,
            reads=reads,
            when=when,
            rating=_rating(rating),
            mode=Mode.DUE,
            schedule=Schedule(at=at, cron=cron, time_zone=time_zone),
            limits=limits or Limits(),
            space=checked_choice(space, _SPACES, field="space"),
            team=team,
        )
        return self._registering(trigger)

    async def join(self, board: Board) -> None:
        """Works on the board until `stop`.

        Raises:
            LavagnaError: The server cannot be reached at first, or refuses this agent.
        """
        await self._run(self._runtime(board))

    @asynccontextmanager
    async def joined(self, board: Board) -> AsyncGenerator[Self]:
        """Works on the board beside the block, and stops at its end.

        The block begins once the triggers are set. If the agent is refused, the block is cancelled
        and the refusal raised.
        """
        runtime = self._runtime(board)
        running = asyncio.create_task(self._run(runtime), name=f"{self.name}: joined")
        ready = asyncio.create_task(runtime.ready.wait(), name=f"{self.name}: ready")
        try:
            await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
            with sharing_fate(running):
                yield self
            self.stop()
            await running
        finally:
            await ended([running, ready])

    def stop(self) -> None:
        """Takes no more work; `join` returns when what runs has finished or the grace is over."""
        self._stop.set()

    def _registering(self, trigger: Trigger) -> Callable[[Decorated], Decorated]:
        trigger_message(trigger)  # what is wrong with it is told where it is written

        def register(function: Decorated) -> Decorated:
            default = f"{trigger.team or self.name}.{getattr(function, '__name__', 'function')}"
            named = replace(trigger, id=trigger.id or default)
            if named.id in self._registrations:
                raise Invalid.field("name", f"{self.name} has a trigger {named.id} already")
            self._registrations[named.id] = Registration(named, checked_function(function))
            return function

        return register

    def _runtime(self, board: Board) -> Runtime:
        caller = board.view.caller
        if self._token is not None or caller.identity.token is None:
            caller = caller.acting_as(Identity(self.name, self._token))
        if self._session is not None:
            caller = replace(caller, session=self._session)
        return Runtime(self._terms, list(self._registrations.values()), View(caller))

    async def _run(self, runtime: Runtime) -> None:
        if self._is_joined:
            raise RuntimeError(f"{self.name} has joined a board already")
        self._is_joined = True
        try:
            await runtime.run(self._stop)
        finally:
            self._is_joined = False
            self._stop.clear()


def _notes(pattern: str, changes: Sequence[ChangeType]) -> Source:
    """Changes of notes; what is kept about them below their keys wakes only who asks for it."""
    if not _NEVER_OF_NOTES.isdisjoint(checked_several(changes, field="changes")):
        raise Invalid.field(
            "changes",
            "a note is never proposed or decided; give `Source(pattern, kinds=[Kind.PROPOSAL])`",
        )
    return Source(pattern, kinds=(Kind.NOTE,), changes=changes)


def _rating(rating: str | int) -> str:
    checked_type(rating, (str, int), field="rating", expected="a CEL expression or a whole number")
    return str(rating)
