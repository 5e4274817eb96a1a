"""Commits: the use cases that change entries, all of which end in `Log.write`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from lavagna_server.domain.agenda import Activation, ActivationId
from lavagna_server.domain.agents import Caller
from lavagna_server.domain.consensus.settling import Ending, Step, settled
from lavagna_server.domain.decisions import Plan, committed, decide, pen_for
from lavagna_server.domain.entries import (
    Cause,
    Change,
    Commit,
    Entry,
    EntryId,
    Kind,
    Occasion,
    Operation,
    Request,
    Space,
    SpaceName,
)
from lavagna_server.domain.errors import Invalid, LeaseLost, NotFound
from lavagna_server.domain.keys import below
from lavagna_server.domain.leases import LeaseToken, check_held, parse_token
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.regions import Region, Regions
from lavagna_server.domain.standings import Standings
from lavagna_server.domain.values import Form, Value
from lavagna_server.engine.bell import poll_waiter
from lavagna_server.engine.calls import Call
from lavagna_server.engine.controller import Controller
from lavagna_server.engine.discretion import told_activation
from lavagna_server.engine.once import once
from lavagna_server.engine.workspace import Workspace
from lavagna_server.engine.writer import Writer
from lavagna_server.ports.languages import Schemas

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Written:
    """What a commit came to."""

    space: Space
    """Where the log stands after it."""
    at: datetime
    plan: Plan


class SpaceState:
    """A space as `decide` and `settled` look at it."""

    def __init__(self, work: Workspace, name: SpaceName, schemas: Schemas, limits: Limits) -> None:
        self._work, self._name, self._schemas, self.limits = work, name, schemas, limits
        self.space: Space = work.space(name)
        self.regions: Regions = work.board(name.board).regions_of(name)

    @property
    def standings(self) -> Standings:
        return self._work.board(self._name.board).standings

    def newest(self, entry: EntryId) -> Entry | None:
        return self._work.newest(self._name, entry)

    def below(self, kind: Kind, key: str) -> Iterator[Entry]:
        return self._work.matching(self._name, below(key), frozenset({kind}))

    def check_schema(self, region: Region, value: Value, field: str) -> None:
        if value.form is not Form.JSON:
            rule = f"this is {value.form.value}; only JSON satisfies the schema of region {region.path}"
            raise Invalid(f"{field}.value", rule)
        assert isinstance(value.content, str)
        fault = self._schemas.schema(region.schema_json, field="region.schema_json").fault(
            value.content
        )
        if fault is not None:
            path, rule = fault
            raise Invalid(f"{field}.value{path}", f"{rule} (schema of region {region.path})")


class Log:
    """The one way into the log: decide, append, react."""

    def __init__(self, controller: Controller, schemas: Schemas, limits: Limits) -> None:
        self._controller, self._schemas, self._limits = controller, schemas, limits

    def write(
        self, work: Workspace, caller: Caller, request: Request, cause: Cause | None
    ) -> Written:
        """Carries out what a caller asks for, as far as the rules allow. Raises what `decide` raises."""
        state = self.state(work, request.space)
        plan = decide(state, request, caller=caller, now=work.now, cause=cause, limits=self._limits)
        if plan.commit is not None:
            self.append(work, plan.commit, plan.before)
        return Written(work.space(request.space), work.now, plan)

    def conclude(
        self,
        work: Workspace,
        name: SpaceName,
        steps: Sequence[Step],
        endings: Sequence[Ending] = (),
        *,
        author: str,
        occasion: Occasion,
        cause: Cause | None = None,
        request_id: str = "",
    ) -> Commit:
        """Carries out what is no write of an entry's value: votes, withdrawals, and what time ends; with all that follows."""
        state = self.state(work, name)
        pen = pen_for(state.space, author, work.now, cause)
        steps = settled(state, steps, pen, endings=endings)
        commit = committed(state.space, steps, pen, occasion, request_id)
        return self.append(work, commit, [before for before, _ in steps])

    def state(self, work: Workspace, name: SpaceName) -> SpaceState:
        """A space as the rules look at it."""
        return SpaceState(work, name, self._schemas, self._limits)

    def append(self, work: Workspace, commit: Commit, before: Sequence[Entry | None]) -> Commit:
        """Takes a commit into the log, and lets the controller react to it within the same commit."""
        done = work.append(commit)
        for entry in done.entries:
            if entry.kind is Kind.PROPOSAL and not entry.exists:
                work.woken.add((done.space.board, poll_waiter(entry.key)))
        self._controller.react(work, done, tuple(before))
        return done


