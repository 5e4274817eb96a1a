"""The page of the SDK: what it shows of the command line is what the command line prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.integration.cli.shell import Shell

PAGE = Path(__file__).parents[3] / "agents" / "README.md"


async def test_the_page_shows_what_the_command_line_prints(shell: Shell) -> None:
    (block,) = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    commands = block.removeprefix("$ ").split("\n$ ")
    assert len(commands) > 5

    for command in commands:
        line, _, shown = command.partition("\n")
        program, *words = shlex.split(line)
        printed = await shell.ok(*words)

        assert program == "lavagna"
        if shown:
            assert printed.text.strip() == shown.strip()
