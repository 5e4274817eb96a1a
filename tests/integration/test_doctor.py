"""The doctor finds what is planted, sets right what needs no guessing, and leaves a healthy board alone."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lavagna import Choice, Electorate, Policy, Region, Voters, connect
from lavagna.errors import Unauthenticated
from lavagna.triggers import Mode, Trigger
from lavagna_server.__main__ import Area, StartRefused, doctor
from lavagna_server.clocks import ManualClock
from tests.servers import local_server

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HEALTHY: Sequence[object] = []


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def data_dir(tmp_path: Path, clock: ManualClock) -> Path:
    """What a stopped server left: two entries, one of them changed, and a trigger that fired twice and is worked on."""
    on_tasks = Trigger("alice.work", on=["tasks/*"], mode=Mode.EVERY, own_writes=True)
    async with (
        local_server(tmp_path / "data", clock=clock) as server,
        connect(server.address, agent="alice") as board,
    ):
        await board.triggers.set(on_tasks)
        await board.put("tasks/1", "open")
        await board.put("tasks/1", "done", overwrite=True)
        await board.put("plan", "the true plan")
        assert [leased.activation.id for leased in await board.activations.acquire()] == ["1"]
    return tmp_path / "data"


def plant(data_dir: Path, statement: str, *values: Any) -> None:
    """Changes the database behind the server's back."""
    with closing(sqlite3.connect(data_dir / "board.db")) as database, database:
        changed = database.execute(statement, values).rowcount
    assert changed > 0, "nothing was planted"


async def test_a_healthy_board_has_no_findings_whether_it_is_served_or_not(
    data_dir: Path, clock: ManualClock
) -> None:
    assert doctor(data_dir, clock=clock) == HEALTHY
    async with local_server(data_dir, clock=clock):
        assert doctor(data_dir, clock=clock) == HEALTHY
    assert doctor(data_dir, repair=True, clock=clock) == HEALTHY


async def test_a_repair_waits_until_the_server_is_stopped(
    data_dir: Path, clock: ManualClock
) -> None:
    async with local_server(data_dir, clock=clock):
        with pytest.raises(StartRefused, match=r"a server uses .*: stop it before a repair"):
            doctor(data_dir, repair=True, clock=clock)


def test_where_there_is_no_board_there_is_nothing_to_examine(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="holds no board"):
        doctor(tmp_path)


def test_an_altered_value_is_found_and_not_guessed_at(data_dir: Path, clock: ManualClock) -> None:
    plant(data_dir, "UPDATE versions SET content = ? WHERE key = 'plan'", b"the sham plan")
    (finding,) = doctor(data_dir, repair=True, clock=clock)
    assert finding.area is Area.LOG
    assert finding.what == "main/shared@3: an entry of the commit was altered"
    assert finding.remedy == "restore a backup"
    assert not finding.is_repaired


@pytest.fixture
async def decided(tmp_path: Path, clock: ManualClock) -> Path:
    """What a stopped server left on which a vote was taken, and a claim made."""
    data_dir = tmp_path / "data"
    electorate = Electorate([Voters("alice"), Voters("bob")], approvals=2)
    async with (
        local_server(data_dir, clock=clock) as server,
        connect(server.address, agent="alice") as alice,
        connect(server.address, agent="bob") as bob,
    ):
        await alice.regions.set(Region("design", policy=Policy.QUORUM, electorate=electorate))
        await alice.regions.set(Region("effort", policy=Policy.WEIGHTED))
        proposal = await alice.propose("design", "a log")
        await bob.vote(proposal, Choice.ACCEPT, reason="simple")
        await alice.claim("effort", 3, confidence=0.5)
    return data_dir


@pytest.mark.guarantee("C1")
@pytest.mark.guarantee("C4")
@pytest.mark.parametrize(
    ("was", "becomes", "where"),
    [
        ('"outcome":"accepted"', '"outcome":"rejected"', 2),
        ('"choice":"accept"', '"choice":"reject"', 2),
        ('{"decision":', '{"derision":', 2),
        ('"threshold":2.0', '"threshold":1.0', 1),
        ('"trust":1.0', '"trust":0.1', 3),
    ],
)
def test_what_a_decision_or_a_merge_rests_on_cannot_be_altered_unseen(
    decided: Path, clock: ManualClock, was: str, becomes: str, where: int
) -> None:
    assert doctor(decided, clock=clock) == HEALTHY
    plant(
        decided,
        "UPDATE versions SET basis = replace(basis, ?, ?) WHERE revision = ? AND instr(basis, ?)",
        was, becomes, where, was,
    )  # fmt: skip
    (finding,) = doctor(decided, repair=True, clock=clock)
    assert finding.area is Area.LOG
    assert finding.what == f"main/shared@{where}: an entry of the commit was altered"
    assert not finding.is_repaired


