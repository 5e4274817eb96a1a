"""Reading entries: the newest, those of a revision, those below a path, and their versions."""

import pytest

from lavagna_server.domain.entries import Cause, ChangeType, SpaceName
from lavagna_server.domain.values import Form, Value
from lavagna_server.ports.store import Scan, Store
from tests.contracts.scribe import START, Draft, Scribe, gone, keys, note, put, text


class TestNewest:
    """Entries by name, as they are now."""

    def test_an_entry_reads_as_it_was_written(self, store: Store, scribe: Scribe) -> None:
        cause = Cause(7, "on-plan", 3, 2, 5)
        draft = Draft("plan", Value(Form.JSON, '{"a": 1.0}'), ("x", "y"), 0.25, ("doc/1",), START)
        scribe.stage(draft, author="grace", cause=cause)
        scribe.flush()

        with store.snapshot() as snapshot:
            found = snapshot.newest(scribe.name, [note("plan")])[note("plan")]

        assert found == scribe.newest("plan")
        assert found.cause == cause
        assert (found.tags, found.sources, found.confidence) == (("x", "y"), ("doc/1",), 0.25)

    def test_what_was_never_written_is_left_out(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(put("plan"))

        with store.snapshot() as snapshot:
            assert set(snapshot.newest(scribe.name, [note("plan"), note("design")])) == {
                note("plan")
            }
            assert snapshot.newest(SpaceName("elsewhere"), [note("plan")]) == {}
            assert snapshot.newest(scribe.name, []) == {}

    @pytest.mark.guarantee("S3")
    def test_an_end_is_a_version_and_the_next_goes_on_counting(
        self, store: Store, scribe: Scribe
    ) -> None:
        scribe.commit(put("plan"))
        scribe.commit(gone("plan"))
        with store.snapshot() as snapshot:
            ended = snapshot.newest(scribe.name, [note("plan")])[note("plan")]
        scribe.commit(put("plan", "anew"))
        with store.snapshot() as snapshot:
            anew = snapshot.newest(scribe.name, [note("plan")])[note("plan")]

        assert (ended.version, ended.change, ended.value) == (2, ChangeType.DELETED, None)
        assert (anew.version, anew.change, anew.value) == (3, ChangeType.CREATED, text("anew"))

    def test_several_versions_of_one_entry_in_one_group_leave_the_last(
        self, store: Store, scribe: Scribe
    ) -> None:
        scribe.stage(put("plan", "one"), put("design"))
        scribe.stage(put("plan", "two"))
        scribe.stage(gone("design"), put("plan", "three"))
        scribe.flush()

        with store.snapshot() as snapshot:
            newest = snapshot.newest(scribe.name, [note("plan"), note("design")])

        assert newest[note("plan")].value == text("three")
        assert not newest[note("design")].exists

    def test_hundreds_of_entries_are_found_in_one_question(
        self, store: Store, scribe: Scribe
    ) -> None:
        scribe.commit(*(put(f"task/{number}") for number in range(1_200)))
        names = [note(f"task/{number}") for number in range(0, 2_400, 2)]

        with store.snapshot() as snapshot:
            found = snapshot.newest(scribe.name, names)

        assert set(found) == {note(f"task/{number}") for number in range(0, 1_200, 2)}

    def test_spaces_do_not_see_each_other(self, store: Store, scribe: Scribe) -> None:
        private = Scribe(store, owner="ada")
        scribe.commit(put("plan", "shared"))
        private.commit(put("plan", "private"))

        with store.snapshot() as snapshot:
            shared = snapshot.newest(scribe.name, [note("plan")])
            own = snapshot.newest(private.name, [note("plan")])

        assert (shared[note("plan")].value, own[note("plan")].value) == (
            text("shared"),
            text("private"),
        )


class TestValues:
    """What a value may hold comes back byte by byte."""

    @pytest.mark.parametrize(
        "value",
        [
            Value(Form.JSON, "null"),
            Value(Form.JSON, '{"z": 1, "a": [1.0, 1e3, "\\u0000"]}'),
            Value(Form.TEXT, ""),
            Value(Form.TEXT, "nul \x00 inside, and after"),
            Value(Form.TEXT, "Zürich 東京 🎨"),
            Value(Form.DATA, b""),
            Value(Form.DATA, bytes(range(256)) * 4),
            Value(Form.DATA, b"\x00" * (1 << 20)),
            Value(Form.TEXT, "ü" * (1 << 19)),
        ],
        ids=lambda value: f"{value.form.value}-{value.size_bytes}",
    )
    def test_a_value_comes_back_as_it_was(self, store: Store, scribe: Scribe, value: Value) -> None:
        scribe.commit(Draft("value", value))

        with store.snapshot() as snapshot:
            found = snapshot.newest(scribe.name, [note("value")])[note("value")]

        assert found.value == value


class TestScan:
    """Entries that exist, in the order of their keys."""

    def test_keys_come_in_code_point_order(self, store: Store, scribe: Scribe) -> None:
        # é, fullwidth and emoji: UTF-16 order and locales would put them elsewhere.
        written = ["a", "B", "é", "z", "Z", "_", "\uffee", "🎨", "a/b", "a-b", "a.b", "ab", "é/x"]
        scribe.commit(*(put(key) for key in written))

        with store.snapshot() as snapshot:
            found = keys(snapshot.scan(scribe.name, Scan()))

        assert found == sorted(written)

    def test_a_path_is_a_whole_segment(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(
            *(
                put(key)
                for key in ("a/b", "a/bc", "a/b-c", "a/b/c", "a/b/c/d", "a/b0", "a", "a/c", "A/b")
            )
        )

        with store.snapshot() as snapshot:
            found = keys(snapshot.scan(scribe.name, Scan("a/b")))

        assert found == ["a/b", "a/b/c", "a/b/c/d"]

    @pytest.mark.parametrize("path", ["a%", "a_", "a*", "A", "a/"])
    def test_no_character_of_a_path_is_a_wildcard(
        self, store: Store, scribe: Scribe, path: str
    ) -> None:
        scribe.commit(put("a/b"), put("ab"), put("axb"))

        with store.snapshot() as snapshot:
            assert keys(snapshot.scan(scribe.name, Scan(path))) == []

    def test_what_ended_is_not_listed(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(put("a"), put("b"), put("c"))
        scribe.commit(gone("a"), gone("b", change=ChangeType.EXPIRED))

        with store.snapshot() as snapshot:
            assert keys(snapshot.scan(scribe.name, Scan())) == ["c"]
            assert keys(snapshot.scan(scribe.name, Scan("a"))) == []

    @pytest.mark.parametrize("path", ["", "p"])
    @pytest.mark.parametrize("revision", [None, 1])
    @pytest.mark.parametrize("limit", [1, 2, 4])
    def test_pages_chain_without_gap_or_overlap(
        self, store: Store, scribe: Scribe, path: str, revision: int | None, limit: int
    ) -> None:
        written = ["p", "p/1", "p/10", "p/2", "p/ü", "p/x/y"]
        scribe.commit(*(put(key) for key in written))
        found: list[str] = []
        with store.snapshot() as snapshot:
            page = snapshot.scan(scribe.name, Scan(path, revision=revision, limit=limit))
            while page:
                assert len(page) <= limit
                found += keys(page)
                page = snapshot.scan(
                    scribe.name, Scan(path, after=page[-1].id, revision=revision, limit=limit)
                )

        assert found == sorted(written)

    def test_a_page_begins_after_a_key_that_does_not_exist(
        self, store: Store, scribe: Scribe
    ) -> None:
        scribe.commit(put("a"), put("c"))

        with store.snapshot() as snapshot:
            assert keys(snapshot.scan(scribe.name, Scan(after=note("b")))) == ["c"]
            assert keys(snapshot.scan(scribe.name, Scan("c", after=note("d")))) == []

    def test_the_past_is_listed_as_it_was(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(put("a", "old"), put("p/b"))
        scribe.commit(put("a", "new"), gone("p/b"), put("c"))

        with store.snapshot() as snapshot:
            before = snapshot.scan(scribe.name, Scan(revision=1))
            below = snapshot.scan(scribe.name, Scan("p", revision=1))
            now = snapshot.scan(scribe.name, Scan(revision=2))
            nothing = snapshot.scan(scribe.name, Scan(revision=0))

        assert [(entry.key, entry.value) for entry in before] == [
            ("a", text("old")),
            ("p/b", text("p/b")),
        ]
        assert keys(below) == ["p/b"]
        assert keys(now) == ["a", "c"]
        assert nothing == []


class TestVersions:
    """The history of one entry."""

    @pytest.fixture
    def history(self, scribe: Scribe) -> Scribe:
        """Five versions of an entry among others."""
        scribe.commit(put("plan", "1"), put("other"))
        scribe.commit(put("plan", "2"))
        scribe.commit(gone("plan"))
        scribe.commit(put("other", "again"))
        scribe.commit(put("plan", "4"))
        scribe.commit(put("plan", "5"))
        return scribe

    @pytest.mark.guarantee("S3")
    def test_all_versions_come_newest_first(self, store: Store, history: Scribe) -> None:
        with store.snapshot() as snapshot:
            found = snapshot.versions(history.name, note("plan"), below_version=None, limit=10)

        assert [(entry.version, entry.revision) for entry in found] == [
            (5, 6),
            (4, 5),
            (3, 3),
            (2, 2),
            (1, 1),
        ]

    def test_a_page_begins_below_a_version(self, store: Store, history: Scribe) -> None:
        with store.snapshot() as snapshot:
            found = snapshot.versions(history.name, note("plan"), below_version=4, limit=2)
            last = snapshot.versions(history.name, note("plan"), below_version=1, limit=2)
            other = snapshot.versions(history.name, note("never"), below_version=None, limit=2)

        assert [entry.version for entry in found] == [3, 2]
        assert (list(last), list(other)) == ([], [])

    def test_one_version_is_found_by_its_number(self, store: Store, history: Scribe) -> None:
        with store.snapshot() as snapshot:
            found = [snapshot.version(history.name, note("plan"), number) for number in range(7)]

        assert [entry and entry.version for entry in found] == [None, 1, 2, 3, 4, 5, None]
        assert [entry.value for entry in found if entry] == [
            text("1"),
            text("2"),
            None,
            text("4"),
            text("5"),
        ]

    def test_the_version_of_a_revision_is_found(self, store: Store, history: Scribe) -> None:
        with store.snapshot() as snapshot:
            found = [
                snapshot.as_of(history.name, [note("plan"), note("never")], revision)
                for revision in range(8)
            ]

        assert [{name.key: entry.version for name, entry in at.items()} for at in found] == [
            {},
            {"plan": 1},
            {"plan": 2},
            {"plan": 3},
            {"plan": 3},
            {"plan": 4},
            {"plan": 5},
            {"plan": 5},
        ]
