"""Giving history up: what is forgotten, what stays, and when there is something to forget."""

from collections.abc import Sequence

import pytest

from lavagna_server.domain.entries import Entry
from lavagna_server.ports.store import Scan, Store, Subtree
from tests.contracts.scribe import Scribe, gone, keys, note, put

MANY = 1 << 30


def compact(store: Store, scribe: Scribe, subtree: Subtree, horizon: int) -> None:
    """Compacts in a transaction of its own."""
    with store.transaction() as transaction:
        transaction.compact(scribe.name, subtree, horizon)


def history(store: Store, scribe: Scribe, key: str) -> list[int]:
    """The numbers of the versions that are left."""
    with store.snapshot() as snapshot:
        return [
            entry.version
            for entry in snapshot.versions(scribe.name, note(key), below_version=None, limit=100)
        ]


class TestWholeSpace:
    """Compaction of everything."""

    @pytest.fixture
    def written(self, scribe: Scribe) -> Scribe:
        """Seven revisions over three entries."""
        scribe.commit(put("a", "1"), put("b", "1"))
        scribe.commit(put("a", "2"))
        scribe.commit(gone("b"))
        scribe.commit(put("a", "3"), put("c"))
        scribe.commit(gone("c"))
        scribe.commit(put("a", "4"))
        scribe.commit(put("b", "3"))
        return scribe

    @pytest.mark.guarantee("S3")
    def test_reads_from_the_horizon_on_stay_as_they_were(
        self, store: Store, written: Scribe
    ) -> None:
        def read(revision: int) -> tuple[Sequence[Entry], object]:
            names = [note(key) for key in "abc"]
            with store.snapshot() as snapshot:
                return (
                    snapshot.scan(written.name, Scan(revision=revision)),
                    snapshot.as_of(written.name, names, revision),
                )

        before = [read(revision) for revision in range(4, 8)]
        compact(store, written, Subtree(), 4)

        assert [read(revision) for revision in range(4, 8)] == before

    def test_superseded_versions_are_forgotten(self, store: Store, written: Scribe) -> None:
        compact(store, written, Subtree(), 4)

        assert history(store, written, "a") == [4, 3]
        assert history(store, written, "b") == [3, 2]
        assert history(store, written, "c") == [2, 1]
        with store.snapshot() as snapshot:
            assert snapshot.version(written.name, note("a"), 2) is None

    def test_the_newest_version_stays_even_when_it_is_an_end(
        self, store: Store, written: Scribe
    ) -> None:
        compact(store, written, Subtree(), 7)

        assert {key: history(store, written, key) for key in "abc"} == {
            "a": [4],
            "b": [3],
            "c": [2],
        }
        with store.snapshot() as snapshot:
            assert snapshot.newest(written.name, [note("c")])[note("c")] == written.newest("c")

    def test_the_commits_before_the_horizon_go(self, store: Store, written: Scribe) -> None:
        compact(store, written, Subtree(), 4)

        with store.snapshot() as snapshot:
            left = snapshot.commits(written.name, after=0, limit=100, bytes_max=MANY)
        assert [commit.revision for commit in left] == [4, 5, 6, 7]
        assert keys(left[0].entries) == ["a", "c"]

    def test_a_moment_before_the_horizon_has_no_revision(
        self, store: Store, written: Scribe
    ) -> None:
        first, third = written.newest("c").committed_at, written.newest("b").committed_at
        compact(store, written, Subtree(), 6)

        with store.snapshot() as snapshot:
            assert snapshot.revision_by(written.name, first) == 0
            assert snapshot.revision_by(written.name, third) == 7

    def test_a_second_compaction_goes_further(self, store: Store, written: Scribe) -> None:
        compact(store, written, Subtree(), 4)
        compact(store, written, Subtree(), 6)

        assert history(store, written, "a") == [4]

    def test_other_spaces_are_left_alone(self, store: Store, written: Scribe) -> None:
        other = Scribe(store, owner="ada")
        other.commit(put("a"))
        other.commit(put("a"))
        compact(store, written, Subtree(), 7)

        assert history(store, other, "a") == [2, 1]

    def test_the_transaction_itself_reads_what_is_left(self, store: Store, written: Scribe) -> None:
        with store.transaction() as transaction:
            transaction.compact(written.name, Subtree(), 7)
            assert transaction.version(written.name, note("a"), 1) is None


