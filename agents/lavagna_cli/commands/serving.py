"""serve: a server in the foreground."""

from pathlib import Path
from typing import Annotated, Any

import typer

from lavagna_cli import local
from lavagna_cli.arguments import DataDir
from lavagna_cli.command import SERVER, Scope, command
from lavagna_cli.invocation import Invocation

app = typer.Typer()

Listen = Annotated[
    str | None,
    typer.Option(
        help="Where to listen; port 0 takes a free one. [dim]$LAVAGNA_LISTEN, else "
        "127.0.0.1:7443[/]",
        metavar="HOST:PORT",
    ),
]
InMemory = Annotated[
    bool, typer.Option("--in-memory", help="Keep them in memory; they are gone with the process.")
]
Tokens = Annotated[
    bool | None,
    typer.Option(
        help="Whether callers prove who they are. Unset: everywhere but on loopback.",
        show_default=False,
    ),
]
TlsCert = Annotated[
    Path | None, typer.Option(help="The server's certificate chain, in PEM.", metavar="FILE")
]
TlsKey = Annotated[Path | None, typer.Option(help="The certificate's key, in PEM.", metavar="FILE")]
TlsClientCa = Annotated[
    Path | None,
    typer.Option(help="Who vouches for the agents' certificates, in PEM.", metavar="FILE"),
]
MetricsListen = Annotated[
    str | None, typer.Option(help="Where Prometheus finds metrics.", metavar="HOST:PORT")
]
LogLevel = Annotated[
    str | None, typer.Option(help="debug, info, warning or error.", metavar="LEVEL")
]
LogFormat = Annotated[str | None, typer.Option(help="auto, json or text.", metavar="FORMAT")]
ReadyFile = Annotated[
    Path | None,
    typer.Option(
        help="Gets a JSON object with the address once the server answers.", metavar="FILE"
    ),
]


@command(
    app,
    panel=SERVER,
    scope=Scope.NONE,
    example="""
    lavagna serve
    lavagna serve --in-memory --listen 127.0.0.1:0
    lavagna serve --listen 0.0.0.0:7443 --tokens --tls-cert server.pem --tls-key server.key
    """,
)
def serve(
    invocation: Invocation,
    *,
    listen: Listen = None,
    data_dir: DataDir = None,
    in_memory: InMemory = False,
    tokens: Tokens = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    tls_client_ca: TlsClientCa = None,
    metrics_listen: MetricsListen = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    ready_file: ReadyFile = None,
) -> None:
    """Run a server until it is told to stop.

    Without options it keeps its boards in your directory for data and listens on loopback alone,
    where it trusts the names that callers state. Other machines can reach it only with tokens and
    TLS. Every setting has a variable LAVAGNA_… of its name, too.
    """
    given: dict[str, Any] = {
        "listen": listen,
        "data_dir": data_dir,
        "tokens": tokens,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "tls_client_ca": tls_client_ca,
        "metrics_listen": metrics_listen,
        "log_level": log_level,
        "log_format": log_format,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    raise typer.Exit(local.serve(chosen, in_memory=in_memory, ready_file=ready_file))
