"""Assembling a server from settings: what cannot work is refused before anything is begun, in words for operators."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from lavagna import connect
from lavagna.errors import Invalid
from lavagna_server.assembly import build
from lavagna_server.clocks import ManualClock
from lavagna_server.domain.errors import StartRefused
from lavagna_server.faults import FAULT_VARIABLE
from lavagna_server.settings import settings_from
from lavagna_server.storage.damage import NotReadable
from tests.integration.authority import Authority

FREE = "127.0.0.1:0"


def refusal(given: Mapping[str, Any]) -> str:
    """Why no server is assembled from these settings."""
    with pytest.raises((StartRefused, NotReadable)) as refused:
        build(settings_from({"listen": FREE, **given}))
    return str(refused.value)


async def start_and_stop(data_dir: Path) -> None:
    """Leaves a board behind."""
    server = build(settings_from({"listen": FREE, "data_dir": data_dir}))
    await server.start()
    await server.stop(0)


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    data_dir = tmp_path / "file" / "data"
    assert refusal({"data_dir": data_dir}) == f"{data_dir}: Not a directory"


def test_a_file_that_is_no_board_is_refused(tmp_path: Path) -> None:
    (tmp_path / "board.db").write_text("this is no database, but long enough to look at" * 100)
    assert "the file is not a database" in refusal({"data_dir": tmp_path})


async def test_a_board_of_a_newer_server_is_refused_and_left_alone(tmp_path: Path) -> None:
    await start_and_stop(tmp_path)
    database = sqlite3.connect(tmp_path / "board.db")
    database.execute("PRAGMA user_version=9999")
    database.close()
    before = (tmp_path / "board.db").read_bytes()
    assert "the database was written by a newer server (schema 9999" in refusal(
        {"data_dir": tmp_path}
    )
    assert (tmp_path / "board.db").read_bytes() == before


async def test_a_directory_is_free_again_after_a_refusal(tmp_path: Path) -> None:
    await start_and_stop(tmp_path)
    (tmp_path / "server.key").unlink()
    (tmp_path / "server.key").mkdir()
    assert refusal({"data_dir": tmp_path}) == f"{tmp_path / 'server.key'}: Is a directory"
    (tmp_path / "server.key").rmdir()
    await start_and_stop(tmp_path)


@pytest.mark.parametrize("setting", ["listen", "metrics_listen"])
async def test_an_address_in_use_is_told_before_anything_is_made(
    tmp_path: Path, setting: str
) -> None:
    first = build(settings_from({"listen": FREE}))
    await first.start()
    option = setting.replace("_", "-")
    assert refusal({setting: first.address, "data_dir": tmp_path / "data"}) == (
        f"{first.address} cannot be listened on: another server is there; choose another port with --{option}"
    )
    assert not (tmp_path / "data").exists()
    await first.stop(0)


def test_certificates_that_cannot_work_are_refused(tmp_path: Path) -> None:
    pair = Authority().pair("server")
    certificate, key, other, garbage, missing = (
        tmp_path / name for name in ("server.pem", "server.key", "other.key", "garbage", "missing")
    )
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    other.write_bytes(Authority().pair("other").key)
    garbage.write_text("no certificate")
    tls = {"tls_cert": certificate, "tls_key": key}
    assert (
        refusal({**tls, "tls_cert": missing})
        == f"tls: {missing} cannot be read: No such file or directory"
    )
    assert refusal({**tls, "tls_key": other}) == (
        f"tls: {certificate} and {other} are not a certificate in PEM and its key: key values mismatch"
    )
    assert f"tls: {garbage} and {key} are not" in refusal({**tls, "tls_cert": garbage})
    assert f"tls: {garbage} is not a certificate" in refusal({**tls, "tls_client_ca": garbage})


def test_a_fault_at_no_such_point_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FAULT_VARIABLE, "elsewhere:1")
    assert refusal({}).startswith(
        "LAVAGNA_FAULT: 'elsewhere:1' is not POINT:COUNT with a point of gathered, "
    )


async def test_limits_are_what_the_settings_say() -> None:
    server = build(
        settings_from({"listen": FREE, "limits": {"value_bytes_max": 10}}), clock=ManualClock()
    )
    await server.start()
    try:
        async with connect(server.address, agent="alice") as board:
            assert (await board.put("short", "x" * 10)).version == 1
            with pytest.raises(Invalid, match="value_bytes_max"):
                await board.put("long", "x" * 11)
    finally:
        await server.stop(0)


async def test_metrics_are_served_on_an_address_of_their_own() -> None:
    server = build(settings_from({"listen": FREE, "metrics_listen": FREE}))
    await server.start()
    try:
        async with connect(server.address, agent="alice") as board:
            await board.put("plan", 1)
        page = await asyncio.to_thread(_read, f"http://127.0.0.1:{server.metrics_port}/metrics")
        assert 'lavagna_calls_total{method="/lavagna.v1.Entries/Commit",outcome="OK"} 1.0' in page
    finally:
        await server.stop(0)
    assert server.metrics_port == 0


def _read(url: str) -> str:
    with urlopen(url, timeout=30) as response:
        return str(response.read().decode())
