"""A process that has imported the server once, and becomes a server by a fork whenever it is told to.

Of a server's start nearly everything is imports; a hundred starts would be minutes of them. What runs in the fork is the server's own
command line, in a process of its own that can be killed as any other. Nothing of gRPC runs before the fork.

Orders come as lines of JSON on standard input; on standard output stands what the servers print, and `hatched PID` and `ended PID STATUS`.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence

from lavagna_crew.tether import tie_to_parent
from lavagna_server.__main__ import main as become_server

ORDERS = 0
"""Standard input."""


def hatch(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Starts a server with this in its environment besides; gives its process id."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        tie_to_parent(signal.SIGKILL)
        if os.getppid() == parent:
            os.environ.update(environment)
            code = become_server(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    except Exception:  # noqa: BLE001 (below the fork there is nobody to catch it)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def say(*words: object) -> None:
    """Writes a line in one piece, so that it mixes with no server's."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def main() -> None:
    """Hatches until there are no more orders; the servers end with this process."""
    selector = selectors.DefaultSelector()
    selector.register(ORDERS, selectors.EVENT_READ)
    pending = b""
    say("ready")
    while True:
        for key, _ in selector.select():
            if key.fd != ORDERS:
                selector.unregister(key.fd)
                os.close(key.fd)
                say("ended", *os.waitpid(key.data, 0))
                continue
            told = os.read(ORDERS, 65_536)
            if not told:
                return
            *lines, pending = (pending + told).split(b"\n")
            for line in lines:
                pid = hatch(**json.loads(line))
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
                say("hatched", pid)


if __name__ == "__main__":
    main()
