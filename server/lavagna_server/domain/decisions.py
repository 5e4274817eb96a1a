"""The rule book of a write: what a request comes to, given the state and the time.

`decide` is a pure function from (state, request, now) to a `Plan`, or raises why not. Storage carries plans out and decides nothing,
so that the same rules hold over every store. `_Draft.written` says what a region's policy makes of a write:
a new value, a proposal or a claim; `consensus.settling` works out what follows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.conditions import failures
from lavagna_server.domain.consensus.claims import claimed, of_claim
from lavagna_server.domain.consensus.pens import Pen
from lavagna_server.domain.consensus.polls import Outcome
from lavagna_server.domain.consensus.proposals import is_over, opened
from lavagna_server.domain.consensus.settling import (
    Ending,
    Hall,
    Step,
    needs_settling,
    overdue,
    settled,
)
from lavagna_server.domain.entries import (
    Cause,
    Change,
    ChangeType,
    Commit,
    Entry,
    EntryId,
    Kind,
    Occasion,
    Operation,
    Request,
    Space,
    later,
)
from lavagna_server.domain.errors import (
    ConditionFailed,
    Exhausted,
    FailedCondition,
    Invalid,
    NotAWriter,
    NotFound,
    RoleRequired,
    StaleVersion,
    VersionRequired,
)
from lavagna_server.domain.keys import normal_key
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.patches import compact, merged
from lavagna_server.domain.regions import Policy, Region, Regions
from lavagna_server.domain.values import Form, Value, check_value, parse_json


class State(Hall, Protocol):
    """What a decision may look at: the space as it is, before the commit."""

    @property
    def space(self) -> Space:
        """Where the log stands."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What a request comes to."""

    succeeded: bool
    """Whether the conditions held, so that `changes` and not `otherwise` apply."""
    commit: Commit | None
    """None when there is nothing to write."""
    before: tuple[Entry | None, ...] = ()
    """For each entry of the commit the version that it replaces."""
    answers: int = 0
    """How many entries of the commit, from its first, each answer one change of the request; the others follow from them."""
    unseen: frozenset[EntryId] = frozenset()
    """The entries of the commit that its author may not read, and so may not learn anything of."""
    failed: tuple[FailedCondition, ...] = ()


def decide(
    state: State,
    request: Request,
    *,
    caller: Caller,
    now: datetime,
    cause: Cause | None,
    limits: Limits,
) -> Plan:
    """The commit that `request` comes to on `state`.

    Raises:
        ConditionFailed, StaleVersion: A condition does not hold and the request has no `otherwise`.
        VersionRequired: A guarded entry would be overwritten unseen.
        NotFound: What the caller may not read would be looked at, or what does not exist deleted.
        NotAWriter, RoleRequired: The caller may not write there.
        Invalid: A patch does not apply, or a value breaks the region's schema.
    """
    if caller.role < Role.AGENT:
        raise RoleRequired(agent=caller.agent, role=caller.role.name.lower(), needs="agent")
    for change in (*request.changes, *request.otherwise):
        _check_writer(state.regions, change, caller)
    failed = failures(state, request, caller)
    if failed and not request.otherwise:
        explicit = {condition.id.key for condition in request.conditions}
        stale = all(each.key not in explicit for each in failed)
        raise (StaleVersion if stale else ConditionFailed)(failed)
    changes, field = (request.otherwise, "else_changes") if failed else (request.changes, "changes")
    draft = _Draft(state, caller, pen_for(state.space, caller.agent, now, cause), limits)
    written = [
        draft.written(change, "change" if request.is_single else f"{field}[{index}]", index)
        for index, change in enumerate(changes)
    ]
    _check_distinct(written, field)
    if not written:
        return Plan(succeeded=not failed, commit=None, failed=failed)
    steps: Sequence[Step] = written
    if any(needs_settling(state.regions, after) for _, after in written):
        steps = settled(state, written, draft.pen, endings=draft.endings, caller=caller)
    commit = committed(state.space, steps, draft.pen, Occasion.WRITE, request.request_id)
    unseen = frozenset(
        entry.id for entry in commit.entries if not state.regions.may_read(entry.key, caller)
    )
    before = tuple(before for before, _ in steps)
    return Plan(not failed, commit, before, len(written), unseen, failed)