@pytest.mark.parametrize("kind", ["proposal", "note", "claim"])
def test_a_basis_that_was_lost_is_found(decided: Path, clock: ManualClock, kind: str) -> None:
    plant(decided, "UPDATE versions SET basis = NULL WHERE kind = ?", kind)
    found = doctor(decided, clock=clock)
    assert found
    assert all("an entry of the commit was altered" in each.what for each in found)


def test_a_ballot_that_was_altered_is_found(decided: Path, clock: ManualClock) -> None:
    plant(
        decided,
        "UPDATE versions SET content = CAST(replace(content, 'accept', 'reject') AS BLOB)"
        " WHERE key LIKE '%@bob'",
    )
    (finding,) = doctor(decided, clock=clock)
    assert finding.what == "main/shared@2: an entry of the commit was altered"


def cut(content: bytes) -> bytes:
    """What is left when the end of a file is lost."""
    return content[:20_000]


def emptied(_: bytes) -> bytes:
    """What is left of a file whose content was never written to the disk."""
    return b""


def beheaded(content: bytes) -> bytes:
    """A file whose first sector is another's."""
    return b"x" * 512 + content[512:]


def holed(content: bytes) -> bytes:
    """A file whose second page is lost."""
    return content[:4_096] + bytes(4_096) + content[8_192:]


def garbled(content: bytes) -> bytes:
    """A file in which a text that is in every row is not UTF-8 any more."""
    return content.replace(b"alice", b"al\xffce")


def unreadable_schema(content: bytes) -> bytes:
    """A file in which SQLite complains of what cannot even be printed."""
    return content.replace(b"CREATE TABLE commits", b"CREATE TABL\xff commits")


@pytest.mark.parametrize(
    "damage",
    [cut, emptied, beheaded, holed, garbled, unreadable_schema],
    ids=lambda each: each.__name__,
)
def test_a_database_that_cannot_be_read_is_told_so_and_left_alone(
    data_dir: Path, clock: ManualClock, damage: Callable[[bytes], bytes]
) -> None:
    database = data_dir / "board.db"
    damaged = damage(database.read_bytes())
    database.write_bytes(damaged)
    found = doctor(data_dir, repair=True, clock=clock)
    assert found
    for finding in found:
        assert (finding.area, finding.is_repaired) == (Area.FILES, False)
        assert "restore a backup" in finding.remedy
        assert any(word in finding.what for word in ("damaged", "not a database", "is empty"))
    assert database.read_bytes() == damaged


def test_a_database_of_no_bytes_may_also_be_given_up(data_dir: Path) -> None:
    (data_dir / "board.db").write_bytes(b"")
    (finding,) = doctor(data_dir)
    assert finding.what == "board.db is empty, and what it held is lost"
    assert finding.remedy == "restore a backup, or remove the file to begin anew"


def test_an_index_that_left_its_table_is_found(data_dir: Path, clock: ManualClock) -> None:
    with closing(sqlite3.connect(data_dir / "board.db")) as database:
        (index,) = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %' LIMIT 1"
        ).fetchone()
        database.executescript(
            "PRAGMA writable_schema=ON;"
            f"UPDATE sqlite_master SET sql = sql || ' OR 1' WHERE name = '{index}'"
        )
    found = doctor(data_dir, clock=clock)
    assert found[0].what.startswith("the database is damaged: ")
    assert index in found[0].what


def test_a_lost_commit_is_found(data_dir: Path, clock: ManualClock) -> None:
    plant(data_dir, "DELETE FROM commits WHERE revision = 2")
    assert any(
        each.what == "main/shared@2: the commits up to revision 3 are missing"
        for each in doctor(data_dir, clock=clock)
    )


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE heads SET version = 1, revision = 1, ordinal = 0 WHERE key = 'tasks/1'",
        "UPDATE heads SET ended = 1 WHERE key = 'tasks/1'",
        "DELETE FROM heads WHERE key = 'tasks/1'",
    ],
)
async def test_heads_that_left_the_log_are_made_anew(
    data_dir: Path, clock: ManualClock, damage: str
) -> None:
    plant(data_dir, damage)
    found = doctor(data_dir, clock=clock)
    assert found
    assert {(each.area, each.is_repaired) for each in found} == {(Area.LOG, False)}
    assert all(each.is_repaired for each in doctor(data_dir, repair=True, clock=clock))
    assert doctor(data_dir, clock=clock) == HEALTHY
    async with (
        local_server(data_dir, clock=clock) as server,
        connect(server.address, agent="bob") as board,
    ):
        assert (await board.get("tasks/1")).value == "done"
        assert (await board.put("tasks/1", "again", expected_version=2)).version == 3


