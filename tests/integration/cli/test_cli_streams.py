"""Standard streams that are closed, and readers who leave: no command fails of them."""

from __future__ import annotations

import asyncio
import shlex
from asyncio.subprocess import PIPE

import pytest

from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import HANG_SECONDS, PROGRAM, Shell, environment


async def typed_in_a_shell(shell: Shell, line: str) -> tuple[int, str]:
    """The exit code of `lavagna` at the beginning of a line of sh, and what came to standard error."""
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", f"{shlex.quote(str(PROGRAM))} {line}; exit ${{PIPESTATUS[0]}}"),
        stdout=PIPE,
        stderr=PIPE,
        env=environment(shell.variables),
    )
    _, err = await asyncio.wait_for(process.communicate(), HANG_SECONDS)
    assert process.returncode is not None
    return process.returncode, err.decode()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ls >&-", ExitCode.OK),
        ("ls 2>&-", ExitCode.OK),
        ("ls -o json <&- >&- 2>&-", ExitCode.OK),
        ("get k >&-", ExitCode.OK),
        ("get nosuch 2>&-", ExitCode.NOT_FOUND),
        ("get nosuch -o json >&- 2>&-", ExitCode.NOT_FOUND),
        ("nonsense >&- 2>&-", ExitCode.USAGE),
        ("--help >&-", ExitCode.OK),
        ("export >&-", ExitCode.OK),
    ],
)
async def test_a_closed_stream_leads_nowhere_and_changes_no_exit_code(
    shell: Shell, line: str, code: ExitCode
) -> None:
    await shell.ok("put", "k", "v")

    assert await typed_in_a_shell(shell, line) == (code, "")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--help | true", ExitCode.OK),
        ("--version | true", ExitCode.OK),
        ("get --help | true", ExitCode.OK),
        ("ls | true", ExitCode.OK),
        ("ls -o json | true", ExitCode.OK),
        ("export - | true", ExitCode.OK),
        ("watch --since 0 -o json | head -c 1", ExitCode.OK),
        ("get nosuch 2>&1 | true", ExitCode.NOT_FOUND),
    ],
)
async def test_a_reader_who_leaves_ends_the_command_quietly(
    shell: Shell, line: str, code: ExitCode
) -> None:
    for number in range(3):
        await shell.ok("put", f"k/{number}", "v" * 100_000)

    assert await typed_in_a_shell(shell, line) == (code, "")
