"""Settings: where they come from, and which contradict what operators are promised."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lavagna_server.settings import (
    SettingsRefused,
    default_data_dir,
    settings_from,
    unknown_variables,
)

VARIABLE = re.compile(r"(?<!_)LAVAGNA_[A-Z_]*[A-Z]")
TLS = {"tls_cert": Path("server.pem"), "tls_key": Path("server.key")}


def refusal(**given: Any) -> str:
    with pytest.raises(SettingsRefused) as refused:
        settings_from(given).check()
    return str(refused.value)


def test_without_settings_a_server_trusts_names_on_loopback() -> None:
    settings = settings_from({})
    settings.check()
    assert (settings.listen, settings.trusts_names, settings.data_dir) == (
        "127.0.0.1:7443",
        True,
        None,
    )


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "127.8.8.8:1", "[::1]:7443", "localhost:65535"])
def test_loopback_has_many_names(listen: str) -> None:
    settings = settings_from({"listen": listen})
    settings.check()
    assert settings.trusts_names


@pytest.mark.parametrize(
    "listen", ["0.0.0.0:7443", "[::]:7443", "192.168.1.1:7443", "example.com:7443"]
)
def test_what_others_reach_needs_tokens_and_tls(listen: str) -> None:
    assert "set tls_cert and tls_key" in refusal(listen=listen)
    assert "set tls_cert and tls_key" in refusal(listen=listen, tokens=True)
    assert "set tokens and tls_cert and tls_key" in refusal(listen=listen, tokens=False)
    assert "set tokens, or listen on 127.0.0.1" in refusal(listen=listen, tokens=False, **TLS)
    settings = settings_from({"listen": listen, **TLS})
    settings.check()
    assert not settings.trusts_names


@pytest.mark.parametrize(
    "listen",
    [
        "",
        "here",
        "127.0.0.1",
        "127.0.0.1:",
        ":7443",
        "127.0.0.1:http",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
    ],
)
def test_an_address_is_a_host_and_a_port(listen: str) -> None:
    assert refusal(listen=listen) == f"listen: {listen!r} is not HOST:PORT, such as 127.0.0.1:7443"


def test_halves_of_tls_are_refused() -> None:
    assert refusal(tls_cert=Path("server.pem")) == "tls: give both tls_cert and tls_key, or neither"
    assert "need tls_cert and tls_key as well" in refusal(tls_client_ca=Path("ca.pem"))
    assert "names cannot be trusted besides" in refusal(
        tls_client_ca=Path("ca.pem"), tokens=False, **TLS
    )


def test_with_client_certificates_names_are_not_trusted() -> None:
    assert not settings_from({"tls_client_ca": Path("ca.pem"), **TLS}).trusts_names


def test_the_environment_fills_in_what_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAVAGNA_LISTEN", "127.0.0.1:1")
    monkeypatch.setenv("LAVAGNA_STALL_SECONDS", "3.5")
    monkeypatch.setenv("LAVAGNA_KEY_BYTES_MAX", "64")
    monkeypatch.setenv("LAVAGNA_TAGS_MAX", "3")
    settings = settings_from({"listen": "127.0.0.1:2", "limits": {"tags_max": 4}})
    assert (settings.listen, settings.stall_seconds) == ("127.0.0.1:2", 3.5)
    assert settings.limits == {"key_bytes_max": 64, "tags_max": 4}


def test_a_variable_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAVAGNA_REQUESTS_KEPT_HOURS", "12")
    assert refusal() == "LAVAGNA_REQUESTS_KEPT_HOURS: Input should be greater than or equal to 24"


def test_a_variable_without_a_value_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA_DIR", "TOKENS", "LISTEN", "TAGS_MAX"):
        monkeypatch.setenv(f"LAVAGNA_{name}", "")
    settings = settings_from({})
    assert (settings.data_dir, settings.tokens, settings.limits) == (None, None, {})


def test_variables_count_whatever_their_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("lavagna_tags_max", "3")
    monkeypatch.setenv("lavagna_stall_seconds", "3")
    settings = settings_from({})
    assert (settings.limits, settings.stall_seconds) == ({"tags_max": 3}, 3.0)


def test_variables_that_are_no_settings_are_found_with_the_nearest_that_is() -> None:
    environment = {
        "LAVAGNA_DATADIR": "/data",
        "LAVAGNA_VALUES_BYTES_MAX": "1",
        "LAVAGNA_PORT_7443_TCP_ADDR": "10.0.0.1",
        "LAVAGNA_DATA_DIR": "/data",
        "lavagna_tags_max": "1",
        "HOME": "/",
    }
    assert unknown_variables(environment) == {
        "LAVAGNA_DATADIR": "LAVAGNA_DATA_DIR",
        "LAVAGNA_PORT_7443_TCP_ADDR": "",
        "LAVAGNA_VALUES_BYTES_MAX": "LAVAGNA_VALUE_BYTES_MAX",
    }


def test_what_other_parts_read_is_known() -> None:
    sources = (Path(__file__).parents[2] / "agents").rglob("*.py")
    read = {name for path in sources for name in VARIABLE.findall(path.read_text())}
    assert "LAVAGNA_TARGET" in read
    assert unknown_variables(dict.fromkeys(read, "")) == {}


def test_what_is_given_wrong_is_named() -> None:
    assert refusal(bookmark_seconds=0) == "bookmark_seconds: Input should be greater than 0"
    assert refusal(colour="red") == "colour: Extra inputs are not permitted"
    assert refusal(limits={"speed_max": 1}) == "speed_max is not the name of a limit"
    assert refusal(limits={"tags_max": 0}) == "tags_max is at least 1, not 0"


def test_a_board_is_kept_among_the_users_data() -> None:
    assert default_data_dir({"XDG_DATA_HOME": "/data"}) == Path("/data/lavagna")
    assert default_data_dir({}) == Path.home() / ".local" / "share" / "lavagna"
