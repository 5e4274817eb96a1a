"""Assembly: which adapters stand behind the ports. The only module that knows them all."""

from __future__ import annotations

import os
import secrets
from datetime import timedelta
from pathlib import Path

from lavagna_server.clocks import ManualClock, SystemClock
from lavagna_server.conditions.cel import CelConditions
from lavagna_server.conditions.schemas import JsonSchemas
from lavagna_server.domain.agents import SERVER_WIDE, Caller, Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.errors import StartRefused
from lavagna_server.domain.limits import Limits
from lavagna_server.engine.calls import own_call
from lavagna_server.engine.engine import Engine, EngineOptions
from lavagna_server.ports.clock import Clock
from lavagna_server.ports.faults import Faults, NoFaults
from lavagna_server.ports.store import Store
from lavagna_server.rpc.server import RpcOptions, RpcServer, Tls
from lavagna_server.rpc.server import build as build_rpc
from lavagna_server.settings import Settings
from lavagna_server.storage.ephemeral import EphemeralStore
from lavagna_server.storage.sqlite import SqliteStore

FIRST_BOARD = "main"
"""The board that is there from the start."""
ADMIN = "admin"
SECRET_FILE = "server.key"  # noqa: S105 (the name of the file, not what is in it)
ADMIN_TOKEN_FILE = "admin.token"  # noqa: S105


class Server:
    """A whole server: an engine, and the network around it."""

    def __init__(self, settings: Settings, engine: Engine, rpc: RpcServer, clock: Clock) -> None:
        self.settings, self.engine, self.clock = settings, engine, clock
        self._rpc = rpc
        self.admin_token_path: Path | None = None
        """Where the administrator's token was written, when this start made one."""

    @property
    def address(self) -> str:
        """Where it listens."""
        host = self.settings.host
        return f"[{host}]:{self._rpc.port}" if ":" in host else f"{host}:{self._rpc.port}"

    async def start(self) -> None:
        """Begins to answer, with a first board and someone who may keep it.

        Raises:
            StartRefused: The address cannot be listened on.
        """
        await self.engine.start()
        if isinstance(self.clock, ManualClock):
            self.clock.settle_with(self.engine.settled)
        await self._set_up()
        try:
            await self._rpc.start()
        except RuntimeError as error:
            await self.engine.stop()
            raise StartRefused(
                f"{self.settings.listen} cannot be listened on: is another server there? Choose another port with --listen"
            ) from error

    async def stop(self, grace_seconds: float = 5.0) -> None:
        """Ends streams with a last bookmark, finishes calls under way within the grace, and lets go of the store."""
        await self._rpc.stop(grace_seconds)
        await self.engine.stop()

    async def _set_up(self) -> None:
        root = Caller(SERVER_WIDE, ADMIN, Role.ADMIN)
        if FIRST_BOARD not in self.engine.catalog.boards:
            await self.engine.boards.create(own_call(root), Board(FIRST_BOARD, epoch=""))
        data_dir = self.settings.data_dir
        if (
            self.settings.trusts_names
            or ADMIN in self.engine.catalog.server_agents
            or data_dir is None
        ):
            return
        registered = await self.engine.agents.register(own_call(root), ADMIN, Role.ADMIN, ())
        self.admin_token_path = data_dir / ADMIN_TOKEN_FILE
        _write_secret(self.admin_token_path, registered.token.encode())


def build(
    settings: Settings, *, clock: Clock | None = None, faults: Faults | None = None
) -> Server:
    """A server as the settings ask for.

    Raises:
        StartRefused: The settings contradict each other, or what they name cannot be used.
        StorageFailed: The data cannot be read.
    """
    settings.check()
    tls = _tls(settings)
    time = clock or SystemClock()
    store, secret = _store(settings)
    limits = Limits(**settings.limits)
    options = EngineOptions(
        trust_names=settings.trusts_names,
        secret=secret,
        bookmark_seconds=settings.bookmark_seconds,
        stall_seconds=settings.stall_seconds,
        requests_kept=timedelta(hours=settings.requests_kept_hours),
        limits=limits,
    )
    engine = Engine(
        store,
        time,
        CelConditions(limits),
        JsonSchemas(limits),
        options,
        faults=faults or NoFaults(),
    )
    rpc = build_rpc(engine, RpcOptions(listen=settings.listen, tls=tls))
    return Server(settings, engine, rpc, time)


def _store(settings: Settings) -> tuple[Store, bytes]:
    if settings.data_dir is None:
        return EphemeralStore(), secrets.token_bytes(32)
    store = SqliteStore.open(settings.data_dir)
    path = settings.data_dir / SECRET_FILE
    if not path.exists():
        _write_secret(path, secrets.token_bytes(32))
    return store, path.read_bytes()


def _write_secret(path: Path, content: bytes) -> None:
    """Writes a file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _tls(settings: Settings) -> Tls | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    try:
        authority = settings.tls_client_ca.read_bytes() if settings.tls_client_ca else None
        return Tls(settings.tls_cert.read_bytes(), settings.tls_key.read_bytes(), authority)
    except OSError as error:
        raise StartRefused(f"tls: {error.filename} cannot be read: {error.strerror}") from None
