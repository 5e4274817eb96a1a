"""The controller: which triggers a commit concerns, and what comes of it, inside that commit (A1).

event → key pattern and kind → precondition → rating → agenda. Every revision is evaluated on its own state, so that no edge is missed between two commits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from lavagna_server.domain.agenda import ActivationFilter, ActivationState, finished
from lavagna_server.domain.entries import (
    Cause,
    Commit,
    Entry,
    EntryId,
    Kind,
    Occasion,
    SpaceName,
    later,
)
from lavagna_server.domain.keys import Pattern
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.triggers import Mode, Source, Trigger, TriggerId
from lavagna_server.engine.catalog import BoardCatalog
from lavagna_server.engine.evaluation import Evaluated, Evaluator, Subject, Verdict
from lavagna_server.engine.firing import Spark, count, fire, note_error
from lavagna_server.engine.workspace import Workspace
from lavagna_server.ports.store import Order


@dataclass(slots=True)
class _Touch:
    """How a commit concerns one trigger."""

    changes: dict[EntryId, tuple[Entry, Entry | None]] = field(
        default_factory=dict[EntryId, tuple[Entry, Entry | None]]
    )
    """Changes of what it is about: the entry and what it was before."""
    reads: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    """What the patterns of its `reads` bound."""
    read_authors: set[str] = field(default_factory=set[str])
    """Who changed what its condition reads."""


def _source_of(trigger: Trigger, entry: Entry) -> Source | None:
    """The source that is about `entry`: the first that looks at how it came about, else the first that matches."""
    matching = [source for source in trigger.on if source.bind(entry) is not None]
    moved = (source for source in matching if source.is_moved_by(entry.change))
    return next(moved, matching[0] if matching else None)


def binding_of(pattern: Pattern, bind: Mapping[str, str], key: str) -> str:
    """What edges, cooldown and concurrency are counted by: the bound segments, or the key when nothing is bound."""
    return json.dumps(bind, sort_keys=True, ensure_ascii=False) if pattern.names else key


class Controller:
    """Turns commits into activations."""

    def __init__(self, evaluator: Evaluator, limits: Limits) -> None:
        self._evaluator = evaluator
        self._limits = limits

    def react(self, work: Workspace, commit: Commit, before: tuple[Entry | None, ...]) -> None:
        """Fires, rates anew and obviates what the commit gives reason to."""
        board = work.board(commit.space.board)
        for id_, touch in sorted(self._touched(board, commit, before).items()):
            trigger = work.trigger(id_)
            if trigger is None or trigger.suspended:
                continue
            self._follow(work, board, trigger, touch, commit)
            if touch.reads and trigger.mode is not Mode.EDGE:
                self._rate_waiting(work, trigger)

    def _follow(
        self, work: Workspace, board: BoardCatalog, trigger: Trigger, touch: _Touch, commit: Commit
    ) -> None:
        if trigger.mode is Mode.EDGE:
            for entry in self._subjects(work, trigger, touch):
                changed = entry.id in touch.changes
                authors = {entry.author} if changed else touch.read_authors
                own = all(self._is_own(board, trigger, author) for author in authors)
                self._edge(work, trigger, entry, commit.cause, may_fire=not own)
        elif trigger.mode is Mode.EVERY:
            for entry, old in touch.changes.values():
                if not self._is_own(board, trigger, entry.author):
                    self._every(work, trigger, entry, old, commit.cause)

    def _is_own(self, board: BoardCatalog, trigger: Trigger, author: str) -> bool:
        """Whether a change is the trigger's own doing, which it did not ask to see (A8)."""
        return not trigger.own_writes and trigger.is_own_write(author, board.teams_of(author))

    def set_off(self, work: Workspace, trigger: Trigger) -> None:
        """Evaluates a trigger that was just set or resumed on what is there already, and on what it remembers."""
        if trigger.mode is not Mode.EDGE:
            return
        self._drop_edges(work, trigger)
        seen: set[EntryId] = set()
        for source in trigger.on:
            for entry in work.matching(trigger.space, source.pattern, source.kinds):
                if entry.id not in seen:
                    seen.add(entry.id)
                    self._edge(work, trigger, entry, None, may_fire=True)

    def _drop_edges(self, work: Workspace, trigger: Trigger) -> None:
        """Ends the edges whose subject is gone, or is no longer what the trigger is about."""
        for edge in work.agenda.edges_of(trigger.id):
            entry = work.newest(trigger.space, edge.entry)
            source = _source_of(trigger, entry) if entry is not None else None
            if entry is not None and source is not None and source.is_present(entry):
                bind = source.bind(entry) or {}
                if binding_of(source.pattern, bind, entry.key) == edge.binding:
                    continue
            work.agenda.put_edge(trigger.id, edge.binding, edge.entry, holds=False)
            if not work.agenda.edges(trigger.id, edge.binding):
                self._obviate(work, trigger, edge.binding)

    def still_holds(self, work: Workspace, trigger: Trigger, entry: Entry) -> Evaluated:
        """What an edge trigger's condition comes to for a subject as it is now."""
        source = _source_of(trigger, entry)
        if source is None or not source.is_present(entry):
            return Evaluated(Verdict.FALSE)
        old = None
        if "old" in trigger.when or "old" in trigger.rating:
            old = work.version(trigger.space, entry.id, entry.version - 1)
        return self.evaluate(work, trigger, Subject(entry, old, source.bind(entry) or {}))

    def settle(self, work: Workspace) -> None:
        """Notes quiescence where the last open activation of a space ended, as a commit of its own (A9)."""
        for name in sorted(work.closed):
            board = work.catalog.boards.get(name.board)
            if board is None or self._is_busy(work, board, name) or work.is_quiescent(name):
                continue
            space = work.space(name)
            at = later(space, work.now)
            work.append(Commit(name, space.head + 1, at, "", Occasion.QUIESCENCE, ()))

    def _is_busy(self, work: Workspace, board: BoardCatalog, space: SpaceName) -> bool:
        triggers = (work.trigger(id_) for id_ in board.due if id_.space == space)
        due = any(
            trigger is not None
            and trigger.next_due_at is not None
            and trigger.next_due_at <= work.now
            for trigger in triggers
        )
        leased = ActivationFilter(space=space, states=frozenset({ActivationState.LEASED}))
        waiting = ActivationFilter(
            space=space,
            states=frozenset({ActivationState.WAITING}),
            rating_min=board.board.rating_min,
        )
        return due or any(
            work.agenda.select(where, order=Order.NEWEST, limit=1) for where in (leased, waiting)
        )

    def _touched(
        self, board: BoardCatalog, commit: Commit, before: tuple[Entry | None, ...]
    ) -> dict[TriggerId, _Touch]:
        index = board.interests_in(commit.space)
        touched: dict[TriggerId, _Touch] = {}
        if not index:
            return touched
        for entry, old in zip(commit.entries, before, strict=True):
            for interest in index.match(entry.key):
                if interest.reads and entry.kind is not Kind.NOTE:
                    continue  # conditions read notes
                touch = touched.setdefault(interest.trigger, _Touch())
                if not interest.reads:
                    touch.changes[entry.id] = (entry, old)
                    continue
                bind = board.triggers[interest.trigger].reads[interest.place].match(entry.key)
                if bind is not None:
                    touch.read_authors.add(entry.author)
                    if bind not in touch.reads:
                        touch.reads.append(bind)
        return touched

    def _subjects(self, work: Workspace, trigger: Trigger, touch: _Touch) -> Iterator[Entry]:
        """The entries whose condition may have changed: those changed themselves, and those that read what changed.

        At most `reads_entries_max` of the latter; where there are more, that is an error that the trigger's owner sees.
        """
        seen: set[EntryId] = set()
        for entry, _ in touch.changes.values():
            source = _source_of(trigger, entry)
            if source is not None and (source.is_moved_by(entry.change) or not entry.exists):
                seen.add(entry.id)
                yield entry
        for bind in touch.reads:
            for source in trigger.on:
                pattern = source.pattern.with_bound(bind)
                for entry in work.matching(trigger.space, pattern, source.kinds):
                    if entry.id in seen:
                        continue
                    if len(seen) >= self._limits.reads_entries_max:
                        most = self._limits.reads_entries_max
                        why = f"a change concerns more than {most} entries (reads_entries_max)"
                        note_error(work, trigger, Evaluated(Verdict.ERROR, error=why))
                        return
                    seen.add(entry.id)
                    yield entry

    def _edge(
        self,
        work: Workspace,
        trigger: Trigger,
        entry: Entry,
        cause: Cause | None,
        *,
        may_fire: bool,
    ) -> None:
        """Follows the condition of one subject from false to true and back."""
        source = _source_of(trigger, entry)
        if source is None:
            return
        bind = source.bind(entry) or {}
        binding = binding_of(source.pattern, bind, entry.key)
        evaluated = self.still_holds(work, trigger, entry)
        note_error(work, trigger, evaluated)
        holds = evaluated.verdict is Verdict.TRUE
        held_by = work.agenda.edges(trigger.id, binding)
        if holds != (entry.id in held_by):
            work.agenda.put_edge(trigger.id, binding, entry.id, holds=holds)
        if holds and not held_by:
            if may_fire:
                fire(work, Spark(trigger, bind, binding, entry, cause, evaluated.rating))
        elif holds:
            self._rate(work, trigger, binding, evaluated.rating)
        elif held_by == frozenset({entry.id}):
            self._obviate(work, trigger, binding)

    def _every(
        self,
        work: Workspace,
        trigger: Trigger,
        entry: Entry,
        old: Entry | None,
        cause: Cause | None,
    ) -> None:
        for source in trigger.on:
            bind = source.bind(entry)
            if bind is None or not source.is_moved_by(entry.change):
                continue
            evaluated = self.evaluate(work, trigger, Subject(entry, old, bind))
            note_error(work, trigger, evaluated)
            if evaluated.verdict is Verdict.TRUE:
                binding = binding_of(source.pattern, bind, entry.key)
                fire(work, Spark(trigger, bind, binding, entry, cause, evaluated.rating))
            return

    def evaluate(self, work: Workspace, trigger: Trigger, subject: Subject) -> Evaluated:
        """What a precondition comes to now, with the rights of the agent that set it."""
        board = work.board(trigger.space.board)
        return self._evaluator.evaluate(
            work,
            trigger,
            subject,
            reader=board.reader(trigger.agent),
            regions=board.regions_of(trigger.space),
            now=work.now,
        )

    def _waiting(self, work: Workspace, trigger: Trigger, binding: str | None) -> ActivationFilter:
        return ActivationFilter(
            space=trigger.space,
            states=frozenset({ActivationState.WAITING, ActivationState.HELD}),
            trigger=trigger.name,
            binding=binding,
        )

    def _rate(self, work: Workspace, trigger: Trigger, binding: str, rating: int) -> None:
        if not trigger.rating:
            return
        for activation in work.agenda.select(
            self._waiting(work, trigger, binding), order=Order.AGENDA, limit=100
        ):
            if activation.rating != rating:
                work.agenda.put(replace(activation, rating=rating))

    def _rate_waiting(self, work: Workspace, trigger: Trigger) -> None:
        if not trigger.rating:
            return
        where = self._waiting(work, trigger, None)
        for activation in work.agenda.select(
            where, order=Order.AGENDA, limit=self._limits.reads_entries_max
        ):
            entry = old = None
            if activation.kind is not None:
                id_ = EntryId(activation.kind, activation.key)
                entry = work.version(trigger.space, id_, activation.version)
                old = work.version(trigger.space, id_, activation.version - 1)
            evaluated = self.evaluate(work, trigger, Subject(entry, old, activation.bind))
            if evaluated.verdict is Verdict.TRUE and activation.rating != evaluated.rating:
                work.agenda.put(replace(activation, rating=evaluated.rating))

    def _obviate(self, work: Workspace, trigger: Trigger, binding: str) -> None:
        for activation in work.agenda.select(
            self._waiting(work, trigger, binding), order=Order.AGENDA, limit=100
        ):
            reason = "the condition no longer holds"
            work.agenda.put(
                finished(activation, ActivationState.OBVIATED, now=work.now, reason=reason)
            )
            count(work, activation, obviated=1)
