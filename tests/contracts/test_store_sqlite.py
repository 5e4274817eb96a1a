"""What only a store on disk has to do: last, keep others out, refuse what it cannot read, and survive a full disk."""

import errno
import os
import resource
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from lavagna_server.domain.agenda import ActivationFilter
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.errors import StartRefused, StorageFailed
from lavagna_server.ports.store import Changes, Effect, Order, Scan, Snapshot
from lavagna_server.storage.damage import Damaged, NotReadable
from lavagna_server.storage.sqlite import DATABASE_FILE, SqliteStore
from lavagna_server.storage.tables import SCHEMA_VERSION
from tests.contracts.scribe import START, Scribe, keys, note, put
from tests.contracts.specimens import activation, after

SPACE = SpaceName("atelier")
PRAGMAS = ("journal_mode", "synchronous", "wal_autocheckpoint", "query_only", "mmap_size")


def mark_schema(directory: Path, version: int) -> None:
    """Marks a database as one of another version's."""
    with closing(sqlite3.connect(directory / DATABASE_FILE)) as connection:
        connection.execute(f"PRAGMA user_version={version}")


@contextmanager
def opened(directory: Path) -> Generator[SqliteStore]:
    """The store in a directory, closed afterwards."""
    store = SqliteStore.open(directory)
    try:
        yield store
    finally:
        store.close()


def state(snapshot: Snapshot) -> list[object]:
    """Everything that the tests below write."""
    return [
        list(snapshot.spaces("atelier")),
        list(snapshot.scan(SPACE, Scan())),
        list(snapshot.commits(SPACE, after=0, limit=100, bytes_max=1 << 30)),
        list(snapshot.versions(SPACE, note("a"), below_version=None, limit=10)),
        list(snapshot.activations(ActivationFilter(), order=Order.AGENDA, limit=10)),
        list(snapshot.records(Board)),
        snapshot.effect("atelier", "ada", "r-1"),
        snapshot.next_deadline(START),
    ]


def write_something(store: SqliteStore) -> Scribe:
    """A little of everything."""
    scribe = Scribe(store)
    scribe.commit(put("a"), put("b", expires_at=after(60)))
    scribe.commit(put("a", "again"))
    scribe.fire(activation(1), activation(2, rating=4))
    with store.transaction() as transaction:
        effect = Effect("atelier", "ada", "r-1", b"print", b"answer", START)
        transaction.write(Changes(saved=[Board("atelier", "epoch")], effects=[effect]))
    return scribe


class TestLasting:
    """What was committed is there the next time."""

    @pytest.mark.guarantee("S2")
    def test_reopening_gives_the_same_state(self, tmp_path: Path) -> None:
        with opened(tmp_path) as store:
            write_something(store)
            with store.snapshot() as snapshot:
                before = state(snapshot)
        with opened(tmp_path) as store, store.snapshot() as snapshot:
            assert state(snapshot) == before

    @pytest.mark.guarantee("S2")
    def test_a_killed_process_loses_nothing_that_it_committed(self, tmp_path: Path) -> None:
        program = (
            "import os, pathlib, signal\n"
            "from lavagna_server.storage.sqlite import SqliteStore\n"
            "from tests.contracts.scribe import Scribe, put\n"
            f"store = SqliteStore.open(pathlib.Path({str(tmp_path)!r}))\n"
            "scribe = Scribe(store)\n"
            "for number in range(20):\n"
            "    scribe.commit(put(f'k/{number:02}'))\n"
            "scribe.stage(put('lost'))\n"
            "with store.transaction() as transaction:\n"
            "    transaction.write(scribe.changes())\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", program], check=False, cwd=Path(__file__).parents[2]
        )

        with opened(tmp_path) as store, store.snapshot() as snapshot:
            found = keys(snapshot.scan(SPACE, Scan()))
        assert ended.returncode < 0
        assert found == [f"k/{number:02}" for number in range(20)]

    def test_writing_goes_on_after_reopening(self, tmp_path: Path) -> None:
        with opened(tmp_path) as store:
            scribe = Scribe(store)
            scribe.commit(put("a"))
            scribe.stage(put("b"))
            changes = scribe.changes()
        with opened(tmp_path) as store:
            with store.transaction() as transaction:
                transaction.write(changes)
            with store.snapshot() as snapshot:
                assert keys(snapshot.scan(SPACE, Scan())) == ["a", "b"]

    def test_closing_leaves_one_file_besides_the_lock(self, tmp_path: Path) -> None:
        with opened(tmp_path) as store:
            write_something(store)
            with store.snapshot():
                pass

        assert sorted(path.name for path in tmp_path.iterdir()) == [DATABASE_FILE, "lavagna.lock"]

    def test_only_the_owner_can_read_the_directory_that_it_makes(self, tmp_path: Path) -> None:
        with opened(tmp_path / "new" / "data"):
            mode = stat.S_IMODE((tmp_path / "new" / "data").stat().st_mode)

        assert mode == 0o700

    @pytest.mark.guarantee("S2")
    def test_every_commit_is_synced_by_the_one_connection_that_writes_and_checkpoints(
        self, tmp_path: Path
    ) -> None:
        made: list[sqlite3.Connection] = []

        def note_it(connection: sqlite3.Connection, _: object) -> None:
            made.append(connection)

        event.listen(Engine, "connect", note_it)
        try:
            with opened(tmp_path) as store, store.snapshot(), store.snapshot():
                settings = [
                    {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in PRAGMAS}
                    for connection in made
                ]
                with pytest.raises(sqlite3.OperationalError, match="readonly"):
                    made[-1].execute("DELETE FROM spaces")
        finally:
            event.remove(Engine, "connect", note_it)

        assert settings[0] == {
            "journal_mode": "wal",
            "synchronous": 2,
            "wal_autocheckpoint": 2000,
            "query_only": 0,
            "mmap_size": 0,
        }
        assert [(each["query_only"], each["wal_autocheckpoint"]) for each in settings[1:]] == [
            (1, 0)
        ] * 2


