"""Processes that the launcher starts, and that all end with it."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from lavagna_crew import tether

GRACE_SECONDS = 4.0
"""How long a process may take to end when it is asked to."""

LAST_WORDS_CHARACTERS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Child:
    """A process, and what it wrote."""

    name: str
    process: Process
    log: Path

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.returncode is None

    @property
    def was_killed(self) -> bool:
        """Whether a signal ended it."""
        return (self.process.returncode or 0) < 0

    @property
    def end(self) -> str:
        """How it ended."""
        code = self.process.returncode
        if code is None:
            return "runs"
        return f"was killed by {Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def let_go(self) -> None:
        """Tells a process that waits to go on."""
        if self.process.stdin is not None and self.alive:
            self.process.stdin.write(b"go\n")

    def last_words(self) -> str:
        """The end of what it wrote."""
        return self.log.read_text(errors="replace").strip()[-LAST_WORDS_CHARACTERS_MAX:]


class Processes:
    """Everything that was started, for as long as the `async with` block lasts."""

    def __init__(self, logs: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._logs = logs
        self.environment = environment
        """What a process gets that is given nothing else."""
        self._children: list[Child] = []

    async def start(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        waits: bool = False,
    ) -> Child:
        """Starts a command in a session of its own, so that a Ctrl-C reaches the launcher alone.

        It gets this environment, or else that of all. One that `waits` reads its standard input, and is let go by a line on it.
        """
        log = self._logs / f"{name}.log"
        tied = [sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), *command]
        with log.open("ab") as sink:
            process = await asyncio.create_subprocess_exec(
                *tied,
                stdin=PIPE if waits else DEVNULL,
                stdout=sink,
                stderr=sink,
                env=self.environment if environment is None else environment,
                start_new_session=True,
            )
        child = Child(name, process, log)
        self._children.append(child)
        return child

    async def end(self, children: Sequence[Child]) -> None:
        """Asks processes to end, and kills those that do not."""
        for child in children:
            if child.alive:
                child.process.terminate()
        waits = [asyncio.create_task(child.process.wait()) for child in children]
        if waits:
            _, late = await asyncio.wait(waits, timeout=GRACE_SECONDS)
            for child in children:
                if child.alive and late:
                    child.process.kill()
            await asyncio.gather(*waits)

    async def __aenter__(self) -> "Processes":
        """Begins with none."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends them all, the last one started first to be asked."""
        await self.end(self._children[::-1])
