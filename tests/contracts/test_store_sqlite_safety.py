"""Verification, backup and restore: faults are found wherever they are, and what comes back is another life."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import ChangeType, Occasion, SpaceName
from lavagna_server.domain.errors import Invalid, StartRefused, StorageFailed
from lavagna_server.ports.store import Changes, Scan, Subtree
from lavagna_server.storage.sqlite import DATABASE_FILE, SqliteStore, restore
from lavagna_server.storage.sqlite.repair import rebuild
from tests.contracts.scribe import Draft, Scribe, gone, keys, note, put, text
from tests.contracts.specimens import after

SPACE = SpaceName("atelier")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store with eight commits of a shared space and one of a private one."""
    made = SqliteStore.open(tmp_path / "data")
    scribe = Scribe(made)
    scribe.commit(put("a", "1"), put("b", "1", expires_at=after(99)))
    scribe.commit(put("a", "2"))
    scribe.commit(gone("b"), put("c", "1"))
    scribe.commit(put("a", "3"))
    scribe.commit(put("c", "2"))
    scribe.commit(put("b", "3"))
    scribe.stage(occasion=Occasion.QUIESCENCE)
    scribe.stage(put("d", "1"))
    scribe.flush()
    Scribe(made, owner="ada").commit(put("a", "private"))
    with made.transaction() as transaction:
        transaction.write(Changes(saved=[Board("atelier", "first")]))
    yield made
    made.close()


def tamper(tmp_path: Path, *statements: str) -> list[str]:
    """Changes a closed database behind the server's back, and tells what a verification finds."""
    connection = sqlite3.connect(tmp_path / "data" / DATABASE_FILE)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    store = SqliteStore.open(tmp_path / "data")
    try:
        return [str(finding) for finding in store.verify()]
    finally:
        store.close()


