"""Assembly: which adapters stand behind the ports. The only module that knows them all."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import ssl
from datetime import timedelta
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry

from lavagna_server.clocks import ManualClock, SystemClock
from lavagna_server.conditions.cel import CelConditions
from lavagna_server.conditions.schemas import JsonSchemas
from lavagna_server.domain.agents import SERVER_WIDE, Caller, Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.errors import StartRefused
from lavagna_server.domain.limits import Limits
from lavagna_server.engine.calls import own_call
from lavagna_server.engine.engine import Engine, EngineOptions
from lavagna_server.faults import KilledAt, planted
from lavagna_server.metrics import MetricsPage
from lavagna_server.ports.clock import Clock
from lavagna_server.ports.faults import Faults
from lavagna_server.ports.store import Store
from lavagna_server.rpc.server import RpcOptions, RpcServer, Tls
from lavagna_server.rpc.server import build as build_rpc
from lavagna_server.settings import Settings, host_of
from lavagna_server.storage.ephemeral import EphemeralStore
from lavagna_server.storage.sqlite import SqliteStore
from lavagna_server.storage.sqlite.store import SQLITE_VERSION

FIRST_BOARD = "main"
"""The board that is there from the start."""
ADMIN = "admin"
SECRET_FILE = "server.key"  # noqa: S105 (the name of the file, not what is in it)
ADMIN_TOKEN_FILE = "admin.token"  # noqa: S105

_log = structlog.get_logger("lavagna.server")


class Server:
    """A whole server: an engine, and the network around it."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        rpc: RpcServer,
        clock: Clock,
        *,
        faults: Faults,
        metrics: MetricsPage | None,
    ) -> None:
        self.settings, self.engine, self.clock = settings, engine, clock
        self._rpc, self._faults, self._metrics = rpc, faults, metrics
        self.admin_token_path: Path | None = None
        """Where the administrator's token was written, when this start made one."""
        self.admin_token = ""
        """The administrator's token itself, when there is nowhere to write it."""

    @property
    def address(self) -> str:
        """Where it listens."""
        host = self.settings.host
        return f"[{host}]:{self._rpc.port}" if ":" in host else f"{host}:{self._rpc.port}"

    @property
    def metrics_port(self) -> int:
        """Where Prometheus finds the metrics; 0 when it does not."""
        return self._metrics.port if self._metrics is not None else 0

    async def start(self) -> None:
        """Begins to answer, with a first board and someone who may keep it.

        Raises:
            StartRefused: An address cannot be listened on.
        """
        if isinstance(self.clock, ManualClock):
            self.clock.settle_with(self.engine.settled)
        try:
            await self.engine.start()
            await self._set_up()
            if self._metrics is not None:
                self._metrics.start()
            await self._listen()
        except BaseException:
            await self._let_go()
            raise
        if isinstance(self._faults, KilledAt):
            self._faults.begin()
        _log.info(
            "started",
            address=self.address,
            trusts_names=self.settings.trusts_names,
            metrics_port=self.metrics_port,
            sqlite=SQLITE_VERSION,
        )

    async def stop(self, grace_seconds: float = 5.0) -> None:
        """Ends streams with a last bookmark, finishes calls under way within the grace, and lets go of the store."""
        await self._rpc.stop(grace_seconds)
        await self._let_go()
        _log.info("stopped", address=self.address)

    async def _let_go(self) -> None:
        if self._metrics is not None:
            self._metrics.stop()
        await self.engine.stop()

    async def _listen(self) -> None:
        try:
            await self._rpc.start()
        except RuntimeError as error:
            raise StartRefused(f"{self.settings.listen} cannot be listened on") from error

    async def _set_up(self) -> None:
        root = Caller(SERVER_WIDE, ADMIN, Role.ADMIN)
        if FIRST_BOARD not in self.engine.catalog.boards:
            await self.engine.boards.create(own_call(root), Board(FIRST_BOARD, epoch=""))
        data_dir = self.settings.data_dir
        if self.settings.trusts_names or ADMIN in self.engine.catalog.server_agents:
            return
        registered = await self.engine.agents.register(own_call(root), ADMIN, Role.ADMIN, ())
        if data_dir is None:
            self.admin_token = registered.token
            return
        write_secret(data_dir / ADMIN_TOKEN_FILE, registered.token.encode() + b"\n")
        self.admin_token_path = data_dir / ADMIN_TOKEN_FILE