class TestSubtrees:
    """Compaction of one region."""

    @pytest.fixture
    def written(self, scribe: Scribe) -> Scribe:
        """Three versions of entries in and around a subtree."""
        for content in "123":
            scribe.commit(
                *(
                    put(key, content)
                    for key in ("log", "log/a", "log/keep/b", "log-book", "logs", "plan")
                )
            )
        return scribe

    def test_only_whole_segments_below_the_path_are_forgotten(
        self, store: Store, written: Scribe
    ) -> None:
        compact(store, written, Subtree("log"), 3)

        assert {
            key for key in ("log", "log/a", "log/keep/b") if history(store, written, key) != [3]
        } == set()
        assert {
            key for key in ("log-book", "logs", "plan") if history(store, written, key) != [3, 2, 1]
        } == set()

    def test_inner_subtrees_can_be_left_out(self, store: Store, written: Scribe) -> None:
        compact(store, written, Subtree("log", ("log/keep",)), 3)

        assert history(store, written, "log/a") == [3]
        assert history(store, written, "log/keep/b") == [3, 2, 1]

    def test_all_but_some_subtrees_can_be_forgotten(self, store: Store, written: Scribe) -> None:
        compact(store, written, Subtree("", ("log", "plan")), 3)

        assert history(store, written, "logs") == [3]
        assert history(store, written, "log/a") == [3, 2, 1]
        assert history(store, written, "plan") == [3, 2, 1]

    def test_the_log_keeps_every_commit_with_what_is_left_of_it(
        self, store: Store, written: Scribe
    ) -> None:
        compact(store, written, Subtree("log"), 3)

        with store.snapshot() as snapshot:
            left = snapshot.commits(written.name, after=0, limit=10, bytes_max=MANY)
            page = snapshot.commits(written.name, after=0, limit=10, bytes_max=left[0].weight_bytes)
        assert [commit.revision for commit in left] == [1, 2, 3]
        assert keys(left[0].entries) == ["log-book", "logs", "plan"]
        assert [commit.revision for commit in page] == [1, 2], "weights count what is left"


class TestSurplus:
    """Whether retention has something to give up."""

    @pytest.fixture
    def written(self, scribe: Scribe) -> Scribe:
        """One entry with five versions, one with two, one with one."""
        scribe.commit(put("log/a"), put("log/b"))
        scribe.commit(put("log/a"))
        scribe.commit(put("log/a"), put("log/b"))
        scribe.commit(put("log/a"), put("logs"))
        scribe.commit(gone("log/a"))
        return scribe

    @pytest.mark.parametrize(
        ("versions_max", "revision"), [(1, 5), (2, 4), (3, 3), (4, 2), (5, None), (100, None)]
    )
    def test_it_begins_where_the_kept_versions_of_every_entry_do(
        self, store: Store, written: Scribe, versions_max: int, revision: int | None
    ) -> None:
        with store.snapshot() as snapshot:
            assert snapshot.surplus_revision(written.name, Subtree("log"), versions_max) == revision

    def test_only_the_subtree_counts(self, store: Store, written: Scribe) -> None:
        with store.snapshot() as snapshot:
            found = [
                snapshot.surplus_revision(written.name, subtree, 1)
                for subtree in (
                    Subtree("logs"),
                    Subtree("log", ("log/a",)),
                    Subtree("", ("log",)),
                    Subtree(),
                )
            ]

        assert found == [None, 3, None, 5]

    def test_what_was_compacted_is_no_surplus(self, store: Store, written: Scribe) -> None:
        compact(store, written, Subtree("log"), 4)

        with store.snapshot() as snapshot:
            assert snapshot.surplus_revision(written.name, Subtree("log"), 2) is None
            assert snapshot.surplus_revision(written.name, Subtree("log"), 1) == 5

    @pytest.mark.parametrize(
        ("subtree", "horizon", "expected"),
        [
            (Subtree(), 1, False),
            (Subtree(), 2, True),
            (Subtree("log/b"), 2, False),
            (Subtree("log/b"), 3, True),
            (Subtree("log", ("log/a",)), 2, False),
            (Subtree("logs"), 5, False),
        ],
    )
    def test_a_compaction_that_forgets_nothing_is_known_before(
        self, store: Store, written: Scribe, subtree: Subtree, horizon: int, expected: bool
    ) -> None:
        with store.snapshot() as snapshot:
            assert snapshot.has_superseded(written.name, subtree, horizon) is expected

    def test_after_a_compaction_there_is_nothing_left_to_forget(
        self, store: Store, written: Scribe
    ) -> None:
        compact(store, written, Subtree(), 4)

        with store.snapshot() as snapshot:
            assert not snapshot.has_superseded(written.name, Subtree(), 4)
            assert snapshot.has_superseded(written.name, Subtree(), 5)