class TestVerification:
    """What is not as the server wrote it is found."""

    def test_nothing_is_found_in_a_sound_store(self, store: SqliteStore) -> None:
        seen: list[tuple[int, int]] = []

        assert store.verify(progress=lambda done, total: seen.append((done, total))) == []
        assert seen[-1] == (9, 9)

    def test_what_ended_when_it_began_has_a_value_and_is_in_no_list(
        self, store: SqliteStore, tmp_path: Path
    ) -> None:
        Scribe(store, board="other").commit(
            Draft("decided", text("at once"), change=ChangeType.DECIDED)
        )
        store.close()
        assert tamper(tmp_path) == []
        rebuild(tmp_path / "data")
        assert tamper(tmp_path) == []

        again = SqliteStore.open(tmp_path / "data")
        with again.snapshot() as snapshot:
            kept = snapshot.version(SpaceName("other"), note("decided"), 1)
            assert snapshot.scan(SpaceName("other"), Scan()) == []
        again.close()
        assert kept is not None
        assert (kept.value, kept.exists) == (text("at once"), False)

    @pytest.mark.parametrize(
        ("statement", "finding"),
        [
            (
                "UPDATE versions SET content = x'58' WHERE key = 'a' AND version = 2",
                "atelier/shared@2: an entry of the commit was altered",
            ),
            (
                "UPDATE versions SET author = '' WHERE key = 'd'",
                None,
            ),
            (
                "UPDATE versions SET content = 5, tags = '}' WHERE space = 1 AND revision = 6",
                "atelier/shared@6: the commit cannot be read",
            ),
            (
                "UPDATE commits SET author = 'eve' WHERE space = 1 AND revision = 3",
                "atelier/shared@3: the commit or its predecessor was altered",
            ),
            (
                "UPDATE commits SET content_digest = x'00' WHERE space = 1 AND revision = 4",
                "atelier/shared@4: the commit or its predecessor was altered",
            ),
            (
                "UPDATE commits SET digest = x'00' WHERE space = 1 AND revision = 8",
                "atelier/shared@8: the newest commit is not the one that the space names",
            ),
            (
                "DELETE FROM commits WHERE space = 1 AND revision = 5",
                "atelier/shared@5: the commits up to revision 6 are missing",
            ),
            (
                "DELETE FROM commits WHERE space = 1 AND revision < 3",
                "atelier/shared@1: the commits before revision 3 are missing",
            ),
            (
                "DELETE FROM commits WHERE space = 1 AND revision = 8",
                "atelier/shared@7: the log ends here, and the space at 8",
            ),
            (
                "DELETE FROM commits WHERE space = 1",
                "atelier/shared@0: the log ends here, and the space at 8",
            ),
            (
                "DELETE FROM versions WHERE key = 'a' AND version = 1 AND space = 1",
                "atelier/shared@1: 1 entries of the commit are missing",
            ),
            (
                "UPDATE heads SET revision = 2 WHERE space = 1 AND key = 'a'",
                "atelier/shared@4: the version of a is newer than its head",
            ),
            (
                "UPDATE heads SET ended = 1 WHERE space = 1 AND key = 'd'",
                "atelier/shared@8: the head of d points to another version",
            ),
            (
                "UPDATE heads SET expires_at = 5 WHERE space = 1 AND key = 'd'",
                "atelier/shared@8: the head of d points to another version",
            ),
            (
                "DELETE FROM heads WHERE space = 1 AND key = 'c'",
                "atelier/shared@5: the version of c is newer than its head",
            ),
            (
                "DELETE FROM alive WHERE space = 1 AND key = 'c'",
                "atelier/shared@5: lists are wrong about whether c exists",
            ),
            (
                "INSERT INTO alive VALUES (1, 'note', 'ghost')",
                "atelier/shared@0: ghost is listed, but was never written",
            ),
            (
                "DELETE FROM versions WHERE space = 2",
                "atelier/ada@1: the head of a points to another version",
            ),
        ],
    )
    def test_a_change_behind_the_servers_back_is_found(
        self, store: SqliteStore, tmp_path: Path, statement: str, finding: str | None
    ) -> None:
        store.close()
        found = tamper(tmp_path, statement)

        assert (finding in found) if finding else (found == [])

    def test_what_compaction_took_is_no_fault_and_the_rest_is_still_verified(
        self, store: SqliteStore, tmp_path: Path
    ) -> None:
        for subtree, horizon in ((Subtree("a"), 3), (Subtree(), 5)):
            with store.transaction() as transaction:
                transaction.compact(SPACE, subtree, horizon)
                space = transaction.space(SPACE)
                assert space is not None
                scribe = Scribe(store)
                oldest = horizon if subtree == Subtree() else space.oldest
                scribe.space = replace(space, oldest=oldest)
                scribe.stage(occasion=Occasion.COMPACTION, compacted=(subtree, horizon))
                transaction.write(scribe.changes())
            assert store.verify() == []
            assert store.verify(commits_max=2) == []
        store.close()

        assert tamper(
            tmp_path, "UPDATE commits SET author = 'eve' WHERE space = 1 AND revision = 6"
        ) == ["atelier/shared@6: the commit or its predecessor was altered"]

    def test_a_look_at_the_newest_commits_sees_those_and_no_others(
        self, store: SqliteStore, tmp_path: Path
    ) -> None:
        store.close()
        tamper(tmp_path, "UPDATE commits SET author = 'eve' WHERE space = 1 AND revision IN (3, 6)")
        again = SqliteStore.open(tmp_path / "data")
        found = {
            number: [each.revision for each in again.verify(commits_max=number)]
            for number in (1, 2, 3, 6, 8)
        }
        again.close()

        assert found == {1: [], 2: [], 3: [6], 6: [3, 6], 8: [3, 6]}