class TestOneServer:
    """A directory belongs to one server at a time."""

    def test_a_second_server_is_told_who_has_the_directory(self, tmp_path: Path) -> None:
        with opened(tmp_path), pytest.raises(StartRefused, match=f"process {os.getpid()} on "):
            SqliteStore.open(tmp_path)

    def test_a_server_in_another_process_is_refused_and_harms_nothing(self, tmp_path: Path) -> None:
        program = (
            "import pathlib, sys\n"
            "from lavagna_server.domain.errors import StartRefused\n"
            "from lavagna_server.storage.sqlite import SqliteStore\n"
            "try:\n"
            f"    SqliteStore.open(pathlib.Path({str(tmp_path)!r}))\n"
            "except StartRefused as refusal:\n"
            "    sys.exit(str(refusal))\n"
        )
        with opened(tmp_path) as store:
            scribe = write_something(store)
            ended = subprocess.run(
                [sys.executable, "-c", program], check=False, capture_output=True, text=True
            )
            scribe.commit(put("c"))

        assert ended.returncode == 1
        assert f"process {os.getpid()} on " in ended.stderr

    def test_the_directory_is_free_after_closing(self, tmp_path: Path) -> None:
        for _ in range(3):
            with opened(tmp_path) as store:
                store.close()  # twice harms nothing

    def test_a_refused_start_leaves_the_directory_free(self, tmp_path: Path) -> None:
        (tmp_path / DATABASE_FILE).write_bytes(b"not a database, but long enough to be read" * 99)
        for _ in range(2):
            with pytest.raises(Damaged, match="not a database"):
                SqliteStore.open(tmp_path)


