"""The page that Prometheus reads, on an address of its own."""

from __future__ import annotations

import errno
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server

from lavagna_server.domain.errors import StartRefused


class MetricsPage:
    """Serves the metrics of a registry over HTTP, in a thread of its own."""

    def __init__(self, listen: str, registry: CollectorRegistry) -> None:
        self._listen, self._registry = listen, registry
        self._serving: tuple[WSGIServer, Thread] | None = None

    def start(self) -> None:
        """Begins to answer.

        Raises:
            StartRefused: The address cannot be listened on.
        """
        host, _, port = self._listen.rpartition(":")
        try:
            self._serving = start_http_server(int(port), host.strip("[]"), self._registry)
        except OSError as error:
            why = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
            raise StartRefused(
                f"metrics_listen: {self._listen} cannot be listened on: {why}"
            ) from error

    @property
    def port(self) -> int:
        """Where it listens; 0 when it does not."""
        return self._serving[0].server_port if self._serving else 0

    def stop(self) -> None:
        """Ends the answers."""
        if self._serving is not None:
            server, thread = self._serving
            self._serving = None
            server.shutdown()
            server.server_close()
            thread.join()