async def test_what_remains_of_a_lost_trigger_is_cleared(
    data_dir: Path, clock: ManualClock
) -> None:
    plant(data_dir, "DELETE FROM triggers")
    plant(data_dir, "INSERT INTO edges VALUES ('main', '', 'alice.work', '1', 'note', 'tasks/1')")
    found = doctor(data_dir, repair=True, clock=clock)
    assert {each.area for each in found} == {Area.TRIGGERS}
    assert sorted(each.what for each in found) == [
        "1 edges in main/shared are remembered for alice.work, a trigger that there is not",
        "activation 1 waits for alice.work, a trigger that there is not",
        "activation 2 waits for alice.work, a trigger that there is not",
    ]
    assert all(each.is_repaired for each in found)
    async with (
        local_server(data_dir, clock=clock) as server,
        connect(server.address, agent="alice") as board,
    ):
        states = {(each.state, each.reason) async for each in board.activations.list()}
    assert states == {("cancelled", "there is no trigger alice.work")}


async def test_a_lease_that_the_clock_stretched_is_ended(
    data_dir: Path, clock: ManualClock
) -> None:
    far = int((NOW + timedelta(days=400)).timestamp() * 1_000_000)
    plant(data_dir, "UPDATE activations SET lease_expires_at = ? WHERE state = 'leased'", far)
    (finding,) = doctor(data_dir, repair=True, clock=clock)
    assert finding.area is Area.LEASES
    assert (
        "is leased until 2027-07-06T12:00:00+00:00, beyond its duration: the clock was set back"
        in finding.what
    )
    assert finding.is_repaired
    async with (
        local_server(data_dir, clock=clock) as server,
        connect(server.address, agent="alice") as board,
    ):
        assert [leased.activation.id for leased in await board.activations.acquire()] == ["1"]


def test_leases_that_a_stopped_server_left_are_no_symptom(
    data_dir: Path, clock: ManualClock
) -> None:
    assert doctor(data_dir, clock=ManualClock(NOW + timedelta(days=30))) == HEALTHY


def test_times_that_have_not_come_are_told(data_dir: Path) -> None:
    found = doctor(data_dir, clock=ManualClock(NOW - timedelta(hours=1)))
    assert [each.area for each in found] == [Area.LEASES, Area.CLOCK]
    assert found[1].what == (
        "the newest commit of main/shared was made at 2026-06-01T12:00:00+00:00, which has not come"
    )


def test_files_that_others_can_read_are_closed(data_dir: Path, clock: ManualClock) -> None:
    data_dir.chmod(0o755)
    (data_dir / "server.key").chmod(0o644)
    found = doctor(data_dir, repair=True, clock=clock)
    assert {each.area for each in found} == {Area.FILES}
    assert all(each.is_repaired for each in found)
    assert data_dir.stat().st_mode & 0o777 == 0o700
    assert (data_dir / "server.key").stat().st_mode & 0o777 == 0o600


@pytest.fixture
async def proven(tmp_path: Path, clock: ManualClock) -> Path:
    """What a stopped server left that asks for tokens: an administrator, alice and bob."""
    data_dir = tmp_path / "data"
    async with (
        local_server(data_dir, clock=clock, tokens=True) as server,
        connect(server.address, token=admin_token(data_dir)) as board,
    ):
        await board.agents.register("alice")
        await board.agents.register("bob")
    return data_dir


def admin_token(data_dir: Path) -> str:
    """The token in the administrator's file."""
    return (data_dir / "admin.token").read_text().strip()


async def test_an_administrators_token_that_is_not_valid_is_made_anew(
    proven: Path, clock: ManualClock
) -> None:
    first = admin_token(proven)
    assert doctor(proven, clock=clock) == HEALTHY
    (proven / "admin.token").write_text("lav_lost\n")
    (finding,) = doctor(proven, repair=True, clock=clock)
    assert (finding.area, finding.is_repaired) == (Area.TOKENS, True)
    assert finding.what == "the administrator's file has a token that is not valid"
    assert admin_token(proven) not in {first, "lav_lost"}
    async with local_server(proven, clock=clock, tokens=True) as server:
        async with connect(server.address, token=admin_token(proven)) as board:
            assert (await board.put("plan", 1)).version == 1
        async with connect(server.address, token=first) as board:
            with pytest.raises(Unauthenticated):
                await board.get("plan")


def test_a_token_of_several_agents_is_found(proven: Path, clock: ManualClock) -> None:
    shared = hashlib.sha256(b"lav_shared").digest()
    plant(proven, "UPDATE agents SET token_hash = ? WHERE name IN ('alice', 'bob')", shared)
    (finding,) = doctor(proven, repair=True, clock=clock)
    assert finding.what == "one token is that of several agents: main/alice, main/bob"
    assert not finding.is_repaired
