"""The queries of the hot paths find their rows through an index; SQLite's own planner is asked."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from lavagna_server.domain.agenda import ActivationFilter, ActivationId, ActivationState
from lavagna_server.domain.triggers import TriggerId
from lavagna_server.ports.store import Order, Scan, Snapshot, Subtree
from lavagna_server.storage.sqlite import DATABASE_FILE, SqliteStore
from tests.contracts.scribe import START, Scribe, gone, note, put
from tests.contracts.specimens import SPACES, activation

WAITING = frozenset({ActivationState.WAITING})
HELD = frozenset({ActivationState.HELD})
LEASED = frozenset({ActivationState.LEASED})
SPACE = SPACES[0]
A = note("a")


@dataclass
class Planner:
    """Tells how SQLite finds the rows of a read."""

    store: SqliteStore
    path: Path
    statements: list[str] = field(default_factory=list[str])

    def plan(self, read: Callable[[Snapshot], object]) -> str:
        """The steps of all queries that a read makes, one a line."""
        with self.store.snapshot() as snapshot:
            self.statements.clear()
            read(snapshot)
            made = list(self.statements)
        with sqlite3.connect(self.path) as connection:
            steps = [
                row[3]
                for statement in made
                for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
            ]
        connection.close()
        return "\n".join(steps)


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planner]:
    """A planner over a store with a little of everything."""
    directory = tmp_path_factory.mktemp("planned")
    statements: list[str] = []

    def trace(connection: sqlite3.Connection, _: object) -> None:
        connection.set_trace_callback(statements.append)

    event.listen(Engine, "connect", trace)
    try:
        store = SqliteStore.open(directory)
        scribe = Scribe(store)
        scribe.commit(put("a"), put("a/b"), put("b"))
        scribe.commit(put("a", "again"), gone("b"))
        scribe.fire(activation(1))
        yield Planner(store, directory / DATABASE_FILE, statements)
        store.close()
    finally:
        event.remove(Engine, "connect", trace)


def agenda(where: ActivationFilter, order: Order = Order.NEWEST) -> Callable[[Snapshot], object]:
    """A read of activations."""
    return lambda snapshot: snapshot.activations(where, order=order, limit=10)


def count(where: ActivationFilter) -> Callable[[Snapshot], object]:
    """A count of activations."""
    return lambda snapshot: snapshot.count_activations(where)


HOT: dict[str, Callable[[Snapshot], object]] = {
    "space": lambda snapshot: snapshot.space(SPACE),
    "spaces": lambda snapshot: snapshot.spaces("atelier"),
    "newest": lambda snapshot: snapshot.newest(SPACE, [A, note("b")]),
    "as of": lambda snapshot: snapshot.as_of(SPACE, [A], 1),
    "scan": lambda snapshot: snapshot.scan(SPACE, Scan()),
    "scan below": lambda snapshot: snapshot.scan(SPACE, Scan("a", after=A)),
    "scan as of": lambda snapshot: snapshot.scan(SPACE, Scan(revision=1)),
    "scan below as of": lambda snapshot: snapshot.scan(SPACE, Scan("a", revision=1)),
    "changed": lambda snapshot: snapshot.changed(SPACE, Scan(revision=2), since=1),
    "changed below": lambda snapshot: snapshot.changed(SPACE, Scan("a", revision=2), since=1),
    "version": lambda snapshot: snapshot.version(SPACE, A, 1),
    "versions": lambda snapshot: snapshot.versions(SPACE, A, below_version=2, limit=5),
    "commits": lambda snapshot: snapshot.commits(SPACE, after=0, limit=9, bytes_max=99),
    "revision by": lambda snapshot: snapshot.revision_by(SPACE, START),
    "effect": lambda snapshot: snapshot.effect("atelier", "ada", "r"),
    "edges": lambda snapshot: snapshot.edges(TriggerId(SPACE, "on"), "x"),
    "all edges": lambda snapshot: snapshot.edges_of(TriggerId(SPACE, "on")),
    "expiring": lambda snapshot: snapshot.expiring(START, 9),
    "next deadline": lambda snapshot: snapshot.next_deadline(START),
    "activation": lambda snapshot: snapshot.activation(ActivationId(SPACE, 1)),
    "the agenda of a worker": agenda(
        ActivationFilter(
            SPACE, WAITING, workers=frozenset({"ada", "team:x"}), rating_min=0, offered_by=START
        ),
        Order.AGENDA,
    ),
    "the open ones of a binding": agenda(
        ActivationFilter(SPACE, WAITING | HELD, trigger="on-plan", binding="a/b")
    ),
    "the last of a binding": agenda(ActivationFilter(SPACE, trigger="on-plan", binding="a/b")),
    "the list": agenda(ActivationFilter(SPACE, below_number=9)),
    "the dead": agenda(ActivationFilter(SPACE, frozenset({ActivationState.DEAD}))),
    "leased of a binding": count(ActivationFilter(SPACE, LEASED, trigger="on-plan", binding="a/b")),
    "leased of a trigger": count(ActivationFilter(SPACE, LEASED, trigger="on-plan")),
    "leased": count(ActivationFilter(SPACE, LEASED)),
    "waiting": count(ActivationFilter(SPACE, WAITING, rating_min=0)),
    "a chain": count(ActivationFilter(SPACE, root=1)),
    "recent": count(ActivationFilter(SPACE, trigger="on-plan", binding="a/b", fired_after=START)),
}
"""What a write, a claim or a page of a list asks."""


@pytest.mark.parametrize("name", HOT)
def test_a_hot_query_searches_and_never_scans_or_sorts(planner: Planner, name: str) -> None:
    plan = planner.plan(HOT[name])

    assert plan
    assert not re.search(r"SCAN (?!CONSTANT)", plan), plan
    assert "TEMP B-TREE" not in plan, plan


@pytest.mark.parametrize(
    ("name", "found_by"),
    [
        ("newest", "heads USING PRIMARY KEY (space=? AND kind=? AND key=?)"),
        ("as of", "versions_by_entry (space=? AND kind=? AND key=? AND revision<?)"),
        ("scan", "alive USING PRIMARY KEY (space=? AND kind=? AND key>? AND key<?)"),
        ("scan", "heads USING PRIMARY KEY (space=? AND kind=? AND key=?)"),
        ("scan as of", "versions_by_entry (space=? AND kind=? AND key=? AND revision=?)"),
        ("changed", "heads USING PRIMARY KEY (space=? AND kind=? AND key>? AND key<?)"),
        (
            "changed",
            "versions_by_entry (space=? AND kind=? AND key=? AND revision>? AND revision<?)",
        ),
        ("versions", "versions_by_entry (space=? AND kind=? AND key=?)"),
        ("expiring", "heads_expiring (expires_at<?)"),
        (
            "the agenda of a worker",
            "activations_agenda (space=? AND is_open=? AND state=? AND worker=? AND descent<?)",
        ),
        (
            "the open ones of a binding",
            "activations_open (space=? AND is_open=? AND trigger=? AND binding=?)",
        ),
        ("the last of a binding", "activations_by_binding (space=? AND trigger=? AND binding=?)"),
        ("the dead", "activations_ended (space=? AND state=?)"),
        (
            "leased of a trigger",
            "COVERING INDEX activations_open (space=? AND is_open=? AND trigger=?)",
        ),
        ("leased", "COVERING INDEX activations_agenda (space=? AND is_open=? AND state=?)"),
        ("waiting", "COVERING INDEX activations_agenda (space=? AND is_open=? AND state=?)"),
        ("a chain", "COVERING INDEX activations_by_root (space=? AND root=?)"),
        ("recent", "activations_by_firing (space=? AND trigger=? AND binding=? AND fired_at>?)"),
    ],
)
def test_a_hot_query_uses_the_index_that_is_meant_for_it(
    planner: Planner, name: str, found_by: str
) -> None:
    assert found_by in planner.plan(HOT[name])


UPKEEP: dict[str, Callable[[Snapshot], object]] = {
    "leases that ran out": agenda(ActivationFilter(states=LEASED, lease_expired_by=START)),
    "missed starts": agenda(ActivationFilter(states=WAITING | HELD, start_due_by=START)),
    "holds that are over": agenda(ActivationFilter(states=HELD, offered_by=START)),
    "surplus": lambda snapshot: snapshot.surplus_revision(SPACE, Subtree("a", ("a/b",)), 1),
    "superseded": lambda snapshot: snapshot.has_superseded(SPACE, Subtree("a"), 1),
    "superseded anywhere": lambda snapshot: snapshot.has_superseded(SPACE, Subtree(), 1),
}
"""What upkeep asks of all spaces at once; it may sort what it finds."""


@pytest.mark.parametrize("name", UPKEEP)
def test_upkeep_looks_at_nothing_but_what_is_open_or_below_a_path(
    planner: Planner, name: str
) -> None:
    plan = planner.plan(UPKEEP[name])

    assert plan
    assert not re.search(
        r"SCAN (?!CONSTANT|activations USING INDEX activations_(open|agenda))", plan
    ), plan
