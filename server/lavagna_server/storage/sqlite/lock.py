"""The lock of a data directory: one server at a time, and the next learns who has it."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

from lavagna_server.domain.errors import StartRefused

LOCK_FILE = "lavagna.lock"


class DirectoryLock:
    """Held until released, or until the process ends in whatever way."""

    def __init__(self, directory: Path) -> None:
        path = directory / LOCK_FILE
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 512).decode(errors="replace").strip()
            os.close(self._file)
            raise StartRefused(
                f"another server uses this directory: {holder or 'it is just starting'}"
            ) from None
        except OSError:
            os.close(self._file)
            raise
        os.ftruncate(self._file, 0)
        os.write(self._file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())

    def release(self) -> None:
        """Lets the next server have the directory."""
        if self._file >= 0:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = -1
