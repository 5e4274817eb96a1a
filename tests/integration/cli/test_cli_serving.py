"""serve, and the ways to reach what it serves: by name, by token, over TLS."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lavagna_cli.exits import ExitCode
from tests.integration.authority import Authority
from tests.integration.cli.shell import Shell, line_of


@asynccontextmanager
async def serving(*words: str | Path, shell: Shell | None = None) -> AsyncGenerator[list[str]]:
    """What `lavagna serve` prints on a free port; it is asked to stop at the end, and must."""
    options = ("--listen", "127.0.0.1:0", *words)
    async with (shell or Shell()).started("serve", *options) as process:
        lines = [await line_of(process)]
        while not lines[-1].startswith("try: "):
            assert lines[-1], await process.communicate()
            lines.append(await line_of(process))
        yield [line.rstrip("\n") for line in lines]
        process.send_signal(signal.SIGTERM)
        _, complaints = await process.communicate()
        assert (process.returncode, b"Traceback" in complaints) == (ExitCode.OK, False)


def address(lines: list[str]) -> str:
    """Where the server listens."""
    return next(line for line in lines if line.startswith("listening on ")).split()[-1]


async def test_serve_says_where_it_listens_and_what_to_paste(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    async with serving("--data-dir", tmp_path / "data", "--ready-file", ready) as lines:
        pasted = lines[-1].removeprefix("try: lavagna ").split()
        written = await Shell().ok(*pasted)
        again = await Shell().read("get", "hello", "--target", address(lines))
        noted = json.loads(ready.read_text())

    assert "Names are trusted" in lines[0]
    assert written.text == "hello is at version 1, created, at revision 1\n"
    assert again["value"] == "world"
    assert noted["address"] == address(lines)


async def test_serve_keeps_its_boards_in_the_directory_of_the_environment(tmp_path: Path) -> None:
    shell = Shell().having(data_dir=str(tmp_path / "data"))
    async with serving(shell=shell) as lines:
        await Shell().ok("put", "k", "kept", "--target", address(lines))
        taken = await shell.run("serve", "--listen", "127.0.0.1:0")
    async with serving(shell=shell) as lines:
        kept = await Shell().ok("get", "k", "--target", address(lines))

    assert kept.text == "kept"
    assert taken.code == ExitCode.UNAVAILABLE
    assert taken.err.strip()


async def test_serve_without_options_uses_the_users_directory_for_data(tmp_path: Path) -> None:
    shell = Shell({"XDG_DATA_HOME": str(tmp_path)})
    async with serving(shell=shell) as lines:
        assert f"the board is kept in {tmp_path / 'lavagna'}" in lines


async def test_in_memory_nothing_is_kept(tmp_path: Path) -> None:
    shell = Shell({"XDG_DATA_HOME": str(tmp_path)})
    async with serving("--in-memory", shell=shell) as lines:
        await Shell().ok("put", "k", "v", "--target", address(lines))

    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240 (a directory in memory)


@pytest.mark.parametrize(
    "words",
    [
        ["--listen", "nowhere"],
        ["--listen", "0.0.0.0:0"],
        ["--tls-cert", "only.pem"],
        ["--log-level", "loud"],
    ],
    ids=["no address", "others can reach it", "half a certificate", "no level"],
)
async def test_a_setting_that_is_wrong_is_a_usage_error(words: list[str]) -> None:
    outcome = await Shell().run("serve", "--in-memory", *words)

    assert (outcome.code, outcome.out) == (ExitCode.USAGE, b"")
    assert outcome.err.count("\n") == 1


async def test_connection_options_mean_nothing_to_a_server() -> None:
    outcome = await Shell().run("--target", "127.0.0.1:1", "serve", "--in-memory")

    assert outcome.code == ExitCode.USAGE
    assert "--target means nothing to `lavagna serve`" in outcome.err


async def test_a_server_with_tokens_wants_one(tmp_path: Path) -> None:
    async with serving("--data-dir", tmp_path, "--tokens") as lines:
        shell = Shell().having(target=address(lines), agent="ada")
        stranger = (await shell.run("ls", "-o", "json")).error
        [told] = [line for line in lines if line.startswith("the administrator's token")]
        admin = shell.having(token=Path(told.split()[-1]).read_text().strip())  # noqa: ASYNC240
        token = (await admin.ok("agents", "register", "ada", "-o", "text")).text.strip()
        await shell.ok("put", "k", "v", "--token", token)
        entry = await shell.having(token=token).read("get", "k")

    assert stranger["reason"] == "UNAUTHENTICATED"
    assert stranger["exit_code"] == ExitCode.REFUSED
    assert entry["author"] == "ada"


async def test_a_server_with_tls_is_reached_with_certificates(tmp_path: Path) -> None:
    authority = Authority()
    server, ada = authority.pair("server"), authority.pair("ada")
    files = {
        "ca.pem": authority.certificate,
        "server.pem": server.certificate,
        "server.key": server.key,
        "ada.pem": ada.certificate,
        "ada.key": ada.key,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    options = ("--tls-cert", tmp_path / "server.pem", "--tls-key", tmp_path / "server.key")
    clients = ("--tls-client-ca", tmp_path / "ca.pem")
    async with serving("--data-dir", tmp_path / "data", *options, *clients) as lines:
        shell = Shell().having(target=address(lines), tls_ca=str(tmp_path / "ca.pem"))
        nobody = await shell.run("ls")
        mine = ("--tls-cert", tmp_path / "ada.pem", "--tls-key", tmp_path / "ada.key")
        known = await shell.run("agents", "whoami", *mine, "-o", "json")

    assert nobody.code == ExitCode.UNAVAILABLE
    assert (
        known.code == ExitCode.REFUSED
    )  # the certificate is good, but no such agent is registered
    assert known.error["reason"] == "UNAUTHENTICATED"


async def test_a_certificate_that_does_not_fit_its_key_is_a_usage_error(tmp_path: Path) -> None:
    outcome = await Shell().run("ls", "--tls-ca", tmp_path / "missing.pem")

    assert outcome.code == ExitCode.USAGE
    assert "missing.pem: No such file" in outcome.err
