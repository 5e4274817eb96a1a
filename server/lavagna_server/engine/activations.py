"""Activations: handing out work, and taking back its results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from lavagna_server.domain.agenda import (
    Activation,
    ActivationFilter,
    ActivationId,
    ActivationState,
    failed,
    finished,
    offered,
    released,
    replayed,
)
from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.entries import Request, Space, SpaceName
from lavagna_server.domain.errors import (
    Invalid,
    LeaseLost,
    NotFound,
    PermissionDenied,
    RoleRequired,
    WrongState,
)
from lavagna_server.domain.leases import parse_token, renewed
from lavagna_server.domain.regions import TEAM_PREFIX
from lavagna_server.domain.triggers import TriggerId
from lavagna_server.engine.bell import Bell, either
from lavagna_server.engine.calls import Call
from lavagna_server.engine.catalog import BoardCatalog
from lavagna_server.engine.commits import Log, Written, held, touches
from lavagna_server.engine.discretion import may_work_on, told_activation
from lavagna_server.engine.firing import count
from lavagna_server.engine.grants import Grants, Leased
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.once import once
from lavagna_server.engine.workspace import Workspace
from lavagna_server.ports.store import Order, Snapshot

R = TypeVar("R")

PAGE = 1_000
"""Activations read at once, at most."""


@dataclass(frozen=True, slots=True)
class Acquired:
    """The work that a caller was given; none when the wait was in vain."""

    space: Space
    at: datetime
    leases: tuple[Leased, ...]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What became of one lease."""

    token: str
    expires_at: datetime | None
    """None when it is lost."""
    lost_reason: str = ""


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """One answer per token, in order."""

    space: Space
    at: datetime
    results: tuple[Heartbeat, ...]


