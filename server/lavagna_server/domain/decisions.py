"""The rule book of a write: what a request comes to, given the state and the time.

`decide` is a pure function from (state, request, now) to a `Plan`, or raises why not. Storage carries plans out and decides nothing,
so that the same rules hold over every store. A policy that turns a write into something else than a new value (a proposal,
a claim) has its place in `_POLICIES`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Protocol, TypeAlias

from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.conditions import failures
from lavagna_server.domain.entries import (
    Cause,
    Change,
    ChangeType,
    Commit,
    Entry,
    EntryId,
    Occasion,
    Operation,
    Request,
    Space,
    later,
)
from lavagna_server.domain.errors import (
    ConditionFailed,
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


class State(Protocol):
    """What a decision may look at: the space as it is, before the commit."""

    @property
    def space(self) -> Space:
        """Where the log stands."""
        ...

    @property
    def regions(self) -> Regions:
        """The rules of the shared space; empty in a private one."""
        ...

    def newest(self, entry: EntryId) -> Entry | None:
        """The newest version of an entry, also when that is its end."""
        ...

    def check_schema(self, region: Region, value: Value, field: str) -> None:
        """Raises `Invalid`, naming the path inside the value, when the region's schema refuses it."""
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
    draft = _Draft(state, caller, later(state.space, now), cause, limits)
    written = [
        draft.written(change, f"{field}[{index}]", index) for index, change in enumerate(changes)
    ]
    _check_distinct(written, field)
    if not written:
        return Plan(succeeded=not failed, commit=None, failed=failed)
    commit = Commit(
        state.space.name,
        draft.revision,
        draft.at,
        caller.agent,
        Occasion.WRITE,
        tuple(after for _, after in written),
        cause,
        request.request_id,
    )
    unseen = frozenset(
        entry.id for entry in commit.entries if not state.regions.may_read(entry.key, caller)
    )
    return Plan(not failed, commit, tuple(before for before, _ in written), unseen, failed)


def _check_writer(regions: Regions, change: Change, caller: Caller) -> None:
    region = regions.of(change.id.key)
    if region is None or region.may_write(caller):
        return
    if not region.may_read(caller):
        raise NotFound(change.id.key)
    raise NotAWriter(change.id.key, region=region.path, agent=caller.agent)


def _check_distinct(written: Sequence[tuple[Entry | None, Entry]], field: str) -> None:
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
    at: datetime
    cause: Cause | None
    limits: Limits

    @property
    def revision(self) -> int:
        return self.state.space.head + 1

    def written(self, change: Change, field: str, ordinal: int) -> tuple[Entry | None, Entry]:
        """The version that the change replaces, and the one that it makes."""
        is_append = change.operation is Operation.APPEND
        if is_append:
            change = self._appended(change, field, ordinal)
            _check_writer(self.state.regions, change, self.caller)
        region = self.state.regions.of(change.id.key)
        before = self.state.newest(change.id)
        policy = region.policy if region else Policy.GUARDED
        if region is None or region.may_read(self.caller):
            _POLICIES[policy](change, before)
        else:
            _check_blind(change, policy, is_append=is_append)
        if change.operation is Operation.DELETE:
            return before, self._deleted(change, before)
        value = self._value(change, before, field)
        if region is not None and region.schema_json:
            self.state.check_schema(region, value, field)
        return before, self._stored(change, before, value)

    def _appended(self, change: Change, field: str, ordinal: int) -> Change:
        key = f"{change.id.key}/{self.revision:012d}-{ordinal:03d}"
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
            self.revision,
            ChangeType.UPDATED if existed else ChangeType.CREATED,
            value,
            self.caller.agent,
            self.at,
            change.tags,
            change.confidence,
            change.sources,
            self.at + change.ttl if change.ttl else None,
            self.cause,
        )

    def _deleted(self, change: Change, before: Entry | None) -> Entry:
        if before is None or not before.exists:
            raise NotFound(change.id.key)
        return before.ended(
            ChangeType.DELETED,
            revision=self.revision,
            author=self.caller.agent,
            at=self.at,
            cause=self.cause,
        )


def _check_blind(change: Change, policy: Policy, *, is_append: bool) -> None:
    """What a writer may do that may not read: nothing whose outcome depends on what is there (S8)."""
    if change.operation in (Operation.PATCH, Operation.DELETE):
        raise NotFound(change.id.key)
    if policy is Policy.GUARDED and not (change.overwrite or is_append):
        raise VersionRequired(change.id.key, current=None)


def _latest(change: Change, before: Entry | None) -> None:
    """Anything goes; a given expected version was checked with the conditions."""


def _guarded(change: Change, before: Entry | None) -> None:
    if (
        before is None
        or not before.exists
        or change.overwrite
        or change.expected_version is not None
    ):
        return
    raise VersionRequired(change.id.key, current=before)


_Rule: TypeAlias = "Callable[[Change, Entry | None], None]"

_POLICIES: Mapping[Policy, _Rule] = MappingProxyType(
    {Policy.LATEST: _latest, Policy.GUARDED: _guarded}
)
