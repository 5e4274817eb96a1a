"""Connecting: by environment, by token, and by certificate."""

from __future__ import annotations

from pathlib import Path

import pytest

import lavagna
from lavagna import Retry, Tls, testing
from tests.integration.authority import Authority

ONCE = Retry(attempts_max=1)


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
def tls_files(authority: Authority, tmp_path: Path) -> dict[str, Path]:
    """The files of a server on this machine, and of an agent called ada."""
    host, ada = authority.pair("localhost"), authority.pair("ada")
    contents = {
        "authority": authority.certificate,
        "tls_cert": host.certificate,
        "tls_key": host.key,
        "ada_cert": ada.certificate,
        "ada_key": ada.key,
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: tmp_path / name for name in contents}


async def test_what_is_not_said_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with testing.start() as server:
        monkeypatch.setenv("LAVAGNA_TARGET", server.address)
        monkeypatch.setenv("LAVAGNA_AGENT", "eve")
        monkeypatch.setenv("LAVAGNA_BOARD", "other")
        async with lavagna.connect(board="main") as board:
            await board.put("k", 1)
            assert (await board.get("k")).author == "eve"
        async with lavagna.connect() as board:
            assert board.name == "other"
            with pytest.raises(lavagna.NotFound):
                await board.put("k", 1)


async def test_the_users_name_is_the_last_resort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAVAGNA_AGENT", raising=False)
    monkeypatch.delenv("LAVAGNA_TOKEN", raising=False)
    monkeypatch.setenv("LOGNAME", "grace")
    async with lavagna.connect("localhost:1") as board:
        assert board.agent_name == "grace"


async def test_a_token_from_the_environment_says_who_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with testing.start() as server, server.connect("root") as root:
        registered = await root.agents.register("ada")
        monkeypatch.setenv("LAVAGNA_TOKEN", registered.token)
        monkeypatch.delenv("LAVAGNA_AGENT", raising=False)
        async with lavagna.connect(server.address) as board:
            assert board.agent_name == ""
            assert (await board.agents.hello()).member.id == "ada"


async def test_an_unknown_token_is_refused() -> None:
    async with testing.start(tokens=True) as server:
        async with server.connect(token="made-up") as board:
            with pytest.raises(lavagna.Unauthenticated):
                await board.put("k", 1)
        async with server.connect("ada") as board:
            with pytest.raises(lavagna.Unauthenticated):
                await board.put("k", 1)


async def test_a_certificate_says_who_calls(tls_files: dict[str, Path]) -> None:
    data_dir = tls_files["authority"].parent / "stored"
    async with testing.start(
        tls_cert=tls_files["tls_cert"],
        tls_key=tls_files["tls_key"],
        tls_client_ca=tls_files["authority"],
        data_dir=data_dir,
    ) as server:
        admin_token = (data_dir / "admin.token").read_text()
        tls = Tls.from_files(
            roots=tls_files["authority"],
            certificate=tls_files["ada_cert"],
            key=tls_files["ada_key"],
        )
        async with lavagna.connect(server.address, token=admin_token, tls=tls) as board:
            await board.agents.register("ada")
        async with lavagna.connect(server.address, tls=tls) as board:
            await board.put("k", 1)
            assert (await board.get("k")).author == "ada"
        stranger = Tls(roots=tls.roots)
        async with lavagna.connect(server.address, tls=stranger, retry=ONCE) as board:
            with pytest.raises(lavagna.Unavailable):
                await board.put("k", 1)


async def test_a_server_that_cannot_be_trusted_is_not_spoken_to(
    tls_files: dict[str, Path],
) -> None:
    async with testing.start(
        tls_cert=tls_files["tls_cert"], tls_key=tls_files["tls_key"]
    ) as server:
        trusting = Tls.from_files(roots=tls_files["authority"])
        async with lavagna.connect(server.address, agent="ada", tls=trusting) as board:
            assert (await board.put("k", 1)).revision == 1
        for wrong, why in (
            (Tls(roots=Authority().certificate), "check what `tls` or LAVAGNA_TLS_CA trusts"),
            (
                Tls.from_files(roots=tls_files["authority"], server_name="elsewhere"),
                "its certificate is for another name",
            ),
        ):
            async with lavagna.connect(server.address, agent="ada", tls=wrong, retry=ONCE) as board:
                with pytest.raises(lavagna.Unavailable, match=why):
                    await board.put("k", 1)


async def test_one_side_that_speaks_tls_alone_is_told(tls_files: dict[str, Path]) -> None:
    async with testing.start(
        tls_cert=tls_files["tls_cert"], tls_key=tls_files["tls_key"]
    ) as server:
        in_the_clear = lavagna.connect(server.address, agent="ada", tls=False, retry=ONCE)
        async with in_the_clear as board:
            with pytest.raises(lavagna.Unavailable, match="it may want TLS"):
                await board.get("k")
            with pytest.raises(lavagna.Unavailable, match="it may want TLS"):
                async with board.watch("k"):
                    pass
    async with testing.start() as server:
        secured = Tls.from_files(roots=tls_files["authority"])
        async with lavagna.connect(server.address, agent="ada", tls=secured, retry=ONCE) as board:
            with pytest.raises(lavagna.Unavailable, match="does not speak TLS"):
                await board.get("k")


async def test_tls_comes_from_the_environment_too(
    tls_files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAVAGNA_TLS_CA", str(tls_files["authority"]))
    async with testing.start(
        tls_cert=tls_files["tls_cert"],
        tls_key=tls_files["tls_key"],
        tls_client_ca=tls_files["authority"],
        data_dir=tls_files["authority"].parent / "stored",
    ) as server:
        monkeypatch.setenv("LAVAGNA_CLIENT_CERT", str(tls_files["ada_cert"]))
        with pytest.raises(lavagna.Invalid, match=r"key: .* go together"):
            async with lavagna.connect(server.address):
                pass
        monkeypatch.setenv("LAVAGNA_CLIENT_KEY", str(tls_files["ada_key"]))
        async with lavagna.connect(server.address) as board:
            with pytest.raises(lavagna.Unauthenticated, match="ada"):
                await board.get("k")
    monkeypatch.setenv("LAVAGNA_TLS_CA", "/nowhere/ca.pem")
    with pytest.raises(lavagna.Invalid, match=r"roots: cannot read /nowhere/ca\.pem"):
        async with lavagna.connect("localhost:1"):
            pass


async def test_the_environment_of_another_server_does_not_reach_a_server_for_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LAVAGNA_TLS_CA", "/nowhere/ca.pem")
    monkeypatch.setenv("LAVAGNA_TOKEN", "made-up")
    async with testing.start() as server, server.connect("ada") as board:
        await board.put("k", 1)
        assert (await board.get("k")).author == "ada"


@pytest.mark.parametrize("target", ["localhost:72979", "127.0.0.1:0", "[::1]:65536"])
async def test_a_port_that_cannot_be_reaches_no_other_server(target: str) -> None:
    with pytest.raises(lavagna.Invalid, match="no port from 1 to 65535"):
        async with lavagna.connect(target):
            raise AssertionError("it was taken")
