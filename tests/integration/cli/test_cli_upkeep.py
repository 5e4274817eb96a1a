"""doctor, backup and restore of a real server's data."""

from __future__ import annotations

from pathlib import Path

from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import Shell
from tests.servers import server_process


async def test_a_backup_of_a_running_server_is_restored_under_a_new_epoch(tmp_path: Path) -> None:
    data, copy, file = tmp_path / "data", tmp_path / "copy", tmp_path / "backup.db"
    async with server_process("--data-dir", data) as server:
        shell = Shell().having(target=server.address, agent="ada")
        await shell.ok("put", "plan/日本 🧠", "before")
        made = await shell.read("backup", file, "--data-dir", data)
        await shell.ok("put", "later", "after")
        first = await shell.read("agents", "whoami")
    restored = await Shell().having(data_dir=str(copy)).ok("restore", file)
    async with server_process("--data-dir", copy) as server:
        shell = Shell().having(target=server.address, agent="ada")
        listed = (await shell.read("ls"))["entries"]
        second = await shell.read("agents", "whoami")

    assert made == {"data_dir": str(data), "file": str(file)}
    assert f"Restored {file} to {copy}" in restored.text
    assert [(each["key"], each["value"]) for each in listed] == [("plan/日本 🧠", "before")]
    assert first["epoch"] != second["epoch"]


async def test_a_backup_never_replaces_a_file_and_a_restore_never_a_board(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "backup.db"
    async with server_process("--data-dir", data):
        await Shell().ok("backup", file, "--data-dir", data)
    again = await Shell().run("backup", file, "--data-dir", data)
    old = file.read_bytes()[:1000]
    file.write_bytes(old)
    await Shell().ok("backup", file, "--data-dir", data, "--overwrite")
    over = await Shell().run("restore", file, "--data-dir", data, "-o", "json")
    nothing = await Shell().run("backup", tmp_path / "b.db", "--data-dir", tmp_path / "no")
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"this is no backup")
    none = await Shell().run("restore", damaged, "--data-dir", tmp_path / "new")

    assert again.code == ExitCode.REFUSED
    assert "exists already. Choose another name, or replace it with --overwrite" in again.err
    assert len(file.read_bytes()) > len(old)
    assert (over.error["family"], over.code) == ("refused", ExitCode.REFUSED)
    assert nothing.code == ExitCode.REFUSED
    assert none.code in {ExitCode.REFUSED, ExitCode.UNAVAILABLE}
    assert none.err.count("\n") == 1


async def test_a_doctor_finds_nothing_wrong_with_a_healthy_server(tmp_path: Path) -> None:
    async with server_process("--data-dir", tmp_path) as server:
        await Shell().ok("put", "k", "v", "--target", server.address)
        running = await Shell().ok("doctor", "--data-dir", tmp_path)
        repair = await Shell().run("doctor", "--repair", "--data-dir", tmp_path)
    stopped = await Shell().read("doctor", "--data-dir", tmp_path)

    assert (running.out, running.err) == (b"", f"Nothing is wrong with {tmp_path}.\n")
    assert repair.code == ExitCode.REFUSED
    assert "stop it before a repair" in repair.err
    assert stopped == {"data_dir": str(tmp_path), "is_healthy": True, "findings": []}


async def test_a_doctor_tells_what_is_wrong_and_repairs_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with server_process("--data-dir", data):
        pass
    data.chmod(0o755)
    plain = await Shell().run("doctor", "--data-dir", data)
    told = await Shell().run("doctor", "--data-dir", data, "-o", "json")
    repaired = await Shell().read("doctor", "--data-dir", data, "--repair")

    assert (plain.code, told.code) == (ExitCode.UNHEALTHY, ExitCode.UNHEALTHY)
    assert plain.lines[0].split() == ["AREA", "WHAT", "REMEDY"]
    assert "can be used by other users" in plain.text
    assert told.json["is_healthy"] is False
    assert {each["area"] for each in told.json["findings"]} == {"files"}
    assert repaired["is_healthy"] is True
    assert all(each["is_repaired"] for each in repaired["findings"])
    assert data.stat().st_mode & 0o077 == 0


async def test_a_doctor_without_a_patient_is_refused(tmp_path: Path) -> None:
    outcome = await Shell().run("doctor", "--data-dir", tmp_path / "nothing", "-o", "json")

    assert outcome.error["family"] == "refused"
