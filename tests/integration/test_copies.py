"""Backups: made beside a running server, brought back as another life of its boards, and never over anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lavagna import connect
from lavagna.errors import Refused
from lavagna_server.__main__ import StartRefused, StorageFailed, backup, doctor, restore
from lavagna_server.assembly import Server
from tests.servers import local_server, server_process


class Bar:
    """Remembers the progress that it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def note(self, done: int, total: int) -> None:
        self.told.append((done, total))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """A server with a board."""
    async with local_server(tmp_path / "data") as server:
        yield server


async def test_a_backup_beside_a_server_that_writes_is_whole(tmp_path: Path) -> None:
    written: list[int] = []
    async with (
        server_process("--data-dir", tmp_path / "data") as server,
        connect(server.address, agent="alice") as board,
    ):
        enough = asyncio.Event()

        async def write() -> None:
            for number in range(100_000):
                await board.put(f"log/{number}", number)
                written.append(number)
                if number == 50:
                    enough.set()

        writing = asyncio.create_task(write())
        await enough.wait()
        acknowledged = len(written)
        await asyncio.to_thread(backup, tmp_path / "data", tmp_path / "copy")
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        assert await server.stop() == 0
    restore(tmp_path / "copy", tmp_path / "restored")
    assert doctor(tmp_path / "restored") == []
    assert doctor(tmp_path / "data") == []
    async with (
        local_server(tmp_path / "restored") as again,
        connect(again.address, agent="bob") as board,
    ):
        numbers = sorted([entry.value async for entry in board.entries("log/*")])
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= acknowledged


async def test_a_restored_board_has_the_same_history_and_refuses_old_positions(
    server: Server, tmp_path: Path
) -> None:
    async with connect(server.address, agent="alice") as board:
        for step in range(3):
            await board.put("plan", step, overwrite=True)
        watch = board.watch("**", after=0)
        commits = [await anext(watch) for _ in range(3)]
        token = watch.token
        await watch.aclose()
    assert server.settings.data_dir is not None
    backup(server.settings.data_dir, tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "restored")
    async with (
        local_server(tmp_path / "restored") as again,
        connect(again.address, agent="alice") as board,
    ):
        assert [entry.value async for entry in board.history("plan")] == [2, 1, 0]
        assert (await board.get("plan", at=commits[0].revision)).value == 0
        with pytest.raises(Refused) as refusal:
            await anext(board.watch("**", token=token))
    assert refusal.value.reason == "EPOCH_CHANGED"


async def test_progress_ends_with_everything_done(server: Server, tmp_path: Path) -> None:
    copied, verified = Bar(), Bar()
    assert server.settings.data_dir is not None
    async with connect(server.address, agent="alice") as board:
        await board.put("plan", 1)
    backup(server.settings.data_dir, tmp_path / "copy", progress=copied.note)
    restore(tmp_path / "copy", tmp_path / "restored", progress=verified.note)
    assert copied.told[-1][0] == copied.told[-1][1] > 0
    assert verified.told[-1] == (1, 1)


async def test_a_backup_replaces_nothing_and_is_nobody_elses_to_read(
    server: Server, tmp_path: Path
) -> None:
    assert server.settings.data_dir is not None
    backup(server.settings.data_dir, tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0
    with pytest.raises(StartRefused, match="exists already: choose another name"):
        backup(server.settings.data_dir, tmp_path / "copy")
    with pytest.raises(StorageFailed, match="is not a directory"):
        backup(server.settings.data_dir, tmp_path / "nowhere" / "copy")


def test_where_there_is_no_board_there_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="holds no board"):
        backup(tmp_path, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert not (tmp_path / "board.db").exists()


async def test_a_restore_replaces_nothing(server: Server, tmp_path: Path) -> None:
    assert server.settings.data_dir is not None
    backup(server.settings.data_dir, tmp_path / "copy")
    with pytest.raises(StartRefused, match="is not empty: restore into a new directory"):
        restore(tmp_path / "copy", server.settings.data_dir)
    with pytest.raises(StartRefused, match="is not a file"):
        restore(tmp_path / "missing", tmp_path / "restored")
    with pytest.raises(StartRefused, match="is not a directory"):
        restore(tmp_path / "copy", tmp_path / "copy")


async def test_a_damaged_backup_is_refused_and_leaves_an_empty_directory(
    server: Server, tmp_path: Path
) -> None:
    assert server.settings.data_dir is not None
    async with connect(server.address, agent="alice") as board:
        await board.put("plan", "the true plan")
    backup(server.settings.data_dir, tmp_path / "copy")
    content = (tmp_path / "copy").read_bytes()
    assert content.count(b"the true plan") == 1
    (tmp_path / "copy").write_bytes(content.replace(b"the true plan", b"the sham plan"))
    with pytest.raises(
        StartRefused,
        match="the backup is damaged: main/shared@1: an entry of the commit was altered",
    ):
        restore(tmp_path / "copy", tmp_path / "restored")
    (tmp_path / "copy").write_bytes(content)
    restore(tmp_path / "copy", tmp_path / "restored")


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a backup, but a text of some length" * 100)
    with pytest.raises(StartRefused, match="the file is not a database"):
        restore(tmp_path / "text", tmp_path / "restored")
