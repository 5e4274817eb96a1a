"""Reads of a state in memory: the port's snapshot, by the plainest means."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nsmallest
from itertools import islice

from lavagna_server.domain.agenda import Activation, ActivationFilter, ActivationId, ActivationState
from lavagna_server.domain.entries import Commit, Entry, EntryId, Kind, Space, SpaceName
from lavagna_server.domain.keys import is_within
from lavagna_server.domain.triggers import TriggerId
from lavagna_server.ports.store import EdgeId, Effect, Order, RecordT, Scan, Subtree
from lavagna_server.storage.ephemeral.log import Log
from lavagna_server.storage.ephemeral.state import State

_EMPTY: Mapping[EntryId, Entry] = {}


class View:
    """A `Snapshot` of one state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def space(self, name: SpaceName) -> Space | None:
        log = self._state.logs.get(name)
        return log.space if log else None

    def spaces(self, board: str) -> Sequence[Space]:
        return [log.space for name, log in sorted(self._state.logs.items()) if name.board == board]

    def newest(self, space: SpaceName, entries: Collection[EntryId]) -> Mapping[EntryId, Entry]:
        if (log := self._state.logs.get(space)) is None:
            return _EMPTY
        return {each: versions[-1] for each in entries if (versions := log.entries.get(each))}

    def as_of(
        self, space: SpaceName, entries: Collection[EntryId], revision: int
    ) -> Mapping[EntryId, Entry]:
        if (log := self._state.logs.get(space)) is None:
            return _EMPTY
        return {
            each: version for each in entries if (version := log.as_of(each, revision)) is not None
        }

    def scan(self, space: SpaceName, scan: Scan) -> Sequence[Entry]:
        log = self._state.logs.get(space)
        return list(islice(_scanned(log, scan), scan.limit)) if log else []

    def changed(self, space: SpaceName, scan: Scan, *, since: int) -> Sequence[EntryId]:
        if (log := self._state.logs.get(space)) is None:
            return []
        through = log.space.head if scan.revision is None else scan.revision
        changed = (
            entry
            for entry in _named(log, scan)
            if any(since < version.revision <= through for version in log.entries[entry])
        )
        return list(islice(changed, scan.limit))

    def versions(
        self, space: SpaceName, entry: EntryId, *, below_version: int | None, limit: int
    ) -> Sequence[Entry]:
        versions = _versions(self._state.logs.get(space), entry)
        top = (
            len(versions)
            if below_version is None
            else bisect_left(versions, below_version, key=_version)
        )
        return versions[max(0, top - limit) : top][::-1]

    def version(self, space: SpaceName, entry: EntryId, version: int) -> Entry | None:
        versions = _versions(self._state.logs.get(space), entry)
        index = bisect_left(versions, version, key=_version)
        return (
            versions[index]
            if index < len(versions) and versions[index].version == version
            else None
        )

    def commits(
        self, space: SpaceName, *, after: int, limit: int, bytes_max: int
    ) -> Sequence[Commit]:
        if (log := self._state.logs.get(space)) is None:
            return []
        page: list[Commit] = []
        weight_bytes = 0
        for revision in range(after + 1, log.space.head + 1):
            if len(page) == limit or weight_bytes > bytes_max:
                break
            if (commit := log.commits.get(revision)) is not None:
                page.append(commit)
                weight_bytes += commit.weight_bytes
        return page

    def records(self, kind: type[RecordT]) -> Sequence[RecordT]:
        records = self._state.records.get(kind, {})
        return [
            record for _, record in sorted(records.items(), key=_name) if isinstance(record, kind)
        ]

    def effect(self, board: str, agent: str, request_id: str) -> Effect | None:
        return self._state.effects.get((board, agent, request_id))

    def edges(self, trigger: TriggerId, binding: str) -> frozenset[EntryId]:
        return self._state.edges.get((trigger, binding), frozenset())

    def edges_of(self, trigger: TriggerId) -> Sequence[EdgeId]:
        return [
            EdgeId(trigger, binding, entry)
            for (owner, binding), entries in self._state.edges.items()
            if owner == trigger
            for entry in entries
        ]

    def activation(self, activation: ActivationId) -> Activation | None:
        log = self._state.logs.get(activation.space)
        return log.agenda.fired.get(activation.number) if log else None

    def activations(
        self, where: ActivationFilter, *, order: Order, limit: int
    ) -> Sequence[Activation]:
        sort = _agenda if order is Order.AGENDA else _newest
        return nsmallest(limit, self._matching(where), key=sort)

    def count_activations(self, where: ActivationFilter) -> int:
        return sum(1 for _ in self._matching(where))

    def _matching(self, where: ActivationFilter) -> Iterator[Activation]:
        for name, log in self._state.logs.items():
            if where.space is None or where.space == name:
                yield from log.agenda.matching(where)

    def expiring(self, by: datetime, limit: int) -> Sequence[tuple[SpaceName, Entry]]:
        due = [
            (entry.expires_at, name, entry)
            for name, log in self._state.logs.items()
            for entry in log.mortal.values()
            if entry.expires_at is not None and entry.expires_at <= by
        ]
        return [
            (name, entry) for _, name, entry in nsmallest(limit, due, key=lambda each: each[:2])
        ]

    def next_deadline(self, after: datetime) -> datetime | None:
        return min(
            (moment for log in self._state.logs.values() for moment in _deadlines(log, after)),
            default=None,
        )

    def surplus_revision(self, space: SpaceName, subtree: Subtree, versions_max: int) -> int | None:
        if (log := self._state.logs.get(space)) is None:
            return None
        histories = (log.entries[entry] for entry in log.within(subtree))
        return max(
            (each[-versions_max].revision for each in histories if len(each) > versions_max),
            default=None,
        )

    def has_superseded(self, space: SpaceName, subtree: Subtree, horizon: int) -> bool:
        log = self._state.logs.get(space)
        return log is not None and any(True for _ in log.superseded(subtree, horizon))

    def revision_by(self, space: SpaceName, moment: datetime) -> int:
        if (log := self._state.logs.get(space)) is None:
            return 0
        oldest = min(log.commits, default=0)
        revisions = range(oldest, log.space.head + 1) if oldest else range(0)
        index = bisect_right(
            revisions, moment, key=lambda revision: log.commits[revision].committed_at
        )
        return revisions[index - 1] if index else 0


