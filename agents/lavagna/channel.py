"""The channel to a server, and who calls over it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from lavagna.checks import checked_text, checked_type
from lavagna.errors import Invalid
from lavagna.v1.activations_pb2_grpc import ActivationsStub
from lavagna.v1.agents_pb2_grpc import AgentsStub
from lavagna.v1.boards_pb2_grpc import BoardsStub
from lavagna.v1.consensus_pb2_grpc import ConsensusStub
from lavagna.v1.entries_pb2_grpc import EntriesStub
from lavagna.v1.triggers_pb2_grpc import TriggersStub
from lavagna.v1.watch_pb2_grpc import WatchStub

if TYPE_CHECKING:
    from lavagna.v1.activations_pb2_grpc import ActivationsAsyncStub
    from lavagna.v1.agents_pb2_grpc import AgentsAsyncStub
    from lavagna.v1.boards_pb2_grpc import BoardsAsyncStub
    from lavagna.v1.consensus_pb2_grpc import ConsensusAsyncStub
    from lavagna.v1.entries_pb2_grpc import EntriesAsyncStub
    from lavagna.v1.triggers_pb2_grpc import TriggersAsyncStub
    from lavagna.v1.watch_pb2_grpc import WatchAsyncStub

_MESSAGE_BYTES_MAX = 8 * 1024 * 1024

_OPTIONS: tuple[tuple[str, int], ...] = (
    # Without these two, a stalled stream buffers about 6 MB in this process.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 64 * 1024),
    ("grpc.max_receive_message_length", _MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", _MESSAGE_BYTES_MAX),
    # A conflict's details carry the current value in the trailers; the default is 8 kB.
    ("grpc.max_metadata_size", 64 * 1024),
    ("grpc.absolute_max_metadata_size", 128 * 1024),
    # Longer than the SDK's long polls, so pings are only sent into a silence.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # By default a lost server is looked for again after up to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 2_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # Retrying is the SDK's work, because only it keeps the request id.
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
    # Each connection is a connection: two agents in one process do not share a fate.
    ("grpc.use_local_subchannel_pool", 1),
)

_LOOPBACK = ("localhost", "127.", "[::1]", "ipv4:127.", "ipv6:[::1]", "unix:")


@dataclass(frozen=True, slots=True, repr=False)
class Tls:
    """How to reach a server over TLS; all contents are PEM."""

    roots: bytes | None = None
    """The authorities to trust; None means those of the system."""
    certificate: bytes | None = None
    """The client's certificate chain, where the server asks for one."""
    key: bytes | None = None
    """The private key of `certificate`."""
    server_name: str | None = None
    """The name that the server's certificate must bear, when it is not the target's."""

    def __post_init__(self) -> None:
        for field, content, label in (
            ("roots", self.roots, "CERTIFICATE"),
            ("certificate", self.certificate, "CERTIFICATE"),
            ("key", self.key, "PRIVATE KEY"),
        ):
            checked_type(content, (bytes, NoneType), field=field, expected="PEM bytes")
            if content is not None and f"{label}-----".encode() not in content:
                raise Invalid.field(field, f"there is no {label.lower()} in it, in PEM")
        if self.server_name is not None:
            checked_text(self.server_name, field="server_name")
        if (self.certificate is None) != (self.key is None):
            missing = "key" if self.key is None else "certificate"
            raise Invalid.field(missing, "a client's certificate and its key go together")

    @classmethod
    def from_files(
        cls,
        *,
        roots: str | Path | None = None,
        certificate: str | Path | None = None,
        key: str | Path | None = None,
        server_name: str | None = None,
    ) -> Tls:
        """The same from PEM files.

        Raises:
            Invalid: A file cannot be read, or a certificate comes without its key.
        """
        return cls(
            roots=_content(roots, field="roots"),
            certificate=_content(certificate, field="certificate"),
            key=_content(key, field="key"),
            server_name=server_name,
        )


def _content(path: str | Path | None, *, field: str) -> bytes | None:
    if path is None:
        return None
    checked_type(path, (str, Path), field=field, expected="the path of a file")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Invalid.field(field, f"cannot read {path}: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls: by token, or, where the server trusts names, by name."""

    agent: str
    """The name; empty when only a token is known."""
    token: str | None = None

    def __post_init__(self) -> None:
        for field, text in (("agent", self.agent), ("token", self.token or "")):
            checked_text(text, field=field)
            if not (text.isascii() and text.isprintable()):
                raise Invalid.field(field, "only printable ASCII characters can be sent")

    def metadata(self, request_id: str) -> tuple[tuple[str, str], ...]:
        """What is sent along with a call."""
        if self.token is not None:
            who = ("authorization", f"Bearer {self.token}")
        else:
            who = ("lavagna-agent", self.agent)
        return (who, ("lavagna-request", request_id))

    def __repr__(self) -> str:
        return f"Identity(agent={self.agent!r}, token={'…' if self.token else None})"


class Stubs:
    """The services of one server, over one channel."""

    def __init__(self, channel: grpc.aio.Channel, target: str) -> None:
        self.target = target
        self.entries: EntriesAsyncStub = EntriesStub(channel)
        self.watch: WatchAsyncStub = WatchStub(channel)
        self.triggers: TriggersAsyncStub = TriggersStub(channel)
        self.activations: ActivationsAsyncStub = ActivationsStub(channel)
        self.agents: AgentsAsyncStub = AgentsStub(channel)
        self.boards: BoardsAsyncStub = BoardsStub(channel)
        self.consensus: ConsensusAsyncStub = ConsensusStub(channel)


def open_channel(target: str, tls: Tls | None) -> grpc.aio.Channel:
    """A channel to the target, which connects when it is first used."""
    options: list[tuple[str, int | str]] = list(_OPTIONS)
    if target.startswith(_LOOPBACK):
        options.append(("grpc.enable_http_proxy", 0))
    if tls is None:
        return grpc.aio.insecure_channel(target, options=options)
    if tls.server_name is not None:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    credentials = grpc.ssl_channel_credentials(tls.roots, tls.key, tls.certificate)
    return grpc.aio.secure_channel(target, credentials, options=options)
