"""A shell in which the tests type: the real command `lavagna`, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HANG_SECONDS = 120
PROGRAM = Path(sys.executable).with_name("lavagna")


@dataclass(frozen=True)
class Outcome:
    """What a command came to."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """What it printed."""
        return self.out.decode()

    @property
    def lines(self) -> list[str]:
        """The lines that it printed."""
        return self.text.splitlines()

    @property
    def json(self) -> Any:
        """The one JSON document that it printed."""
        assert self.out.count(b"\n") == 1, self
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error that it told as JSON."""
        assert self.out == b"", self
        return json.loads(self.err)["error"]


@dataclass
class Shell:
    """Runs commands with the same environment."""

    variables: dict[str, str] = field(default_factory=dict[str, str])

    def having(self, **variables: str) -> Shell:
        """A shell with further variables, such as `agent` for LAVAGNA_AGENT."""
        named = {f"LAVAGNA_{name.upper()}": value for name, value in variables.items()}
        return Shell({**self.variables, **named})

    async def run(self, *words: str | Path, typed: bytes = b"") -> Outcome:
        """Runs one command to its end, with `typed` as its standard input."""
        async with self.started(*words) as process:
            out, err = await asyncio.wait_for(process.communicate(typed), HANG_SECONDS)
            assert process.returncode is not None
            return Outcome(process.returncode, out, err.decode())

    async def ok(self, *words: str | Path, typed: bytes = b"") -> Outcome:
        """The same for a command that must succeed."""
        outcome = await self.run(*words, typed=typed)
        assert outcome.code == 0, outcome
        return outcome

    async def read(self, *words: str | Path) -> Any:
        """The JSON document that a command that must succeed prints."""
        return (await self.ok(*words, "-o", "json")).json

    @asynccontextmanager
    async def started(self, *words: str | Path, stdout: int = PIPE) -> AsyncGenerator[Process]:
        """A command that runs; killed at the end if it still does."""
        inherited = environment(self.variables)
        process = await asyncio.create_subprocess_exec(
            PROGRAM, *words, stdin=PIPE, stdout=stdout, stderr=PIPE, env=inherited
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without anything that bends the command, and with `variables`."""
    bends = ("LAVAGNA_", "OPENAI_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(bends)}
    return {**kept, **variables}


async def line_of(process: Process) -> str:
    """The next line that a running command prints."""
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), HANG_SECONDS)).decode()


async def interrupted(process: Process) -> Outcome:
    """What a running command comes to when Ctrl-C is pressed."""
    process.send_signal(signal.SIGINT)
    out, err = await asyncio.wait_for(process.communicate(), HANG_SECONDS)
    assert process.returncode is not None
    return Outcome(process.returncode, out, err.decode())
