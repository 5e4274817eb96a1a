"""Settings: what an operator can choose, from the environment (`LAVAGNA_…`), the command line, or code."""

from __future__ import annotations

import difflib
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from lavagna_server.domain.errors import StartRefused
from lavagna_server.domain.limits import Limits

DEFAULT_PORT = 7443
ENV_PREFIX = "LAVAGNA_"
PORT_MAX = 65_535

OTHERS_VARIABLES = frozenset(
    ENV_PREFIX + name
    for name in (
        *("TARGET", "BOARD", "AGENT", "TOKEN", "TLS_CA", "CLIENT_CERT", "CLIENT_KEY"),  # clients
        "TRACEBACK",  # the command line
        *("MODEL", "MODEL_PRICE", "MODEL_TOKENS_MAX"),  # the crew of the demonstration
        "FAULT",  # `faults`
    )
)
"""What is no setting, but read by other parts, which may share the environment."""


_LIMITS = frozenset(each.name for each in fields(Limits))


class SettingsRefused(StartRefused):
    """A setting is wrong, or contradicts another."""


class Settings(BaseSettings):
    """How a server runs. Each field is read from `LAVAGNA_` and its name in capitals unless it is given."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_ignore_empty=True, extra="forbid", frozen=True
    )

    data_dir: Path | None = None
    """Where the board is kept; None keeps it in memory, gone with the process."""
    listen: str = f"127.0.0.1:{DEFAULT_PORT}"
    """Host and port; port 0 takes a free one."""
    tokens: bool | None = None
    """Whether callers must prove who they are with tokens or certificates. Unset: everywhere but on loopback."""
    tls_cert: Path | None = None
    """The server's certificate chain, in PEM."""
    tls_key: Path | None = None
    """The key of the certificate, in PEM."""
    tls_client_ca: Path | None = None
    """The authority of client certificates; when set, every client must show one. Its common name is the agent, unless a token
    says otherwise."""
    bookmark_seconds: float = Field(default=5.0, gt=0)
    """How often an idle watch says that it lives."""
    stall_seconds: float = Field(default=10.0, gt=0)
    """How long a watcher may take to accept a message before it is closed."""
    requests_kept_hours: float = Field(default=24.0, ge=24.0)
    """How long a request's effect is remembered; S6 promises at least 24."""
    stop_seconds: float = Field(default=5.0, ge=0)
    """How long calls under way may take to finish when the server is told to stop."""
    metrics_listen: str = ""
    """Host and port for Prometheus, without TLS; empty means off."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """From `debug` on, every call is logged."""
    log_format: Literal["auto", "json", "text"] = "auto"
    """`auto` is text on a terminal and JSON elsewhere."""
    limits: dict[str, int] = Field(default_factory=dict[str, int])
    """Limits by the names that errors give. In the environment each has a variable of its own: `LAVAGNA_VALUE_BYTES_MAX`."""

    @model_validator(mode="before")
    @classmethod
    def _take_limits_from_environment(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {**given, "limits": {**_environment_limits(os.environ), **given.get("limits", {})}}

    @model_validator(mode="after")
    def _limits_make_sense(self) -> Settings:
        unknown = self.limits.keys() - _LIMITS
        if unknown:
            raise ValueError(f"{min(unknown)} is not the name of a limit")
        for name, value in self.limits.items():
            if value < 1:
                raise ValueError(f"{name} is at least 1, not {value}")
        return self

    @property
    def trusts_names(self) -> bool:
        """Whether callers are believed who they say they are: on loopback, unless tokens are asked for."""
        if self.tokens is None:
            return self.is_loopback and self.tls_client_ca is None
        return not self.tokens

    @property
    def host(self) -> str:
        """The host part of `listen`, without brackets."""
        return host_of(self.listen)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check(self) -> None:
        """Checks that what is promised to operators holds.

        Raises:
            SettingsRefused: Naming the setting to change.
        """
        _check_address("listen", self.listen)
        if self.metrics_listen:
            _check_address("metrics_listen", self.metrics_listen)
        if (self.tls_cert is None) != (self.tls_key is None):
            raise SettingsRefused("tls: give both tls_cert and tls_key, or neither")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise SettingsRefused(
                "tls_client_ca: client certificates need tls_cert and tls_key as well"
            )
        if self.tls_client_ca is not None and self.tokens is False:
            raise SettingsRefused(
                "tokens: client certificates say who calls, so names cannot be trusted besides"
            )
        if not self.is_loopback:
            self._check_reachable()

    def _check_reachable(self) -> None:
        """Other machines can connect, so callers prove who they are, and nobody listens in."""
        missing = [] if not self.trusts_names else ["tokens"]
        missing += [name for name in ("tls_cert", "tls_key") if getattr(self, name) is None]
        if missing:
            raise SettingsRefused(
                f"other machines can reach {self.host}, where a server needs tokens and TLS: "
                f"set {' and '.join(missing)}, or listen on 127.0.0.1"
            )


def settings_from(given: Mapping[str, Any]) -> Settings:
    """The settings that `given` and, for what it leaves out, the environment ask for.

    Raises:
        SettingsRefused: A value is wrong.
    """
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"] if part != "limits")
        source = name if name in given or not name else f"{ENV_PREFIX}{name.upper()}"
        problem = first["msg"].removeprefix("Value error, ")
        raise SettingsRefused(f"{source}: {problem}" if source else problem) from None


def unknown_variables(environ: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """The variables that look like settings and are none, each with the nearest that is one, or with nothing.

    They are no reason to refuse a start: Kubernetes sets some for a service that is called `lavagna`.
    """
    settings = [f"{ENV_PREFIX}{name.upper()}" for name in (*Settings.model_fields, *_LIMITS)]
    known = {*settings, *OTHERS_VARIABLES}
    return {
        name: next(iter(difflib.get_close_matches(name.upper(), settings, 1, 0.8)), "")
        for name in sorted(environ)
        if name.upper().startswith(ENV_PREFIX) and name.upper() not in known
    }


def default_data_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where a server keeps its board unless told otherwise: the user's directory for data."""
    home = environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "lavagna"


def _environment_limits(environ: Mapping[str, str]) -> dict[str, str]:
    given = {name.upper(): value for name, value in environ.items() if value}
    variables = {name: f"{ENV_PREFIX}{name.upper()}" for name in _LIMITS}
    return {name: given[variable] for name, variable in variables.items() if variable in given}


def host_of(address: str) -> str:
    """The host of a host and port, without brackets."""
    return address.rpartition(":")[0].strip("[]")


def _check_address(name: str, address: str) -> None:
    port = address.rpartition(":")[2]
    if not host_of(address) or not (port.isascii() and port.isdecimal() and int(port) <= PORT_MAX):
        raise SettingsRefused(
            f"{name}: {address!r} is not HOST:PORT, such as 127.0.0.1:{DEFAULT_PORT}"
        )