def committed(
    space: Space, steps: Sequence[Step], pen: Pen, occasion: Occasion, request_id: str = ""
) -> Commit:
    """The steps as the next commit of a space."""
    return Commit(
        space.name,
        pen.revision,
        pen.at,
        pen.author,
        occasion,
        tuple(after for _, after in steps),
        pen.cause,
        request_id,
    )


def pen_for(space: Space, author: str, now: datetime, cause: Cause | None) -> Pen:
    """What every entry of the next commit of a space has in common."""
    return Pen(space.head + 1, later(space, now), author, cause)


def _check_writer(regions: Regions, change: Change, caller: Caller) -> None:
    region = regions.of(change.id.key)
    if region is None or region.may_write(caller):
        return
    if not region.may_read(caller):
        raise NotFound(change.id.key)
    raise NotAWriter(change.id.key, region=region.path, agent=caller.agent)


def _check_distinct(written: Sequence[Step], field: str) -> None:
    """No entry may have two versions in one commit; a key that an append makes can be another change's."""
    seen: set[EntryId] = set()
    for index, (_, entry) in enumerate(written):
        if entry.id in seen:
            raise Invalid(f"{field}[{index}].key", f"{entry.key} is changed twice in one commit")
        seen.add(entry.id)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A commit in the making."""

    state: State
    caller: Caller
    pen: Pen
    limits: Limits
    proposed: list[Entry] = field(default_factory=list[Entry])
    """The proposals that its changes have become so far."""
    endings: list[Ending] = field(default_factory=list[Ending])
    """The proposals that give way to them."""

    def written(self, change: Change, field: str, ordinal: int) -> Step:
        """The version that the change replaces, and the one that it makes."""
        is_append = change.operation is Operation.APPEND
        if is_append:
            change = self._appended(change, field, ordinal)
            _check_writer(self.state.regions, change, self.caller)
        region = self.state.regions.of(change.id.key)
        before = self.state.newest(change.id)
        policy = region.policy if region else Policy.GUARDED
        if region is None or region.may_read(self.caller):
            if policy is Policy.GUARDED:
                _check_seen(change, before)
        else:
            _check_blind(change, policy, is_append=is_append)
        if region is not None and region.policy is Policy.WEIGHTED:
            return self._claimed(region, change, before, field)
        value = self._checked(region, change, before, field)
        if region is not None and region.asks_others(self.caller):
            return None, self._proposed(region, change, before, value, field, ordinal)
        if value is None:
            assert before is not None
            return before, self._deleted(before)
        return before, self._stored(change, before, value)

    def _checked(
        self, region: Region | None, change: Change, before: Entry | None, field: str
    ) -> Value | None:
        """What the change would store, as the region's schema allows it; None when it deletes what is there."""
        if change.operation is Operation.DELETE:
            if before is None or not before.exists:
                raise NotFound(change.id.key)
            return None
        value = self._value(change, before, field)
        if region is not None and region.schema_json:
            self.state.check_schema(region, value, field)
        return value

    def _claimed(self, region: Region, change: Change, note: Entry | None, field: str) -> Step:
        """The author's claim, as it was and as it becomes; a patch is one of the claim."""
        id_ = of_claim(change.id.key, self.caller.agent)
        normal_key(id_.key, field=f"{field}.key", limits=self.limits)
        before = self.state.newest(id_)
        value = self._checked(region, change, before, field)
        rules = region.merging.rules
        claim = claimed(change, before, value, self.pen, note=note, rules=rules, limits=self.limits)
        return before, claim

    def _proposed(
        self,
        region: Region,
        change: Change,
        before: Entry | None,
        value: Value | None,
        field: str,
        ordinal: int,
    ) -> Entry:
        self._make_room(region, change.id.key)
        proposal = opened(
            change,
            before,
            value,
            region=region,
            standings=self.state.standings,
            ordinal=ordinal,
            pen=self.pen,
            limits=self.limits,
            field=field,
        )
        self.proposed.append(proposal)
        return proposal

    def _make_room(self, region: Region, key: str) -> None:
        """Bounds how many proposals of one author about one key wait for votes.

        Who may not read is not refused, because that would tell when others decide: its oldest gives way.
        """
        ended = {ending.proposal.id for ending in self.endings}
        waiting = [
            each
            for each in (
                *self.state.below(Kind.PROPOSAL, key),
                *(each for each in self.proposed if each.key.rpartition("/")[0] == key),
            )
            if each.author == self.caller.agent and each.id not in ended
        ]
        most = self.limits.proposals_per_key_max
        if len(waiting) < most:
            return
        if region.may_read(self.caller):
            raise Exhausted("proposals_per_key_max", maximum=most, subject=key)
        oldest = waiting[0]
        why = f"its author has proposed {most} times since"
        ending = Ending(oldest, Outcome.WITHDRAWN, why)
        self.endings.append(overdue(self.state, oldest) if is_over(oldest, self.pen.at) else ending)

    def _appended(self, change: Change, field: str, ordinal: int) -> Change:
        key = f"{change.id.key}/{self.pen.revision:012d}-{ordinal:03d}"
        key = normal_key(key, field=f"{field}.key", limits=self.limits)
        return Change(
            EntryId(change.id.kind, key),
            Operation.PUT,
            change.value,
            tags=change.tags,
            confidence=change.confidence,
            sources=change.sources,
            ttl=change.ttl,
        )

    def _value(self, change: Change, before: Entry | None, field: str) -> Value:
        assert change.value is not None
        if change.operation is not Operation.PATCH:
            return change.value
        target = before.value if before is not None and before.exists else None
        if target is not None and target.form is not Form.JSON:
            raise Invalid(
                f"{field}.patch",
                f"{change.id.key} holds {target.form.value}; only JSON can be patched",
            )
        assert isinstance(change.value.content, str)
        patch = parse_json(
            change.value.content, field=f"{field}.patch.merge_json", limits=self.limits
        )
        patched = Value(
            Form.JSON, compact(merged(json.loads(target.content) if target else None, patch))
        )
        check_value(patched, field=f"{field}.patch", limits=self.limits)
        return patched

    def _stored(self, change: Change, before: Entry | None, value: Value) -> Entry:
        existed = before is not None and before.exists
        return Entry(
            change.id.kind,
            change.id.key,
            (before.version if before else 0) + 1,
            self.pen.revision,
            ChangeType.UPDATED if existed else ChangeType.CREATED,
            value,
            self.pen.author,
            self.pen.at,
            change.tags,
            change.confidence,
            change.sources,
            self.pen.at + change.ttl if change.ttl else None,
            self.pen.cause,
        )

    def _deleted(self, before: Entry) -> Entry:
        return before.ended(
            ChangeType.DELETED,
            revision=self.pen.revision,
            author=self.pen.author,
            at=self.pen.at,
            cause=self.pen.cause,
        )


def _check_blind(change: Change, policy: Policy, *, is_append: bool) -> None:
    """What a writer may do that may not read: nothing whose outcome depends on what is there (S8). A claim is the author's own."""
    is_own = policy is Policy.WEIGHTED
    if change.operation in (Operation.PATCH, Operation.DELETE) and not is_own:
        raise NotFound(change.id.key)
    if policy is Policy.GUARDED and not (change.overwrite or is_append):
        raise VersionRequired(change.id.key, current=None)


def _check_seen(change: Change, before: Entry | None) -> None:
    """What is there is replaced by who has seen it, or says that it may be replaced unseen."""
    if (
        before is None
        or not before.exists
        or change.overwrite
        or change.expected_version is not None
    ):
        return
    raise VersionRequired(change.id.key, current=before)