def _scanned(log: Log, scan: Scan) -> Iterator[Entry]:
    for entry in _named(log, scan):
        found = log.entries[entry][-1] if scan.revision is None else log.as_of(entry, scan.revision)
        if found is not None and found.exists:
            yield found


def _named(log: Log, scan: Scan) -> Iterator[EntryId]:
    """Every entry ever written that a scan is about."""
    after = bisect_right(log.order, (scan.after.kind.value, scan.after.key)) if scan.after else 0
    for kind in sorted(scan.kinds or Kind, key=_kind):
        start = bisect_left(log.order, (kind.value, scan.path))
        for index in range(max(start, after), len(log.order)):
            name, key = log.order[index]
            if name != kind.value or not key.startswith(scan.path):
                break
            if not scan.path or is_within(key, scan.path):
                yield EntryId(kind, key)


def _deadlines(log: Log, after: datetime) -> Iterable[datetime]:
    for entry in log.mortal.values():
        if entry.expires_at is not None:
            yield entry.expires_at
    for activation in log.agenda.open.values():
        if activation.lease is not None:
            yield activation.lease.expires_at
        if activation.start_by is not None and activation.state is not ActivationState.LEASED:
            yield activation.start_by
        if activation.not_before is not None and activation.not_before > after:
            yield activation.not_before


def _versions(log: Log | None, entry: EntryId) -> tuple[Entry, ...]:
    return log.entries.get(entry, ()) if log else ()


def _kind(kind: Kind) -> str:
    return kind.value


def _version(entry: Entry) -> int:
    return entry.version


def _name(item: tuple[tuple[str, ...], object]) -> tuple[str, ...]:
    return item[0]


def _agenda(activation: Activation) -> tuple[object, ...]:
    return (*activation.agenda_order, activation.id.space)


def _newest(activation: Activation) -> tuple[object, ...]:
    return (-activation.id.number, activation.id.space)
