"""Places: which board on which server, and how to get there."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from lavagna import Board, Tls, connect


@dataclass(frozen=True, slots=True)
class Place:
    """A board, and how it is reached."""

    target: str
    board: str
    token: str | None = None
    """Who calls, where the server does not trust names."""
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Place":
        """The place that `variables` describe."""

        def path(name: str) -> Path | None:
            said = environment.get(name)
            return Path(said) if said else None

        return cls(
            target=environment["LAVAGNA_TARGET"],
            board=environment["LAVAGNA_BOARD"],
            token=environment.get("LAVAGNA_TOKEN") or None,
            tls_ca=path("LAVAGNA_TLS_CA"),
            tls_cert=path("LAVAGNA_TLS_CERT"),
            tls_key=path("LAVAGNA_TLS_KEY"),
        )

    def variables(self) -> dict[str, str]:
        """The place as environment variables, for a process that is to go there."""
        said = {
            "LAVAGNA_TARGET": self.target,
            "LAVAGNA_BOARD": self.board,
            "LAVAGNA_TOKEN": self.token,
            "LAVAGNA_TLS_CA": self.tls_ca,
            "LAVAGNA_TLS_CERT": self.tls_cert,
            "LAVAGNA_TLS_KEY": self.tls_key,
        }
        return {name: str(value) if value is not None else "" for name, value in said.items()}

    @asynccontextmanager
    async def open(self, agent: str) -> AsyncGenerator[Board, None]:
        """The board, as an agent sees it."""
        tls = None
        if self.tls_ca or self.tls_cert or self.tls_key:
            tls = Tls.from_files(roots=self.tls_ca, certificate=self.tls_cert, key=self.tls_key)
        async with connect(
            self.target,
            agent=agent,
            board=self.board,
            token=self.token or "",
            tls=tls,
            session=f"{agent} ({os.getpid()})",
        ) as board:
            yield board
