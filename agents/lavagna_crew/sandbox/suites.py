"""Suites: one run of a program's tests, and what came of it."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from signal import Signals
from typing import Any

WARDEN = Path(__file__).with_name("warden.py")

GRACE_SECONDS = 15.0
"""What the warden gets on top of the run's time, to start and to clean up."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use."""

    seconds: float = 10.0
    memory_bytes_max: int = 512 * 1024 * 1024
    file_bytes_max: int = 16 * 1024 * 1024
    output_bytes_max: int = 16 * 1024


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that did not pass."""

    test: str
    """Its name, as `test_stack.PopTest.test_an_empty_stack_says_so`."""
    text: str
    """The end of its traceback, or what else went wrong."""


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """What became of the tests."""

    passed: int
    failures: tuple[Failure, ...]
    skipped: int
    timed_out: bool
    out_of_memory: bool
    seconds: float
    output: str
    """What the tests printed, as far as the limit on it allows."""

    @property
    def ok(self) -> bool:
        """Whether there were tests, and none of them failed."""
        return self.passed > 0 and not self.failures


class SandboxBroken(Exception):
    """The sandbox itself failed; it says nothing about the program."""


async def run_suite(files: Mapping[str, str], limits: Limits | None = None) -> SuiteRun:
    """Runs the tests (`test_*.py`) among these files, in a fresh folder that is gone afterwards.

    Raises:
        SandboxBroken: The run could not be made.
    """
    limits = limits or Limits()
    order = json.dumps({"files": dict(files), "limits": asdict(limits)})
    warden = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-B", str(WARDEN)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(limits.seconds + GRACE_SECONDS):
            account, complaint = await warden.communicate(order.encode())
    except TimeoutError:
        raise SandboxBroken("the warden did not come back") from None
    finally:
        await _dismiss(warden)
    if warden.returncode != 0:
        raise SandboxBroken(complaint.decode(errors="replace")[-2_000:])
    return _judged(json.loads(account), limits)


async def _dismiss(warden: Process) -> None:
    """Has the warden clean up, when it has not come to its end by itself."""
    if warden.returncode is None:
        warden.terminate()
        await warden.wait()


def _judged(account: Mapping[str, Any], limits: Limits) -> SuiteRun:
    records: list[dict[str, Any]] = [json.loads(line) for line in _whole(account["records"])]
    outcomes = [record["outcome"] for record in records]
    failures = [Failure(one["test"], one["text"]) for one in records if one["outcome"] == "failed"]
    timed_out: bool = account["timed_out"]
    killed = account["exit_code"] == -Signals.SIGKILL
    out_of_memory = any(one.get("memory") for one in records) or killed
    if "finished" not in outcomes:
        failures.append(Failure(_unfinished(records), _why(account, limits)))
    elif not failures and "passed" not in outcomes:
        failures.append(Failure("the tests", "there are none: no file test_*.py holds a test"))
    return SuiteRun(
        passed=outcomes.count("passed"),
        failures=tuple(failures),
        skipped=outcomes.count("skipped"),
        timed_out=timed_out,
        out_of_memory=out_of_memory and not timed_out,
        seconds=account["seconds"],
        output=account["output"],
    )


def _whole(lines: Iterable[str]) -> Iterable[str]:
    """The records that were written to their end; a killed examiner may leave half of one."""
    return (line for line in lines if line.startswith("{") and line.endswith("}"))


def _unfinished(records: Iterable[Mapping[str, Any]]) -> str:
    """The test that was running at the end."""
    running = "the tests"
    for record in records:
        running = record["test"] if record["outcome"] == "started" else running
    return running


def _why(account: Mapping[str, Any], limits: Limits) -> str:
    code: int | None = account["exit_code"]
    if account["timed_out"]:
        why = f"it was stopped after {limits.seconds:g} s"
    elif code is not None and code < 0:
        why = f"it was killed by {Signals(-code).name}"
    else:
        why = f"it ended the interpreter with exit code {code}"
    printed: str = account["output"].strip()
    return f"{why}\n{printed[-2_000:]}".strip()