def build(
    settings: Settings, *, clock: Clock | None = None, faults: Faults | None = None
) -> Server:
    """A server as the settings ask for.

    Raises:
        StartRefused: The settings contradict each other, or what they name cannot be used.
        StorageFailed: The data cannot be read.
    """
    settings.check()
    _check_free("listen", settings.listen)
    if settings.metrics_listen:
        _check_free("metrics_listen", settings.metrics_listen)
    tls = _tls(settings)
    limits = Limits(**settings.limits)
    planted_faults = faults or planted()
    time = clock or SystemClock()
    store, secret = _store(settings)
    options = EngineOptions(
        trust_names=settings.trusts_names,
        secret=secret,
        bookmark_seconds=settings.bookmark_seconds,
        stall_seconds=settings.stall_seconds,
        requests_kept=timedelta(hours=settings.requests_kept_hours),
        limits=limits,
    )
    engine = Engine(
        store, time, CelConditions(limits), JsonSchemas(limits), options, faults=planted_faults
    )
    registry = CollectorRegistry()
    log_calls = settings.log_level == "debug"
    rpc = build_rpc(
        engine, RpcOptions(listen=settings.listen, tls=tls, log_calls=log_calls, registry=registry)
    )
    metrics = MetricsPage(settings.metrics_listen, registry) if settings.metrics_listen else None
    return Server(settings, engine, rpc, time, faults=planted_faults, metrics=metrics)


def _store(settings: Settings) -> tuple[Store, bytes]:
    if settings.data_dir is None:
        return EphemeralStore(), secrets.token_bytes(32)
    store = SqliteStore.open(settings.data_dir)
    try:
        return store, _secret(settings.data_dir / SECRET_FILE)
    except OSError as error:
        store.close()
        raise StartRefused(f"{error.filename}: {error.strerror}") from None


def _secret(path: Path) -> bytes:
    if not path.exists():
        write_secret(path, secrets.token_bytes(32))
    return path.read_bytes()


def write_secret(path: Path, content: bytes) -> None:
    """Writes a file that only its owner can read, whole or not at all."""
    draft = path.with_name(f"{path.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _check_free(name: str, address: str) -> None:
    """Tries an address before anything is made, by a library that says what is wrong; gRPC says only that something is."""
    host, port = host_of(address), int(address.rpartition(":")[2])
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        why = (
            f"another server is there; choose another port with --{name.replace('_', '-')}"
            if in_use
            else error.strerror
        )
        raise StartRefused(f"{address} cannot be listened on: {why}") from None


def _tls(settings: Settings) -> Tls | None:
    certificate, key, authority = settings.tls_cert, settings.tls_key, settings.tls_client_ca
    if certificate is None or key is None:
        return None
    try:
        _check_certificates(certificate, key, authority)
        authority_pem = authority.read_bytes() if authority else None
        return Tls(certificate.read_bytes(), key.read_bytes(), authority_pem)
    except OSError as error:
        raise StartRefused(f"tls: {error.filename} cannot be read: {error.strerror}") from None


def _check_certificates(certificate: Path, key: Path, authority: Path | None) -> None:
    """Loads them once by a library that says what is wrong; gRPC says it to nobody."""
    for path in (certificate, key, authority):
        if path is not None:
            path.open("rb").close()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # A key under a password would make the server ask a terminal that it may not have.
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except (ssl.SSLError, ValueError) as error:
        raise StartRefused(
            f"tls: {certificate} and {key} are not a certificate in PEM and its key: {_ssl(error)}"
        ) from None
    try:
        if authority is not None:
            context.load_verify_locations(authority)
    except ssl.SSLError as error:
        raise StartRefused(f"tls: {authority} is not a certificate in PEM: {_ssl(error)}") from None


def _ssl(error: Exception) -> str:
    return str(getattr(error, "reason", None) or "it cannot be read").lower().replace("_", " ")