class TestRefusals:
    """What cannot be opened is refused in words."""

    def test_a_newer_database_is_refused(self, tmp_path: Path) -> None:
        with opened(tmp_path):
            pass
        mark_schema(tmp_path, 999)

        with pytest.raises(StartRefused, match=r"newer server .schema 999, this one knows \d+."):
            SqliteStore.open(tmp_path)

    def test_an_older_database_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        with opened(tmp_path):
            pass
        mark_schema(tmp_path, SCHEMA_VERSION - 1)

        for _ in range(2):
            with pytest.raises(StartRefused, match=r"earlier server .schema .* import them"):
                SqliteStore.open(tmp_path)

    def test_the_database_of_another_program_is_refused_and_left_alone(
        self, tmp_path: Path
    ) -> None:
        connection = sqlite3.connect(tmp_path / DATABASE_FILE)
        connection.execute("CREATE TABLE theirs (x)")
        connection.close()

        with pytest.raises(StartRefused, match="another program"):
            SqliteStore.open(tmp_path)

        connection = sqlite3.connect(tmp_path / DATABASE_FILE)
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
        connection.close()
        assert tables == [("theirs",)]

    def test_a_file_in_place_of_the_directory_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "data"
        path.write_text("a file")

        with pytest.raises(StartRefused, match=os.strerror(errno.EEXIST)):
            SqliteStore.open(path)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_directory_that_may_not_be_written_is_refused(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o500)

        with pytest.raises(StartRefused, match=os.strerror(errno.EACCES)):
            SqliteStore.open(tmp_path)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_database_that_may_not_be_written_is_refused(self, tmp_path: Path) -> None:
        with opened(tmp_path):
            pass
        (tmp_path / DATABASE_FILE).chmod(0o400)

        with pytest.raises(NotReadable, match="may not be written, or its file system"):
            SqliteStore.open(tmp_path)

    def test_a_directory_in_place_of_the_database_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / DATABASE_FILE).mkdir()

        with pytest.raises(NotReadable, match="cannot be opened"):
            SqliteStore.open(tmp_path)

    def test_a_database_of_no_bytes_is_lost_and_not_new(self, tmp_path: Path) -> None:
        (tmp_path / DATABASE_FILE).touch()

        with pytest.raises(Damaged) as damage:
            SqliteStore.open(tmp_path)
        assert damage.value.what == "board.db is empty, and what it held is lost"
        assert damage.value.remedy == "restore a backup, or remove the file to begin anew"
        assert (tmp_path / DATABASE_FILE).stat().st_size == 0

    def test_a_row_that_no_server_wrote_is_damage(self, tmp_path: Path) -> None:
        with opened(tmp_path) as store:
            write_something(store)
        with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as database, database:
            assert database.execute("UPDATE spaces SET committed_at = 1 << 62").rowcount

        with (
            opened(tmp_path) as store,
            pytest.raises(Damaged, match=r"is damaged .OverflowError.: restore a backup"),
            store.snapshot() as snapshot,
        ):
            snapshot.space(SPACE)


@contextmanager
def files_up_to(size_bytes: int) -> Generator[None]:
    """No file can grow beyond a size, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class TestFullDisk:
    """Where nothing can be written, nothing is lost."""

    def test_a_group_that_finds_no_room_is_refused_and_the_next_is_written(
        self, tmp_path: Path
    ) -> None:
        with opened(tmp_path) as store:
            scribe = write_something(store)
            with store.snapshot() as snapshot:
                before = state(snapshot)
            scribe.stage(put("large", "x" * (1 << 20)))
            changes = scribe.changes()
            log = tmp_path / f"{DATABASE_FILE}-wal"
            with files_up_to(log.stat().st_size + 4_096):
                for _ in range(3):
                    with pytest.raises(StorageFailed, match="nothing was written: the disk"):
                        write(store, changes)
                    with store.snapshot() as snapshot:
                        assert state(snapshot) == before
            write(store, changes)
            with store.snapshot() as snapshot:
                assert keys(snapshot.scan(SPACE, Scan())) == ["a", "b", "large"]
            assert store.verify() == []

    def test_nothing_is_written_into_a_transaction_that_sqlite_gave_up(
        self, tmp_path: Path
    ) -> None:
        """As it does by itself when a read inside the transaction meets a failing disk."""
        with opened(tmp_path / "store") as store:
            with pytest.raises(StorageFailed, match="gave up the transaction"):  # noqa: SIM117, PT012
                with store.transaction() as transaction:
                    assert transaction.space(SPACE) is None
                    vars(store)["_writer"].connection.rollback()
                    transaction.write(Changes(saved=[Board("atelier", "epoch")]))
            with store.snapshot() as snapshot:
                assert snapshot.records(Board) == []

    def test_what_was_refused_is_not_there_after_a_restart(self, tmp_path: Path) -> None:
        with opened(tmp_path) as store:
            scribe = write_something(store)
            scribe.stage(put("large", "x" * (1 << 20)))
            room = (tmp_path / f"{DATABASE_FILE}-wal").stat().st_size + 500_000
            with files_up_to(room), pytest.raises(StorageFailed):
                write(store, scribe.changes())
        with opened(tmp_path) as store:
            with store.snapshot() as snapshot:
                assert keys(snapshot.scan(SPACE, Scan())) == ["a", "b"]
            assert store.verify() == []


def write(store: SqliteStore, changes: Changes) -> None:
    """Writes changes in a transaction of their own."""
    with store.transaction() as transaction:
        transaction.write(changes)
