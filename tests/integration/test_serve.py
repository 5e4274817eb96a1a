"""A server in the foreground: what it tells an operator, how it ends, and why it does not start."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from lavagna import Retry, Tls, connect
from lavagna.errors import Unauthenticated, Unavailable
from tests.integration.authority import Authority, Pair
from tests.servers import HANG_SECONDS, ServerProcess, outcome, server_process

TRUST = (
    "Names are trusted: on this machine, everyone may act as anyone. Use --tokens to ask for proof."
)
PROOF = "Callers prove who they are, with a token."


def written(directory: Path, pair: Pair, *, name: str = "server") -> tuple[Path, Path]:
    """A certificate and its key as files."""
    certificate, key = directory / f"{name}.pem", directory / f"{name}.key.pem"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    return certificate, key


def tls_server(
    directory: Path, authority: Authority, *options: str | Path
) -> AbstractAsyncContextManager[ServerProcess]:
    """A server with a certificate of the authority, which asks for proof."""
    certificate, key = written(directory, authority.pair("server"))
    tls = ("--tls-cert", certificate, "--tls-key", key, "--tokens")
    return server_process("--data-dir", directory / "data", *tls, *options)


async def shell(command: str) -> str:
    """What a command prints that somebody pastes into a shell."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_shell(
        command, stdout=PIPE, stderr=PIPE, env={**os.environ, "PATH": path}
    )
    output, errors = await asyncio.wait_for(process.communicate(), HANG_SECONDS)
    assert (process.returncode, errors.decode()) == (0, "")
    return output.decode()


def files(directory: Path) -> list[Path]:
    """What is in a directory."""
    return list(directory.iterdir())


async def read_back(data_dir: Path) -> Any:
    """What a new server on the same data has under the key `plan`."""
    async with (
        server_process("--data-dir", data_dir) as server,
        connect(server.address, agent="bob") as board,
    ):
        return (await board.get("plan")).value


