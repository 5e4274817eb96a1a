"""Every revision reads exactly: random commits against a plain dictionary for each revision."""

from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lavagna_server.domain.entries import Entry, EntryId
from lavagna_server.domain.keys import is_within
from lavagna_server.ports.store import Scan, Snapshot, Store, Subtree
from tests.contracts.scribe import Draft, Scribe, gone, note, put

World: TypeAlias = dict[str, Entry]
"""The newest version of every key, ends included."""

SEGMENTS = st.sampled_from(["a", "b", "a-", "a0", "ä", "🎨"])
KEYS = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)
GROUPS = st.lists(
    st.lists(st.dictionaries(KEYS, st.booleans(), max_size=4), min_size=1, max_size=4), max_size=6
)
"""Groups of commits; each commit is the keys that it writes (True) or ends (False)."""
PATHS = st.one_of(st.just(""), KEYS)


class _Model:
    """A space and, for each revision, what it held."""

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.transaction() as transaction:
            transaction.erase_board("modelled")  # of the example before
        self.scribe = Scribe(store, "modelled")
        self.worlds: list[World] = [{}]

    def write(self, groups: list[list[dict[str, bool]]]) -> None:
        """Stores the groups, and remembers every revision."""
        for group in groups:
            for commit in group:
                world = dict(self.worlds[-1])
                drafts = [
                    each for key, wanted in commit.items() if (each := _draft(world, key, wanted))
                ]
                made = self.scribe.stage(*drafts)
                world.update((entry.key, entry) for entry in made.entries)
                self.worlds.append(world)
            self.scribe.flush()

    def check(self, snapshot: Snapshot, path: str, *, oldest: int = 0) -> None:
        """Every read of every revision from `oldest` on agrees with the model."""
        name = self.scribe.name
        names = [note(key) for key in self.worlds[-1]]
        for revision, world in list(enumerate(self.worlds))[oldest:]:
            as_of = snapshot.as_of(name, names, revision)
            assert {each.key: entry for each, entry in as_of.items()} == world
            assert list(snapshot.scan(name, Scan(path, revision=revision))) == _below(world, path)
            for since in {oldest, revision - 1} - {-1}:
                changed = snapshot.changed(name, Scan(path, revision=revision), since=since)
                assert list(changed) == _changed(world, path, since)
        newest = self.worlds[-1]
        assert list(snapshot.scan(name, Scan(path))) == _below(newest, path)
        assert {each.key: entry for each, entry in snapshot.newest(name, names).items()} == newest


def _draft(world: World, key: str, wanted: bool) -> Draft | None:
    if wanted:
        return put(key, f"{key} {len(world)}")
    return gone(key) if key in world and world[key].exists else None


def _below(world: World, path: str) -> list[Entry]:
    return [
        world[key]
        for key in sorted(world)
        if world[key].exists and (not path or is_within(key, path))
    ]


def _changed(world: World, path: str, since: int) -> list[EntryId]:
    return [
        note(key)
        for key in sorted(world)
        if world[key].revision > since and (not path or is_within(key, path))
    ]


@pytest.mark.guarantee("S4")
@given(groups=GROUPS, path=PATHS)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50
)
def test_every_revision_reads_as_the_commits_up_to_it_left_it(
    store: Store, groups: list[list[dict[str, bool]]], path: str
) -> None:
    model = _Model(store)
    model.write(groups)

    with store.snapshot() as snapshot:
        model.check(snapshot, path)


@pytest.mark.guarantee("S3")
@given(groups=GROUPS, path=PATHS, subtree=PATHS, without=st.lists(KEYS, max_size=2), data=st.data())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50
)
def test_compaction_changes_no_read_from_its_horizon_on(
    store: Store,
    groups: list[list[dict[str, bool]]],
    path: str,
    subtree: str,
    without: list[str],
    data: st.DataObject,
) -> None:
    model = _Model(store)
    model.write(groups)
    horizon = data.draw(st.integers(0, len(model.worlds) - 1), label="horizon")
    part = Subtree(subtree, tuple(without))

    with store.transaction() as transaction:
        expected = transaction.has_superseded(model.scribe.name, part, horizon)
        versions_before = _versions(transaction, model)
        transaction.compact(model.scribe.name, part, horizon)
        versions_after = _versions(transaction, model)

    assert (versions_after < versions_before) is expected
    with store.snapshot() as snapshot:
        model.check(snapshot, path, oldest=horizon)
        assert not snapshot.has_superseded(model.scribe.name, part, horizon)


@given(groups=GROUPS, path=PATHS, versions_max=st.integers(1, 4))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50
)
def test_compacting_to_the_surplus_leaves_no_surplus(
    store: Store, groups: list[list[dict[str, bool]]], path: str, versions_max: int
) -> None:
    model = _Model(store)
    model.write(groups)
    name, part = model.scribe.name, Subtree(path)

    with store.transaction() as transaction:
        revision = transaction.surplus_revision(name, part, versions_max)
        if revision is not None:
            transaction.compact(name, part, revision)
    with store.snapshot() as snapshot:
        most = max(
            (
                len(snapshot.versions(name, note(key), below_version=None, limit=100))
                for key in model.worlds[-1]
                if not path or is_within(key, path)
            ),
            default=0,
        )
        assert most <= versions_max
        assert snapshot.surplus_revision(name, part, versions_max) is None


def _versions(snapshot: Snapshot, model: _Model) -> int:
    return sum(
        len(snapshot.versions(model.scribe.name, note(key), below_version=None, limit=100))
        for key in model.worlds[-1]
    )
