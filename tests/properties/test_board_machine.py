"""A board driven by chance against a plain model of what the guarantees say: dictionaries, and nothing clever."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.entries import Change, Condition, Kind, Requirement
from lavagna_server.domain.errors import (
    Compacted,
    ConditionFailed,
    FutureRevision,
    NotFound,
    VersionRequired,
)
from lavagna_server.domain.keys import EVERYTHING
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.engine.watcher import Message, Watcher
from lavagna_server.engine.watches import Start
from lavagna_server.ports.store import Store
from lavagna_server.storage.ephemeral import EphemeralStore
from lavagna_server.storage.sqlite import SqliteStore
from tests.desks import Desk, delete, json_value, note, put, running

KEYS = st.sampled_from(["a", "a/b", "a/b/c", "ab", "é", "日本/x"])
NUMBERS = st.integers(min_value=0, max_value=99)


@dataclass
class Model:
    """What the board must be like."""

    states: list[dict[str, tuple[int, object]]] = field(default_factory=lambda: [{}])
    """For each revision the version and value of every entry that exists."""
    versions: dict[str, int] = field(default_factory=dict[str, int])
    """The newest version of every key ever written, ends included."""
    expiries: dict[str, tuple[int, float]] = field(default_factory=dict[str, tuple[int, float]])
    oldest: int = 0

    @property
    def now(self) -> dict[str, tuple[int, object]]:
        """The newest state."""
        return self.states[-1]

    def write(self, changes: dict[str, object], ends: list[str]) -> None:
        """One commit."""
        state = dict(self.now)
        for key in (*changes, *ends):
            self.versions[key] = self.versions.get(key, 0) + 1
            self.expiries.pop(key, None)
        for key, value in changes.items():
            state[key] = (self.versions[key], value)
        for key in ends:
            del state[key]
        self.states.append(state)


class BoardMachine(RuleBasedStateMachine):
    """Commits, deletions, conditions, expiry, compaction, restarts, and a watch over all of it."""

    durable = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.store: Store = self.open_store()
        self.model = Model()
        self.elapsed = 0.0
        self.seen: list[Message] = []
        self.start()

    def open_store(self) -> Store:
        """The store under test."""
        return SqliteStore.open(Path(self.folder.name)) if self.durable else EphemeralStore()

    def run(self, work: Any) -> Any:
        """Runs a coroutine to its end."""
        return self.loop.run_until_complete(work)

    def start(self) -> None:
        """Starts an engine on the store."""
        self.context = running(self.store, self.clock)
        self.desk = Desk(self.run(self.context.__aenter__()), "alice")

    def teardown(self) -> None:
        self.run(self.context.__aexit__(None, None, None))
        self.loop.close()
        self.folder.cleanup()

    @initialize()
    def watch(self) -> None:
        """A watch that sees everything, from the first revision on."""
        self.watcher: Watcher = self.run(self.desk.watch(start=Start(after=0)))

    @rule(key=KEYS, value=NUMBERS, expected=st.none() | st.integers(0, 5), overwrite=st.booleans())
    def put(self, key: str, value: int, expected: int | None, overwrite: bool) -> None:
        """Stores a value, with or without an expected version."""
        change = put(key, value, expected=expected, overwrite=overwrite)
        version = self.model.versions.get(key, 0)
        if expected is not None and expected != version:
            self.refused(ConditionFailed, change)
        elif expected is None and not overwrite and key in self.model.now:
            self.refused(VersionRequired, change)
        else:
            written = self.run(self.desk.commit(change))
            self.model.write({key: value}, [])
            assert written.space.head == len(self.model.states) - 1

    @rule(keys=st.sets(KEYS, min_size=1), value=NUMBERS)
    def put_many(self, keys: set[str], value: int) -> None:
        """Several changes in one commit."""
        self.run(self.desk.commit(*(put(key, value, overwrite=True) for key in sorted(keys))))
        self.model.write(dict.fromkeys(sorted(keys), value), [])

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        """Deletes an entry, or learns that there is none."""
        if key not in self.model.now:
            self.refused(NotFound, delete(key))
        else:
            self.run(self.desk.commit(delete(key)))
            self.model.write({}, [key])

    @rule(key=KEYS, seconds=st.integers(1, 9))
    def put_with_expiry(self, key: str, seconds: int) -> None:
        """Stores a value that will expire."""
        self.run(self.desk.commit(put(key, 0, overwrite=True, ttl=timedelta(seconds=seconds))))
        self.model.write({key: 0}, [])
        self.model.expiries[key] = (self.model.versions[key], self.elapsed + seconds)

    @rule(seconds=st.integers(1, 9))
    def let_time_pass(self, seconds: int) -> None:
        """Entries expire in the order of their times, those of one moment in one commit."""
        self.run(self.clock.advance(seconds))
        self.elapsed += seconds
        for moment in sorted({at for _, at in self.model.expiries.values() if at <= self.elapsed}):
            ending = sorted(key for key, (_, at) in self.model.expiries.items() if at == moment)
            self.model.write({}, ending)

    @rule(key=KEYS, guard=KEYS, value=NUMBERS)
    def put_if_absent(self, key: str, guard: str, value: int) -> None:
        """A condition on another entry, with something else to do when it fails."""
        condition = Condition(note(guard), Requirement.EXISTS, 0)
        request = [put(key, value, overwrite=True)]
        otherwise = [put("else", value, overwrite=True)]
        written = self.run(self.desk.commit(*request, conditions=[condition], otherwise=otherwise))
        holds = guard not in self.model.now
        assert written.plan.succeeded == holds
        self.model.write({key: value} if holds else {"else": value}, [])

    @precondition(lambda self: len(self.model.states) > 1)
    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        """Gives history up before some revision."""
        head = len(self.model.states) - 1
        horizon = data.draw(st.integers(1, head))
        self.take()
        self.run(self.desk.engine.boards.compact(self.desk.call(), self.desk.shared, horizon))
        if horizon > self.model.oldest:
            self.model.oldest = horizon
            self.model.states.append(dict(self.model.now))

    @precondition(lambda self: self.durable and len(self.model.states) > 1)
    @rule()
    def restart(self) -> None:
        """A new engine on the same store; the watch goes on with its last token."""
        self.take()
        token = self.seen[-1].token
        self.watcher.close()
        self.run(self.context.__aexit__(None, None, None))
        self.store = self.open_store()
        self.start()
        self.watcher = self.run(self.desk.watch(start=Start(token=token)))

    @rule(data=st.data())
    def read_at_a_revision(self, data: st.DataObject) -> None:
        """Any revision reads exactly, or says why it cannot."""
        head = len(self.model.states) - 1
        revision = data.draw(st.integers(1, head + 2))
        read = self.desk.engine.reads.list(
            self.desk.caller,
            self.desk.shared,
            frozenset({Kind.NOTE}),
            EVERYTHING,
            tags=frozenset(),
            point=ReadPoint(revision),
            after=None,
            size=100,
            keys_only=False,
        )
        if revision > head:
            with pytest.raises(FutureRevision):
                self.run(read)
        elif revision < self.model.oldest:
            with pytest.raises(Compacted):
                self.run(read)
        else:
            found = {each.key: (each.version, each.value) for each in self.run(read).entries}
            expected = self.model.states[revision]
            assert found == {
                key: (version, json_value(value)) for key, (version, value) in expected.items()
            }

    def refused(self, error: type[Exception], change: Change) -> None:
        """The change is refused and leaves nothing behind."""
        with pytest.raises(error):
            self.run(self.desk.commit(change))

    def take(self) -> None:
        """Takes what the watcher has to tell."""
        for _ in range(20):
            messages = self.run(self.watcher.ready())
            self.seen += messages
            if not messages and not self.watcher.may_have_more:
                return

    @invariant()
    def the_watch_replays_to_the_same_state(self) -> None:
        """What the watch told, applied in order, is the board."""
        if not hasattr(self, "watcher"):
            return
        self.take()
        state: dict[str, tuple[int, object]] = {}
        position = 0
        for message in self.seen:
            assert message.after == position
            position = message.through
            for seen in message.commits:
                assert message.after < seen.commit.revision <= message.through
                for entry in seen.entries:
                    state.pop(entry.key, None)
                    if entry.value is not None:
                        state[entry.key] = (entry.version, entry.value.decoded())
        assert state == self.model.now


class DurableBoardMachine(BoardMachine):
    """The same on SQLite, with restarts."""

    durable = True


TestBoardInMemory = pytest.mark.guarantee("S1")(BoardMachine.TestCase)
TestBoardOnSqlite = pytest.mark.guarantee("S3")(DurableBoardMachine.TestCase)
_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
TestBoardInMemory.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=_CHECKS
)
TestBoardOnSqlite.settings = settings(
    max_examples=25, stateful_step_count=40, deadline=None, suppress_health_check=_CHECKS
)