class TestBackup:
    """A backup is what was committed when it began."""

    def test_a_backup_restored_elsewhere_holds_everything(
        self, store: SqliteStore, tmp_path: Path
    ) -> None:
        told: list[tuple[int, int]] = []
        store.back_up(tmp_path / "backup", progress=lambda done, total: told.append((done, total)))
        restore(tmp_path / "backup", tmp_path / "other")
        other = SqliteStore.open(tmp_path / "other")
        with store.snapshot() as before, other.snapshot() as after_it:
            commits = [
                list(each.commits(SPACE, after=0, limit=99, bytes_max=1 << 20))
                for each in (before, after_it)
            ]
        found = other.verify()
        other.close()

        assert commits[0] == commits[1]
        assert found == []
        assert told[-1][0] == told[-1][1] > 0

    @pytest.mark.guarantee("W5")
    def test_a_restored_board_is_another_life_of_it(
        self, store: SqliteStore, tmp_path: Path
    ) -> None:
        store.back_up(tmp_path / "backup")
        epochs: set[str] = set()
        for name in ("one", "two"):
            restore(tmp_path / "backup", tmp_path / name)
            other = SqliteStore.open(tmp_path / name)
            with other.snapshot() as snapshot:
                (board,) = snapshot.records(Board)
                assert {space.epoch for space in snapshot.spaces("atelier")} == {board.epoch}
            other.close()
            epochs.add(board.epoch)

        assert len(epochs | {"first"}) == 3

    def test_a_backup_is_one_file_that_only_its_owner_reads(
        self, store: SqliteStore, tmp_path: Path
    ) -> None:
        (tmp_path / "backups").mkdir()
        store.back_up(tmp_path / "backups" / "monday")

        (backup,) = (tmp_path / "backups").iterdir()
        assert backup.name == "monday"
        assert backup.stat().st_mode & 0o777 == 0o600

    def test_writers_go_on_during_a_backup_and_it_is_one_moment(
        self, store: SqliteStore, tmp_path: Path
    ) -> None:
        scribe = Scribe(store, "busy")
        for _ in range(8):
            scribe.commit(put("x", "x" * 1_000_000), put("y", "y"))
        begun, done = Event(), Event()

        def write() -> int:
            begun.wait(timeout=30)
            written = 0
            while not done.is_set():
                scribe.commit(put("x"), put("y"))
                written += 1
            return written

        with ThreadPoolExecutor(1) as pool:
            writer = pool.submit(write)
            store.back_up(tmp_path / "backup", progress=lambda done, total: begun.set())
            done.set()
            assert writer.result(timeout=60) > 0
        restore(tmp_path / "backup", tmp_path / "other")
        other = SqliteStore.open(tmp_path / "other")
        with other.snapshot() as snapshot:
            newest = {entry.revision for entry in snapshot.scan(scribe.name, Scan())}
            space = snapshot.space(scribe.name)
        other.close()

        assert space is not None
        assert newest == {space.head}

    def test_a_file_that_exists_is_not_overwritten(
        self, store: SqliteStore, tmp_path: Path
    ) -> None:
        (tmp_path / "backup").write_text("precious")

        with pytest.raises(Invalid, match="exists"):
            store.back_up(tmp_path / "backup")
        assert (tmp_path / "backup").read_text() == "precious"

    def test_a_place_that_does_not_exist_is_refused(
        self, store: SqliteStore, tmp_path: Path
    ) -> None:
        with pytest.raises(StorageFailed, match="the backup cannot be written: No such file"):
            store.back_up(tmp_path / "nowhere" / "backup")


class TestRestore:
    """Only a sound backup becomes a board, and only where there is none."""

    @pytest.fixture
    def backup(self, store: SqliteStore, tmp_path: Path) -> Path:
        """A backup of the store."""
        store.back_up(tmp_path / "backup")
        return tmp_path / "backup"

    def test_a_directory_with_boards_is_left_alone(self, backup: Path, tmp_path: Path) -> None:
        with pytest.raises(StartRefused, match="another server uses this directory"):
            restore(backup, tmp_path / "data")

    def test_a_directory_with_boards_is_left_alone_when_no_server_runs(
        self, store: SqliteStore, backup: Path, tmp_path: Path
    ) -> None:
        Scribe(store, "later").commit(put("a"))
        store.close()
        with pytest.raises(StartRefused, match="holds boards already"):
            restore(backup, tmp_path / "data")

        again = SqliteStore.open(tmp_path / "data")
        with again.snapshot() as snapshot:
            assert keys(snapshot.scan(SpaceName("later"), Scan())) == ["a"]
        again.close()

    @pytest.mark.parametrize(
        ("damage", "why"),
        [
            ("UPDATE versions SET content = x'00' WHERE key = 'd'", "the backup is damaged"),
            ("PRAGMA user_version=999", "newer server"),
            ("PRAGMA application_id=0", "another program"),
        ],
    )
    def test_a_backup_that_was_altered_is_refused(
        self, backup: Path, tmp_path: Path, damage: str, why: str
    ) -> None:
        connection = sqlite3.connect(backup)
        connection.execute(damage)
        connection.commit()
        connection.close()

        with pytest.raises(StartRefused, match=why):
            restore(backup, tmp_path / "other")
        assert [path.name for path in (tmp_path / "other").iterdir()] == ["lavagna.lock"]

    def test_a_backup_that_was_cut_off_is_refused(self, backup: Path, tmp_path: Path) -> None:
        whole = backup.read_bytes()
        backup.write_bytes(whole[: len(whole) // 2])

        with pytest.raises(StartRefused, match="damaged"):
            restore(backup, tmp_path / "other")

    @pytest.mark.parametrize("content", [b"", b"no database" * 999])
    def test_a_file_that_is_no_backup_is_refused(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "backup").write_bytes(content)

        with pytest.raises(StartRefused, match=r"another program|not a database|is empty"):
            restore(tmp_path / "backup", tmp_path / "other")

    def test_a_backup_that_does_not_exist_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(StartRefused, match="the backup cannot be restored: No such file"):
            restore(tmp_path / "backup", tmp_path / "other")