def held(work: Workspace, caller: Caller, token: LeaseToken) -> Activation:
    """The activation that the caller works on.

    Raises:
        LeaseLost: The token is not, or no longer, the right to work on it.
    """
    id_ = ActivationId(token.space, token.activation)
    if token.space.board != caller.board or token.space.owner not in ("", caller.agent):
        raise LeaseLost(
            str(id_), "the token is of another board or of another agent's private space"
        )
    activation = work.agenda.get(id_)
    unknown = LeaseLost(str(id_), "there is no such activation")
    if activation is None:
        raise unknown
    try:
        check_held(
            activation.lease,
            activation.fence,
            token,
            holder=caller.agent,
            now=work.now,
            activation=str(id_),
        )
    except LeaseLost:
        if told_activation(work.board(token.space.board), activation, caller) is None:
            raise unknown from None
        raise
    return activation


def cause_of(work: Workspace, caller: Caller, token: str, space: SpaceName) -> Cause | None:
    """Why the caller writes to a space: the activation there that it works on, when it names one.

    Raises:
        Invalid: The activation is in another space.
        LeaseLost: The token is not, or no longer, the right to work on it.
    """
    if not token:
        return None
    lease = parse_token(token, field="activation_token")
    if lease.space != space:
        raise Invalid(
            "activation_token", f"the activation is in space {lease.space}, the commit in {space}"
        )
    return held(work, caller, lease).cause


class Commits:
    """Changes to entries."""

    def __init__(self, writer: Writer, log: Log) -> None:
        self._writer, self._log = writer, log

    async def commit(self, call: Call[Written, R], request: Request, *, token: str) -> R:
        """Commits all changes of a request at one revision, or none.

        Raises:
            ConditionFailed, VersionRequired, NotAWriter, Invalid: What `decide` raises.
            LeaseLost: A token was given and is stale.
        """

        def operation(work: Workspace) -> Written:
            cause = cause_of(work, call.caller, token, request.space)
            return self._log.write(work, call.caller, request, cause)

        return await once(self._writer, call, operation, touches=touches(request))

    async def revert(
        self,
        call: Call[Written, R],
        space: SpaceName,
        entry: EntryId,
        *,
        version: int,
        expected_version: int | None,
        overwrite: bool,
        token: str,
    ) -> R:
        """Writes an older version of an entry again, as a new version. Reverting to an end deletes.

        Raises:
            NotFound: There is no such version, or it is compacted.
        """

        def operation(work: Workspace) -> Written:
            cause = cause_of(work, call.caller, token, space)
            regions = work.board(space.board).regions_of(space)
            old = work.version(space, entry, version)
            if old is None or not regions.may_read(entry.key, call.caller):
                raise NotFound(f"version {version} of {entry.key}")
            change = Change(
                entry,
                Operation.PUT if old.exists else Operation.DELETE,
                old.value,
                expected_version,
                overwrite,
                old.tags,
                old.confidence,
                old.sources,
            )
            request = Request(space, (change,), request_id=call.request_id)
            return self._log.write(work, call.caller, request, cause)

        return await once(self._writer, call, operation, touches=[(space, entry)])


def touches(request: Request) -> list[tuple[SpaceName, EntryId]]:
    """The entries that a request is about, to be read together with the rest of its group's."""
    about = [condition.id for condition in request.conditions]
    about += [change.id for change in (*request.changes, *request.otherwise)]
    return [(request.space, entry) for entry in about]
