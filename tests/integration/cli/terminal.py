"""A terminal for the tests: the real command with colours, a width, and a keyboard."""

from __future__ import annotations

import asyncio
import os
import pty
from pathlib import Path

from rich.text import Text

from tests.integration.cli.shell import PROGRAM, Shell, environment


class Terminal:
    """Runs one command on a terminal of its own."""

    def __init__(self, shell: Shell) -> None:
        self._environment = {**environment(shell.variables), "TERM": "xterm-256color"}

    async def run(self, *words: str | Path, typed: bytes = b"") -> tuple[int, str]:
        """The exit code and what the terminal showed; `typed` is in its keyboard's buffer."""
        ours, theirs = pty.openpty()
        try:
            process = await asyncio.create_subprocess_exec(
                PROGRAM, *words, stdin=theirs, stdout=theirs, stderr=theirs, env=self._environment
            )
            os.close(theirs)
            os.write(ours, typed)
            shown = await asyncio.to_thread(_all_of, ours)
            return await process.wait(), shown
        finally:
            os.close(ours)


def lines_shown(shown: str) -> list[str]:
    """What the terminal showed, line by line, without its colours."""
    return Text.from_ansi(shown.replace("\r", "")).plain.splitlines()


def _all_of(terminal: int) -> str:
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other end is closed
            return shown.decode()
        if not part:
            return shown.decode()
        shown += part