class Activations:
    """The agenda as its workers meet it."""

    def __init__(self, ground: Ground, log: Log, grants: Grants, bell: Bell) -> None:
        self._writer, self._catalog, self._readers = ground.writer, ground.catalog, ground.readers
        self._log, self._grants, self._bell = log, grants, bell

    async def acquire(
        self,
        call: Call[Acquired, R],
        *,
        most: int,
        wait: timedelta,
        triggers: frozenset[str],
        until: asyncio.Event,
    ) -> R:
        """Leases the best activations that the caller may work on, waiting for one up to `wait` or until `until` is set."""
        caller = call.caller
        if caller.role < Role.AGENT:
            raise RoleRequired(agent=caller.agent, role=caller.role.name.lower(), needs="agent")
        deadline = asyncio.get_running_loop().time() + wait.total_seconds()

        found = True

        def operation(work: Workspace) -> Acquired:
            nonlocal found
            leases: list[Leased] = []
            for space in (SpaceName(caller.board), SpaceName(caller.board, caller.agent)):
                leases += self._grants.claim(
                    work, caller, space, only=triggers, most=most - len(leases)
                )
            found = bool(leases)
            return Acquired(work.space(SpaceName(caller.board)), work.now, tuple(leases))

        workers = (caller.agent, *(TEAM_PREFIX + team for team in caller.teams))
        with self._bell.listening(caller.board, workers) as rung:
            while True:
                rung.clear()
                found = True  # a recorded response is one with leases
                response = await once(
                    self._writer, call, operation, is_effect=lambda acquired: bool(acquired.leases)
                )
                left = deadline - asyncio.get_running_loop().time()
                if found or left <= 0 or until.is_set():
                    return response
                await either(rung, until, seconds=left)

    async def heartbeat(self, caller: Caller, tokens: Sequence[str]) -> Heartbeats:
        """Extends leases; each token has an answer of its own."""
        parsed = [
            parse_token(token, field=f"tokens[{index}]") for index, token in enumerate(tokens)
        ]

        def operation(work: Workspace) -> Heartbeats:
            results: list[Heartbeat] = []
            for text, token in zip(tokens, parsed, strict=True):
                try:
                    activation = held(work, caller, token)
                except LeaseLost as lost:
                    results.append(Heartbeat(text, None, lost.why))
                    continue
                assert activation.lease is not None
                lease = renewed(activation.lease, now=work.now)
                work.agenda.put(replace(activation, lease=lease))
                results.append(Heartbeat(text, lease.expires_at))
            return Heartbeats(work.space(SpaceName(caller.board)), work.now, tuple(results))

        return await self._writer.perform(operation)

    async def complete(self, call: Call[Written, R], token: str, request: Request) -> R:
        """Commits the result and completes the activation together, or neither (A3). The request's space is the activation's."""
        lease = parse_token(token, field="activation_token")
        request = replace(request, space=lease.space)

        def operation(work: Workspace) -> Written:
            activation = held(work, call.caller, lease)
            done = finished(activation, ActivationState.COMPLETED, now=work.now)
            written = self._log.write(work, call.caller, request, activation.cause)
            work.agenda.put(replace(done, completed_revision=written.space.head))
            count(work, activation, completed=1)
            return written

        return await once(self._writer, call, operation, touches=touches(request))

    async def fail(
        self,
        call: Call[Activation, R],
        token: str,
        *,
        reason: str,
        retry_after: timedelta | None,
        final: bool,
    ) -> R:
        """Gives up an attempt: the activation waits for its backoff, or becomes a dead letter."""
        lease = parse_token(token, field="activation_token")

        def operation(work: Workspace) -> Activation:
            activation = held(work, call.caller, lease)
            after = failed(
                activation, now=work.now, reason=reason, retry_after=retry_after, final=final
            )
            work.agenda.put(after)
            count(work, activation, failed=1, dead=int(after.state is ActivationState.DEAD))
            return after

        return await once(self._writer, call, operation)

    async def release(
        self, call: Call[Activation, R], *, token: str, activation: ActivationId | None
    ) -> R:
        """Gives a lease back without counting the attempt, or lets go an activation that is held back."""
        if token:
            lease = parse_token(token, field="activation_token")
            return await once(
                self._writer,
                call,
                lambda work: _put(work, released(held(work, call.caller, lease))),
            )
        if activation is None:
            raise Invalid("subject", "give the token of a lease, or the name of a held activation")
        return await self._change(
            call, activation, frozenset({ActivationState.HELD}), lambda _, each: offered(each)
        )

    async def hold(
        self, call: Call[Activation, R], activation: ActivationId, until: datetime | None
    ) -> R:
        """Holds a waiting activation back from being offered."""

        def held_back(_: Workspace, each: Activation) -> Activation:
            return replace(each, state=ActivationState.HELD, not_before=until)

        waiting = frozenset({ActivationState.WAITING, ActivationState.HELD})
        return await self._change(call, activation, waiting, held_back)

    async def cancel(self, call: Call[Activation, R], activation: ActivationId, reason: str) -> R:
        """Ends an activation without a result; its holder's token is stale from then on."""

        def cancelled(work: Workspace, each: Activation) -> Activation:
            return finished(
                each,
                ActivationState.CANCELLED,
                now=work.now,
                reason=reason or f"cancelled by {call.caller.agent}",
            )

        states = frozenset({ActivationState.WAITING, ActivationState.HELD, ActivationState.LEASED})
        return await self._change(call, activation, states, cancelled)

    async def replay(self, call: Call[Activation, R], activation: ActivationId) -> R:
        """Offers an ended activation again, with its attempts counted anew."""

        def replay(work: Workspace, each: Activation) -> Activation:
            if work.trigger(each.trigger_id) is None:
                raise NotFound(f"trigger {each.trigger}")
            return replayed(each)

        return await self._change(call, activation, frozenset(ActivationState), replay)

    async def get(self, caller: Caller, activation: ActivationId) -> Activation:
        """One activation that the caller may know of."""
        _check_visible(caller, activation.space, str(activation))
        found = await self._readers.run(lambda snapshot: snapshot.activation(activation))
        return _told(self._catalog.board(caller.board), found, caller, activation)

    async def list(
        self,
        caller: Caller,
        space: SpaceName,
        *,
        states: frozenset[ActivationState],
        trigger: str,
        below_number: int,
        size: int,
    ) -> Sequence[Activation]:
        """A page of the activations that the caller may know of, the newest first."""
        _check_visible(caller, space, str(space))
        board = self._catalog.board(caller.board)
        where = ActivationFilter(
            space=space, states=states, trigger=trigger, below_number=below_number
        )

        def read(snapshot: Snapshot) -> Sequence[Activation]:
            found = _newest_first(snapshot, where, at_once=size)
            told = (told_activation(board, each, caller) for each in found)
            return list(islice((each for each in told if each is not None), size))

        return await self._readers.run(read)

    async def _change(
        self,
        call: Call[Activation, R],
        id_: ActivationId,
        states: frozenset[ActivationState],
        change: Callable[[Workspace, Activation], Activation],
    ) -> R:
        """Applies a change that somebody other than the holder makes."""

        def operation(work: Workspace) -> Activation:
            _check_visible(call.caller, id_.space, str(id_))
            board = work.board(id_.space.board)
            activation = work.agenda.get(id_)
            _told(board, activation, call.caller, id_)
            assert activation is not None
            _check_may_steer(work, call.caller, activation)
            if activation.state not in states:
                needs = " or ".join(sorted(state.value for state in states))
                raise WrongState(str(id_), state=activation.state.value, needs=needs)
            return _told(board, _put(work, change(work, activation)), call.caller, id_)

        return await once(self._writer, call, operation)


def _put(work: Workspace, activation: Activation) -> Activation:
    work.agenda.put(activation)
    return activation


def _told(
    board: BoardCatalog, activation: Activation | None, caller: Caller, id_: ActivationId
) -> Activation:
    """The activation as the caller may know it; one that it may not know of does not exist for it."""
    told = None if activation is None else told_activation(board, activation, caller)
    if told is None:
        raise NotFound(f"activation {id_}")
    return told


def _newest_first(
    snapshot: Snapshot, where: ActivationFilter, *, at_once: int
) -> Iterator[Activation]:
    """All activations that are meant, read so many at once and then more."""
    while page := snapshot.activations(where, order=Order.NEWEST, limit=at_once):
        yield from page
        if len(page) < at_once:
            return
        where = replace(where, below_number=page[-1].id.number)
        at_once = min(4 * at_once, PAGE)


def _check_visible(caller: Caller, space: SpaceName, name: str) -> None:
    if space.owner not in ("", caller.agent):
        raise NotFound(f"activation {name}")


def _check_may_steer(work: Workspace, caller: Caller, activation: Activation) -> None:
    trigger = work.trigger(TriggerId(activation.id.space, activation.trigger))
    if (
        caller.role is Role.ADMIN
        or may_work_on(caller, activation)
        or (trigger and trigger.agent == caller.agent)
    ):
        return
    raise PermissionDenied(
        f"{caller.agent} may not change activation {activation.id}: it belongs to {activation.worker}"
    )
