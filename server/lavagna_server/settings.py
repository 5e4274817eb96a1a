"""Settings: what an operator can choose, from the environment (`LAVAGNA_…`), the command line, or code."""

from __future__ import annotations

import ipaddress
from dataclasses import fields
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from lavagna_server.domain.errors import StartRefused
from lavagna_server.domain.limits import Limits

DEFAULT_PORT = 7443


class Settings(BaseSettings):
    """How a server runs. Each field is read from `LAVAGNA_` and its name in capitals unless it is given."""

    model_config = SettingsConfigDict(env_prefix="LAVAGNA_", extra="ignore", frozen=True)

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
    """The authority of client certificates; when set, every client must show one, and its common name is the agent."""
    bookmark_seconds: float = Field(default=5.0, gt=0)
    """How often an idle watch says that it lives."""
    stall_seconds: float = Field(default=10.0, gt=0)
    """How long a watcher may take to accept a message before it is closed."""
    requests_kept_hours: float = Field(default=24.0, ge=24.0)
    """How long a request's effect is remembered; S6 promises at least 24."""
    metrics_listen: str = ""
    """Host and port for Prometheus; empty means off."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "text"] = "auto"
    """`auto` is text on a terminal and JSON elsewhere."""
    limits: dict[str, int] = Field(default_factory=dict[str, int])
    """Limits by the names that errors give, such as `{"value_bytes_max": 65536}`."""

    @model_validator(mode="after")
    def _limits_have_names(self) -> Settings:
        unknown = set(self.limits) - {each.name for each in fields(Limits)}
        if unknown:
            raise ValueError(f"limits: {min(unknown)} is not the name of a limit")
        if any(value < 1 for value in self.limits.values()):
            raise ValueError("limits: every limit is at least 1")
        return self

    @property
    def trusts_names(self) -> bool:
        """Whether callers are believed who they say they are: on loopback, unless tokens are asked for."""
        return (
            not self.tokens
            if self.tokens is not None
            else self.is_loopback and not self.tls_client_ca
        )

    @property
    def host(self) -> str:
        """The host part of `listen`, without brackets."""
        return self.listen.rpartition(":")[0].strip("[]")

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
            StartRefused: Naming the setting to change.
        """
        if not self.host or not self.listen.rpartition(":")[2].isdigit():
            raise StartRefused(
                f"listen: {self.listen!r} is not HOST:PORT, such as 127.0.0.1:{DEFAULT_PORT}"
            )
        if (self.tls_cert is None) != (self.tls_key is None):
            raise StartRefused("tls: give both tls_cert and tls_key, or neither")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise StartRefused(
                "tls_client_ca: client certificates need tls_cert and tls_key as well"
            )
        if self.is_loopback:
            return
        if self.trusts_names:
            raise StartRefused(
                f"{self.host} can be reached from other machines: names are trusted on loopback only. Set tokens"
            )
        if self.tls_cert is None:
            raise StartRefused(
                f"{self.host} can be reached from other machines: set tls_cert and tls_key, so that tokens stay secret"
            )
