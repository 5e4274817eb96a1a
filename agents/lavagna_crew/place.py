"""Places: which board on which server, and how to get there."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from lavagna import Board, connect
from lavagna.environment import Environment


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
        said = Environment.read(environment)
        return cls(
            target=environment["LAVAGNA_TARGET"],
            board=environment["LAVAGNA_BOARD"],
            token=said.token,
            tls_ca=said.tls_ca,
            tls_cert=said.tls_cert,
            tls_key=said.tls_key,
        )

    def variables(self) -> dict[str, str]:
        """The place as environment variables, for a process that is to go there."""
        said = {
            "LAVAGNA_TARGET": self.target,
            "LAVAGNA_BOARD": self.board,
            "LAVAGNA_TOKEN": self.token,
            "LAVAGNA_TLS_CA": self.tls_ca,
            "LAVAGNA_CLIENT_CERT": self.tls_cert,
            "LAVAGNA_CLIENT_KEY": self.tls_key,
        }
        return {name: str(value) if value is not None else "" for name, value in said.items()}

    @asynccontextmanager
    async def open(self, agent: str) -> AsyncGenerator[Board, None]:
        """The board, as an agent sees it."""
        files = Environment(tls_ca=self.tls_ca, tls_cert=self.tls_cert, tls_key=self.tls_key)
        async with connect(
            self.target,
            agent=agent,
            board=self.board,
            token=self.token or "",
            tls=files.tls() or False,
            session=f"{agent} ({os.getpid()})",
        ) as board:
            yield board