async def test_the_first_lines_say_what_is_trusted_and_where_everything_is(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with server_process("--data-dir", data_dir) as server:
        assert server.lines == [
            TRUST,
            f"listening on {server.address}",
            f"the board is kept in {data_dir}",
            f"try: lavagna put hello world --target {server.address}",
        ]


async def test_the_line_to_paste_works(tmp_path: Path) -> None:
    async with server_process("--data-dir", tmp_path / "the data") as server:
        assert "hello is at version 1" in await shell(server.lines[-1].removeprefix("try: "))


async def test_the_line_to_paste_works_with_tokens_in_memory(tmp_path: Path) -> None:
    async with server_process("--in-memory", "--tokens") as server:
        assert server.lines[1].startswith("the administrator's token, gone with this process, is ")
        assert "hello is at version 1" in await shell(server.lines[-1].removeprefix("try: "))
        assert await server.stop() == 0
        assert "lav_" not in str(await server.log())


async def test_the_line_to_paste_works_with_tls(tmp_path: Path) -> None:
    async with tls_server(tmp_path, Authority()) as server:
        assert server.lines[0] == PROOF
        assert "hello is at version 1" in await shell(server.lines[-1].removeprefix("try: "))


async def test_the_line_to_paste_works_with_client_certificates(tmp_path: Path) -> None:
    authority, clients = Authority(), Authority()
    (tmp_path / "clients.pem").write_bytes(clients.certificate)
    written(tmp_path, clients.pair("admin"), name="me")
    async with tls_server(
        tmp_path, authority, "--tls-client-ca", tmp_path / "clients.pem"
    ) as server:
        assert server.lines[0] == (
            f"Callers prove who they are: all show a certificate that {tmp_path / 'clients.pem'} "
            "vouches for, and are the agent that it names, or the one of a token."
        )
        assert server.lines[-3:-1] == [
            "in the next line, CLIENT.pem stands for a certificate of yours",
            "in the next line, CLIENT.key stands for its key",
        ]
        pasted = server.lines[-1].removeprefix("try: ")
        pasted = pasted.replace("CLIENT.pem", str(tmp_path / "me.pem"))
        pasted = pasted.replace("CLIENT.key", str(tmp_path / "me.key.pem"))
        assert "hello is at version 1" in await shell(pasted)
        by_certificate = pasted[pasted.index("lavagna put") :].replace("hello", "again")
        assert "again is at version 1" in await shell(by_certificate)


async def test_the_line_to_paste_works_where_all_addresses_are_listened_on(tmp_path: Path) -> None:
    async with tls_server(tmp_path, Authority(), "--listen", "0.0.0.0:0") as server:
        certificate = tmp_path / "server.pem"
        assert server.lines[-2] == (
            f"in the next line, HOST stands for a name of this machine that {certificate} is for"
        )
        pasted = server.lines[-1].removeprefix("try: ").replace("HOST", "localhost")
        assert "hello is at version 1" in await shell(pasted)


async def test_the_line_to_paste_asks_for_a_token_that_was_put_away(tmp_path: Path) -> None:
    async with server_process("--data-dir", tmp_path, "--tokens") as server:
        assert await server.stop() == 0
    token = (tmp_path / "admin.token").read_text().strip()
    (tmp_path / "admin.token").unlink()
    async with server_process("--data-dir", tmp_path, "--tokens") as server:
        assert server.lines[-2] == "in the next line, TOKEN stands for yours"
        pasted = server.lines[-1].removeprefix("try: ").replace("TOKEN=TOKEN", f"TOKEN={token}")
        assert "hello is at version 1" in await shell(pasted)


async def test_the_line_to_paste_works_with_tokens(tmp_path: Path) -> None:
    async with server_process("--data-dir", tmp_path / "the data", "--tokens") as server:
        assert "hello is at version 1" in await shell(server.lines[-1].removeprefix("try: "))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_that_is_told_to_stop_ends_well_and_keeps_what_was_written(
    tmp_path: Path, how: signal.Signals
) -> None:
    async with server_process("--data-dir", tmp_path) as server:
        async with connect(server.address, agent="alice") as board:
            await board.put("plan", {"step": 1})
        server.signal(how)
        assert await server.ended() == 0
    assert await read_back(tmp_path) == {"step": 1}


async def test_a_server_that_is_told_twice_ends_at_once(tmp_path: Path) -> None:
    async with server_process("--data-dir", tmp_path) as server:
        server.signal(signal.SIGINT, signal.SIGTERM)
        assert await server.ended() == 130


async def test_a_board_in_memory_leaves_no_file(tmp_path: Path) -> None:
    async with server_process(
        "--in-memory", environment={"LAVAGNA_DATA_DIR": str(tmp_path)}
    ) as server:
        assert server.lines[2] == "the board is kept in memory, and gone with this process"
        async with connect(server.address, agent="alice") as board:
            await board.put("plan", 1)
        assert await server.stop() == 0
    assert files(tmp_path) == []


async def test_settings_come_from_the_environment_too(tmp_path: Path) -> None:
    environment = {"LAVAGNA_DATA_DIR": str(tmp_path / "data"), "LAVAGNA_TOKENS": "true"}
    async with server_process(environment=environment) as server:
        assert server.lines[0] == PROOF
        assert (tmp_path / "data" / "admin.token").exists()


async def test_a_variable_that_is_no_setting_is_told_with_the_nearest_that_is() -> None:
    environment = {"LAVAGNA_DATADIR": "/data", "LAVAGNA_TARGET": "localhost:7443"}
    async with server_process("--in-memory", environment=environment) as server:
        told = await server.logged("unknown variable")
        assert await server.stop() == 0
        assert [event["event"] for event in await server.log()] == ["started", "stopped"]
    assert (told["level"], told["name"]) == ("warning", "LAVAGNA_DATADIR")
    assert told["nearest"] == "LAVAGNA_DATA_DIR"


async def test_without_a_directory_the_board_is_kept_in_the_users(tmp_path: Path) -> None:
    async with server_process(environment={"XDG_DATA_HOME": str(tmp_path)}) as server:
        assert server.lines[2] == f"the board is kept in {tmp_path / 'lavagna'}"


async def test_the_ready_file_tells_programs_where_the_server_is(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    async with server_process("--in-memory", "--ready-file", ready) as server:
        async with connect(server.address, agent="alice") as board:
            await board.put("plan", 1)
        assert json.loads(ready.read_text()) == {
            "address": server.address,
            "pid": server.process.pid,
        }


async def test_nobody_else_can_read_what_a_server_keeps(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with server_process("--data-dir", data_dir, "--tokens"):
        modes = {path.name: path.stat().st_mode & 0o077 for path in (data_dir, *data_dir.iterdir())}
    assert set(modes.values()) == {0}


async def test_with_tokens_the_first_start_makes_an_administrator(tmp_path: Path) -> None:
    token_file = tmp_path / "admin.token"
    async with server_process("--data-dir", tmp_path, "--tokens") as server:
        told = f"the administrator's token, made just now, is in {token_file}"
        assert server.lines[:2] == [PROOF, told]
        token = token_file.read_text().strip()
        async with connect(server.address, token=token) as board:
            await board.put("plan", 1)
        async with connect(server.address, agent="alice") as board:
            with pytest.raises(Unauthenticated):
                await board.get("plan")
        assert await server.stop() == 0
    async with server_process("--data-dir", tmp_path, "--tokens") as server:
        assert server.lines[1] == f"listening on {server.address}"
        assert token_file.read_text().strip() == token
        async with connect(server.address, token=token) as board:
            assert (await board.get("plan")).author == "admin"


async def test_tls_keeps_tokens_secret(tmp_path: Path) -> None:
    authority = Authority()
    async with tls_server(tmp_path, authority) as server:
        token = (tmp_path / "data" / "admin.token").read_text().strip()
        async with connect(
            server.address, token=token, tls=Tls(roots=authority.certificate)
        ) as board:
            assert (await board.put("plan", 1)).version == 1


async def refusal(*options: str | Path, code: int, **environment: str) -> str:
    """Why a server does not start: one line, and nothing else."""
    ended, output, errors = await outcome(*options, environment=environment)
    assert (ended, output) == (code, ""), errors
    (line,) = errors.splitlines()
    assert line.startswith("lavagna: ")
    return line.removeprefix("lavagna: ")


async def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        why = await refusal("--data-dir", tmp_path / "data", "--listen", address, code=8)
    assert files(tmp_path) == []
    assert (
        why
        == f"{address} cannot be listened on: another server is there; choose another port with --listen"
    )


async def test_a_directory_in_use_is_told_and_by_whom(tmp_path: Path) -> None:
    async with server_process("--data-dir", tmp_path) as server:
        why = await refusal("--data-dir", tmp_path, "--listen", "127.0.0.1:0", code=8)
        assert f"another server uses this directory: process {server.process.pid} on " in why
        async with connect(server.address, agent="alice") as board:
            assert (await board.put("plan", 1)).version == 1


@pytest.mark.parametrize("content", [b"", b"no database" * 1_000], ids=["empty", "damaged"])
async def test_lost_data_is_told_with_the_doctors_exit_code_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "board.db").write_bytes(content)
    why = await refusal("--data-dir", tmp_path, "--listen", "127.0.0.1:0", code=10)
    assert why.startswith(f"{tmp_path}: ")
    assert "restore a backup" in why
    assert (tmp_path / "board.db").read_bytes() == content


async def test_a_wrong_setting_is_told_by_its_name() -> None:
    why = await refusal("--in-memory", code=2, LAVAGNA_VALUE_BYTES_MAX="much")
    assert why.startswith("LAVAGNA_VALUE_BYTES_MAX: Input should be a valid integer")
    why = await refusal("--in-memory", "--listen", "here", code=2)
    assert why == "listen: 'here' is not HOST:PORT, such as 127.0.0.1:7443"


async def acknowledged_until_it_dies(address: str) -> int:
    """How many puts of rising numbers a server acknowledges before it is gone."""
    async with connect(address, agent="alice", retry=Retry(attempts_max=1)) as board:
        for number in itertools.count(1):
            try:
                await board.put("plan", number, overwrite=True)
            except Unavailable:
                return number - 1
    raise AssertionError("counting does not end")


@pytest.mark.faults
@pytest.mark.guarantee("S2")
async def test_a_planted_fault_kills_the_server_and_nothing_acknowledged_is_lost(
    tmp_path: Path,
) -> None:
    fault = {"LAVAGNA_FAULT": "after_sync:20"}
    async with server_process("--data-dir", tmp_path, environment=fault) as server:
        acknowledged = await acknowledged_until_it_dies(server.address)
        assert await server.ended() == -signal.SIGKILL
    assert acknowledged > 0
    assert await read_back(tmp_path) in (acknowledged, acknowledged + 1)
