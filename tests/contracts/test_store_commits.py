"""Reading the log: commits in pages, where each space stands, and which revision a moment had."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from lavagna_server.domain.entries import (
    FRAME_BYTES,
    LABEL_BYTES,
    Cause,
    Commit,
    Occasion,
    Space,
    SpaceName,
)
from lavagna_server.ports.store import Changes, Store
from tests.contracts.scribe import START, Draft, Scribe, gone, put, text

MANY = 1 << 30


class TestCommits:
    """Pages of the log."""

    @pytest.mark.guarantee("S1")
    def test_commits_come_in_revision_order_and_whole(self, store: Store, scribe: Scribe) -> None:
        cause = Cause(3, "on-plan", 1, 1, 3)
        written = [
            scribe.stage(put("b"), put("a"), put("c")),
            scribe.stage(
                gone("a"), put("b", "again"), author="grace", cause=cause, request_id="r-1"
            ),
            scribe.stage(occasion=Occasion.QUIESCENCE, author=""),
        ]
        scribe.flush()
        written.append(scribe.commit(put("d")))

        with store.snapshot() as snapshot:
            found = snapshot.commits(scribe.name, after=0, limit=10, bytes_max=MANY)

        assert list(found) == written

    def test_a_page_begins_after_a_revision_and_has_at_most_its_limit(
        self, store: Store, scribe: Scribe
    ) -> None:
        for number in range(5):
            scribe.commit(put(f"k{number}"))

        with store.snapshot() as snapshot:
            page = snapshot.commits(scribe.name, after=1, limit=2, bytes_max=MANY)
            last = snapshot.commits(scribe.name, after=4, limit=2, bytes_max=MANY)
            beyond = snapshot.commits(scribe.name, after=5, limit=2, bytes_max=MANY)

        assert _revisions(page) == [2, 3]
        assert _revisions(last) == [5]
        assert _revisions(beyond) == []

    @pytest.mark.parametrize(
        ("bytes_max", "revisions"),
        [
            (0, [1]),
            (2 * FRAME_BYTES + 10, [1]),
            (2 * FRAME_BYTES + 11, [1, 2]),
            (5 * FRAME_BYTES + 17, [1, 2]),
            (5 * FRAME_BYTES + 18, [1, 2, 3]),
            (MANY, [1, 2, 3, 4]),
        ],
    )
    def test_a_page_ends_with_the_commit_that_exceeds_its_bytes(
        self, store: Store, scribe: Scribe, bytes_max: int, revisions: list[int]
    ) -> None:
        scribe.commit(put("a", "x" * 10))
        scribe.commit(put("b", "ü"), put("c", "xyz"))
        scribe.commit(put("d", "x" * 20))
        scribe.commit(gone("a"))

        with store.snapshot() as snapshot:
            page = snapshot.commits(scribe.name, after=0, limit=10, bytes_max=bytes_max)

        assert _revisions(page) == revisions

    def test_keys_and_labels_count_as_bytes(self, store: Store, scribe: Scribe) -> None:
        labelled = Draft("k", text("ü"), tags=("ü" * 10,), sources=("s" * 100, "t"))
        written = [scribe.commit(labelled), scribe.commit(put("a")), scribe.commit(put("b"))]
        weight = 2 * FRAME_BYTES + 1 + 2 + 20 + 100 + 1 + 3 * LABEL_BYTES

        with store.snapshot() as snapshot:
            within = snapshot.commits(scribe.name, after=0, limit=10, bytes_max=weight)
            beyond = snapshot.commits(scribe.name, after=0, limit=10, bytes_max=weight - 1)

        assert (list(within), list(beyond)) == (written[:2], written[:1])
        assert written[0].weight_bytes == weight

    def test_a_space_that_was_never_written_has_no_commits(self, store: Store) -> None:
        with store.snapshot() as snapshot:
            assert snapshot.commits(SpaceName("none"), after=0, limit=1, bytes_max=1) == []


class TestSpaces:
    """Where each log stands."""

    def test_a_space_reads_as_it_was_written(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(put("a"))
        later = Space(
            scribe.name, "first", 1, 1, 7, START + timedelta(microseconds=1), scribe.space.digest
        )
        with store.transaction() as transaction:
            transaction.write(Changes(spaces=[scribe.space, later]))

        with store.snapshot() as snapshot:
            assert snapshot.space(scribe.name) == later
            assert snapshot.space(SpaceName("atelier", "ada")) is None

    def test_a_space_may_exist_before_its_first_commit(self, store: Store) -> None:
        fresh = Space(SpaceName("atelier", "ada"), "first", activations=1)
        with store.transaction() as transaction:
            transaction.write(Changes(spaces=[fresh]))

        with store.snapshot() as snapshot:
            assert snapshot.space(fresh.name) == fresh
            assert snapshot.revision_by(fresh.name, START) == 0

    def test_the_spaces_of_a_board_are_listed_and_no_others(self, store: Store) -> None:
        for board, owner in (("one", ""), ("one", "ada"), ("two", ""), ("one", "grace")):
            Scribe(store, board, owner).commit(put("a"))

        with store.snapshot() as snapshot:
            found = [space.name.owner for space in snapshot.spaces("one")]
            none = snapshot.spaces("three")

        assert found == ["", "ada", "grace"]
        assert list(none) == []

    @pytest.mark.guarantee("S1")
    def test_revisions_of_spaces_are_counted_apart(self, store: Store) -> None:
        shared, private = Scribe(store), Scribe(store, owner="ada")
        shared.commit(put("a"))
        shared.commit(put("b"))
        private.commit(put("a"))

        with store.snapshot() as snapshot:
            heads = {space.name.owner: space.head for space in snapshot.spaces("atelier")}

        assert heads == {"": 2, "ada": 1}


class TestRevisionBy:
    """The newest revision at a moment."""

    def test_it_is_the_last_one_committed_by_then(self, store: Store, scribe: Scribe) -> None:
        for seconds in (0, 10, 10, 20, 30):
            scribe.commit(put("a"), at=START + timedelta(seconds=seconds))

        with store.snapshot() as snapshot:
            found = {
                seconds: snapshot.revision_by(scribe.name, START + timedelta(seconds=seconds))
                for seconds in (-1, 0, 9, 10, 19, 20, 29, 30, 1_000_000)
            }

        assert found == {-1: 0, 0: 1, 9: 1, 10: 3, 19: 3, 20: 4, 29: 4, 30: 5, 1_000_000: 5}

    def test_a_space_that_was_never_written_has_none(self, store: Store) -> None:
        with store.snapshot() as snapshot:
            assert snapshot.revision_by(SpaceName("none"), START) == 0


def _revisions(commits: Sequence[Commit]) -> list[int]:
    return [commit.revision for commit in commits]
