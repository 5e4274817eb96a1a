"""The sandbox: what it says about programs of every kind, and that it leaves nothing behind."""

import asyncio
import os
import select
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from lavagna_crew.sandbox.suites import Limits, SuiteRun, run_suite

HEAD = """\
import os, subprocess, sys, time, unittest

class ATest(unittest.TestCase):
"""
SHORT = Limits(seconds=3.0)
SMALL = Limits(seconds=60.0, memory_bytes_max=256 * 1024 * 1024)


def suite(*bodies: str) -> dict[str, str]:
    """A test file whose tests are called test_0, test_1 and so on."""
    tests = [
        f"    def test_{number}(self):\n        {body}\n" for number, body in enumerate(bodies)
    ]
    return {"test_a.py": HEAD + "\n".join(tests)}


def alive(pid: int) -> bool:
    """Whether there is such a process, dead ones that nobody buried included."""
    return Path(f"/proc/{pid}").exists()


def exists(folder: Path) -> bool:
    """Whether a folder is there."""
    return folder.exists()


def parent(pid: int) -> int:
    """The process that started another."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def only_failure(run: SuiteRun) -> tuple[str, str]:
    """The one test that failed, and its text."""
    (failure,) = run.failures
    return failure.test, failure.text


async def test_a_program_that_passes_its_tests_is_ok() -> None:
    files = {"stack.py": "def push(stack, x):\n    return [*stack, x]\n"}
    tests = suite("from stack import push; self.assertEqual(push([1], 2), [1, 2])", "pass")

    run = await run_suite({**files, **tests})

    assert run.ok
    assert (run.passed, run.failures, run.timed_out) == (2, (), False)


async def test_a_failure_comes_with_its_traceback_and_without_the_folder_it_ran_in() -> None:
    run = await run_suite(suite("self.assertEqual('got', 'wanted')", "pass"))

    test, text = only_failure(run)
    assert not run.ok
    assert run.passed == 1
    assert test == "test_a.ATest.test_0"
    assert 'File "test_a.py", line 5, in test_0' in text
    assert "AssertionError: 'got' != 'wanted'" in text


async def test_each_failing_subtest_is_a_failure_of_its_own() -> None:
    body = "for n in range(4):\n            with self.subTest(n=n): self.assertLess(n, 2)"
    run = await run_suite(suite(body))

    tests = [failure.test for failure in run.failures]
    assert tests == ["test_a.ATest.test_0 (n=2)", "test_a.ATest.test_0 (n=3)"]
    assert run.passed == 0


async def test_a_skipped_test_is_none_that_passed() -> None:
    run = await run_suite(suite("self.skipTest('no need')"))

    assert (run.passed, run.skipped, run.ok) == (0, 1, False)


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, "there are none"),
        ({"test_a.py": "x = 1\n"}, "there are none"),
        ({"test_a.py": "def (\n"}, "SyntaxError"),
        ({"test_a.py": "import nonesuch\n"}, "No module named 'nonesuch'"),
        ({"test_a.py": "import pytest\n"}, "No module named 'pytest'"),
    ],
    ids=["no file", "no test", "no Python", "no such module", "not the standard library"],
)
async def test_what_cannot_be_tested_is_a_failure_that_says_why(
    files: dict[str, str], text: str
) -> None:
    run = await run_suite(files)

    assert not run.ok
    assert text in only_failure(run)[1]


async def test_an_endless_test_is_stopped_and_named_and_the_others_count() -> None:
    run = await run_suite(
        suite("pass", "print('here', flush=True)\n        while True: pass"), SHORT
    )

    test, text = only_failure(run)
    assert run.timed_out
    assert run.passed == 1
    assert test == "test_a.ATest.test_1"
    assert text == "it was stopped after 3 s\nhere"


async def test_a_test_that_wants_too_much_memory_runs_out_of_it() -> None:
    run = await run_suite(suite("bytearray(1 << 30)", "pass"), SMALL)

    assert run.out_of_memory
    assert run.passed == 1
    assert "MemoryError" in only_failure(run)[1]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("os._exit(3)", "it ended the interpreter with exit code 3"),
        ("os.kill(os.getpid(), 11)", "it was killed by SIGSEGV"),
        ("open('big', 'wb').write(bytes(1 << 25))", "File too large"),
        ("input('name? ')", "EOFError"),
    ],
    ids=["exits", "crashes", "fills the disk", "asks"],
)
async def test_a_test_that_misbehaves_is_a_failure_that_says_how(body: str, text: str) -> None:
    run = await run_suite(suite(body), SMALL)

    assert not run.ok
    assert text in only_failure(run)[1]


async def test_a_flood_of_output_is_cut(capfd: pytest.CaptureFixture[str]) -> None:
    run = await run_suite(
        suite("[print('x' * 1000) for _ in range(5000)]"), Limits(output_bytes_max=2000)
    )

    assert run.ok
    assert len(run.output) == 2000
    assert capfd.readouterr() == ("", "")


async def test_a_program_sees_none_of_the_users_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")

    run = await run_suite(suite("print(sorted(os.environ), sys.path[0] == os.getcwd())"))

    names = run.output.partition("]")[0]
    assert "OPENAI_API_KEY" not in names
    assert "PYTHONPATH" not in names
    assert run.output.endswith("True\n")


async def test_no_process_and_no_file_of_a_run_is_left() -> None:
    hidden = "subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=subprocess.DEVNULL)"
    orphan = (
        "(os.setsid(), os.fork() and os._exit(0), print(os.getpid(), flush=True), "
        "os.write(w, b'.'), time.sleep(600))"
    )
    run = await run_suite(
        suite(
            f"print({hidden}.pid, flush=True)",
            f"r, w = os.pipe(); os.fork() or {orphan}; os.read(r, 1)",
            "print(os.getcwd(), flush=True)",
        )
    )

    first, second, folder = run.output.split()
    assert run.passed == 3
    assert not alive(int(first))
    assert not alive(int(second))
    assert not exists(Path(folder))


@asynccontextmanager
async def endless(tmp_path: Path) -> AsyncGenerator[tuple[dict[str, str], Path], None]:
    """A test that says its process id through a pipe with a name, and then never ends."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    body = f"open({str(pipe)!r}, 'w').write(f'{{os.getpid()}} {{os.getcwd()}}')"
    yield suite(f"{body}\n        while True: pass"), pipe


async def said_through(pipe: Path) -> tuple[int, Path]:
    """The process that an endless test runs in, and its folder."""
    pid, folder = (await asyncio.to_thread(pipe.read_text)).split()
    return int(pid), Path(folder)


async def test_a_run_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    async with endless(tmp_path) as (files, pipe):
        run = asyncio.create_task(run_suite(files, Limits(seconds=600)))
        pid, folder = await said_through(pipe)
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run

    assert run.cancelled()
    assert not alive(pid)
    assert not exists(folder)


async def test_a_run_whose_tester_is_killed_leaves_nothing(tmp_path: Path) -> None:
    async with endless(tmp_path) as (files, pipe):
        program = (
            "import asyncio; from lavagna_crew.sandbox.suites import *; "
            f"asyncio.run(run_suite({files!r}, Limits(seconds=600)))"
        )
        tester = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
        pid, folder = await said_through(pipe)
        handle = os.pidfd_open(parent(pid))
        tester.send_signal(signal.SIGKILL)
        await tester.wait()
        await asyncio.to_thread(select.select, [handle], [], [], 60)
        os.close(handle)

    assert not alive(pid)
    assert not exists(folder)
