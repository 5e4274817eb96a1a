"""Environment: what the variables `LAVAGNA_…` say of a server, of a board there, and of who calls."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lavagna.channel import Tls


@dataclass(frozen=True, slots=True)
class Environment:
    """What the variables say; what is unset or empty is None."""

    target: str | None = None
    board: str | None = None
    agent: str | None = None
    token: str | None = None
    tls_ca: Path | None = None
    """Whom to trust, in PEM."""
    tls_cert: Path | None = None
    """The client's certificate. Not `LAVAGNA_TLS_CERT`: that is the server's."""
    tls_key: Path | None = None
    """The key of `tls_cert`."""

    @classmethod
    def read(cls, variables: Mapping[str, str] = os.environ) -> Environment:
        """What these variables say."""

        def text(name: str) -> str | None:
            return variables.get(f"LAVAGNA_{name}") or None

        def path(name: str) -> Path | None:
            said = text(name)
            return Path(said) if said else None

        return cls(
            target=text("TARGET"),
            board=text("BOARD"),
            agent=text("AGENT"),
            token=text("TOKEN"),
            tls_ca=path("TLS_CA"),
            tls_cert=path("CLIENT_CERT"),
            tls_key=path("CLIENT_KEY"),
        )

    def tls(self) -> Tls | None:
        """How to reach the server over TLS; None when no file asks for it.

        Raises:
            Invalid: A file cannot be read, or a certificate comes without its key.
        """
        if self.tls_ca is None and self.tls_cert is None and self.tls_key is None:
            return None
        return Tls.from_files(roots=self.tls_ca, certificate=self.tls_cert, key=self.tls_key)
