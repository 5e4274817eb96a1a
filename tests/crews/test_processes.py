"""The launcher's processes: they end with it, however it ends."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from lavagna_crew.demo.processes import Child, Processes
from tests.crews.stages import ended

SAYS_ITS_PID = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()))"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
SLEEPS = "; import time; time.sleep(600)"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe with a name, through which a process says that it is up."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


async def said(pipe: Path) -> int:
    """The process id that came through the pipe."""
    return int(await asyncio.to_thread(pipe.read_text))


async def test_a_process_is_told_to_end_and_its_log_stays_readable(
    tmp_path: Path, pipe: Path
) -> None:
    program = f"print('hello', flush=True); {SAYS_ITS_PID}{SLEEPS}"
    async with Processes(tmp_path) as processes:
        child = await processes.start("one", [sys.executable, "-c", program, str(pipe)])
        pid = await said(pipe)

    assert pid == child.process.pid
    assert child.end == "was killed by SIGTERM"
    assert child.last_words() == "hello"


async def test_a_process_that_does_not_end_is_killed(
    tmp_path: Path, pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lavagna_crew.demo.processes.GRACE_SECONDS", 0.05)
    async with Processes(tmp_path) as processes:
        command = [sys.executable, "-c", f"{STUBBORN}{SAYS_ITS_PID}{SLEEPS}", str(pipe)]
        child = await processes.start("stubborn", command)
        await said(pipe)

    assert child.end == "was killed by SIGKILL"


async def test_a_process_that_failed_says_how(tmp_path: Path) -> None:
    async with Processes(tmp_path) as processes:
        child: Child = await processes.start(
            "failing", [sys.executable, "-c", "raise SystemExit('out of ink')"]
        )
        await child.process.wait()

    assert (child.alive, child.end, child.last_words()) == (
        False,
        "ended with code 1",
        "out of ink",
    )


async def test_a_process_gets_the_environment_of_all_or_one_of_its_own(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os; print(os.environ.get('MARK', 'none'))"]
    async with Processes(tmp_path, {"MARK": "all"}) as processes:
        for name, environment in {"one": None, "other": {"MARK": "own"}, "bare": {}}.items():
            child = await processes.start(name, command, environment)
            await child.process.wait()

    said = {
        name: (tmp_path / f"{name}.log").read_text().strip() for name in ("one", "other", "bare")
    }
    assert said == {"one": "all", "other": "own", "bare": "none"}


async def test_no_process_outlives_a_launcher_that_is_killed(tmp_path: Path, pipe: Path) -> None:
    child = [sys.executable, "-c", f"{SAYS_ITS_PID}{SLEEPS}", str(pipe)]
    launcher = (
        "import asyncio, pathlib\n"
        "from lavagna_crew.demo.processes import Processes\n"
        "async def main():\n"
        f"    async with Processes(pathlib.Path({str(tmp_path)!r})) as processes:\n"
        f"        child = await processes.start('one', {child!r})\n"
        "        await child.process.wait()\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", launcher)
    handle = os.pidfd_open(await said(pipe))

    process.send_signal(signal.SIGKILL)
    await process.wait()

    assert await ended(handle)
