"""Runs the examiner under limits, and leaves neither a process nor a file behind.

Stands alone: it is started as a script in an isolated interpreter. It reads a JSON order from its
standard input and writes a JSON account to its standard output. When the process that started it
dies or asks it to stop, it cleans up all the same.
"""

import ctypes
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

SET_PARENT_DEATH_SIGNAL = 1
SET_CHILD_SUBREAPER = 36
"""Options of Linux's prctl(2)."""

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that ask the warden to end."""

CLEARING_SECONDS_MAX = 5.0
RECORD_BYTES_MAX = 4 * 1024 * 1024
PROCESSES_MAX = 64
"""How many processes and threads a run may add to those that the user already runs."""


class Pipes:
    """What the examiner says and what the tests print, read as it comes and capped."""

    def __init__(self, *, records: int, output: int, output_bytes_max: int) -> None:
        self._bounds = {records: RECORD_BYTES_MAX, output: output_bytes_max}
        self._read = {records: bytearray(), output: bytearray()}
        self._selector = selectors.DefaultSelector()
        for descriptor in self._read:
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ)

    def drain(self, seconds: float) -> None:
        """Takes what is there, and waits for it at most this long."""
        for key, _ in self._selector.select(seconds):
            chunk = b""
            with suppress(BlockingIOError):
                chunk = os.read(key.fd, 65_536)
                if not chunk:
                    self._selector.unregister(key.fd)
            # What lies beyond the bound is read and dropped, or the writer would stand still.
            room = self._bounds[key.fd] - len(self._read[key.fd])
            self._read[key.fd] += chunk[: max(0, room)]

    def text(self, descriptor: int) -> str:
        """What came out of one of them."""
        return self._read[descriptor].decode(errors="replace")


def main() -> None:
    """Carries out one order."""
    for number in STOPPING:
        signal.signal(number, _stop)
    _tie_to_parent()
    order: dict[str, Any] = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="lavagna-suite-", ignore_cleanup_errors=True) as folder:
        home = Path(folder).resolve()
        for name, text in order["files"].items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text, encoding="utf-8")
        account = examine(home, order["limits"])
    json.dump(account, sys.stdout)


def examine(home: Path, limits: dict[str, Any]) -> dict[str, Any]:
    """Runs the tests in a folder, and gives an account of it."""
    records, records_in = os.pipe()
    output, output_in = os.pipe()
    pipes = Pipes(records=records, output=output, output_bytes_max=limits["output_bytes_max"])
    start = time.monotonic()
    group = None
    try:
        process = _started(home, limits, records_in, output_in)
        group = process.pid
        os.close(records_in)
        os.close(output_in)
        timed_out = not _wait(process, pipes, until=start + limits["seconds"])
        code = process.poll()
    finally:
        _clear(group)
    pipes.drain(0)
    return {
        "records": pipes.text(records).splitlines(),
        "output": pipes.text(output),
        "exit_code": code,
        "timed_out": timed_out or code == -signal.SIGXCPU,
        "seconds": round(time.monotonic() - start, 3),
    }


def _started(
    home: Path, limits: dict[str, Any], records: int, output: int
) -> "subprocess.Popen[bytes]":
    """The examiner, under its limits."""
    examiner = Path(__file__).with_name("examiner.py")
    return subprocess.Popen(  # noqa: S603 - running it is what the warden is for
        [sys.executable, "-I", "-S", "-B", "-u", str(examiner), str(records)],
        cwd=home,
        env=_environment(home),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=[records],
        start_new_session=True,
        preexec_fn=lambda: _limit(limits),  # noqa: PLW1509 - there is one thread here
    )


def _wait(process: "subprocess.Popen[bytes]", pipes: Pipes, *, until: float) -> bool:
    """Whether the process ended in time."""
    while process.poll() is None:
        left = until - time.monotonic()
        if left <= 0:
            return False
        pipes.drain(min(left, 0.02))
    return True


def _environment(home: Path) -> dict[str, str]:
    """Nothing of the user's own, so that no secret can leak into code that a model wrote."""
    return {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "MALLOC_ARENA_MAX": "1",  # or each thread would reserve 64 MiB of the address space
        "NO_COLOR": "1",
        "PATH": os.defpath,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TMPDIR": str(home),
    }


def _limit(limits: dict[str, Any]) -> None:
    seconds = int(limits["seconds"]) + 1
    bounds = {
        resource.RLIMIT_AS: limits["memory_bytes_max"],
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: limits["file_bytes_max"],
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_NPROC: _processes_of_user() + PROCESSES_MAX,
    }
    for kind, bound in bounds.items():
        _, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY or bound < hard:
            # A platform may know a limit and not let it be set.
            with suppress(OSError, ValueError):
                resource.setrlimit(kind, (bound, bound))
    # When the machine itself runs short, this goes first.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _processes_of_user() -> int:
    """How many threads the user runs: that is what the kernel counts against the limit."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if process.stat().st_uid == os.getuid():
                count += len(list((process / "task").iterdir()))
    return count


def _clear(group: int | None) -> None:
    """Kills the group, if it is known by now, and every process that descends from this one.

    Those whose parent died became children of this process, wherever they hid: it is their
    subreaper. Each round kills the children there are, which brings up the grandchildren.
    """
    if group is not None:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    until = time.monotonic() + CLEARING_SECONDS_MAX
    while not _reaped():
        if time.monotonic() > until:
            msg = f"processes survive: {_children()}"
            raise RuntimeError(msg)
        for child in _children():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.001)  # a killed child ends a moment later, and its children come to us then


def _reaped() -> bool:
    """Whether no child is left, dead or alive."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def _children() -> list[int]:
    me, found = os.getpid(), list[int]()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            # The name stands in brackets and may hold anything, brackets too.
            if int((process / "stat").read_text().rpartition(")")[2].split()[1]) == me:
                found.append(int(process.name))
    return found


def _tie_to_parent() -> None:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
        libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _stop(number: int, _frame: object) -> NoReturn:
    """Ends the warden wherever it is, once: nothing may interrupt the cleaning up."""
    for each in STOPPING:
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
