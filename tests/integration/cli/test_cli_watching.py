"""watch and wait on a real server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import HANG_SECONDS, Shell, interrupted, line_of
from tests.servers import server_process


async def test_a_watch_prints_a_line_per_change_and_ends_cleanly_with_ctrl_c(shell: Shell) -> None:
    async with shell.started("watch", "plan/**") as watching:
        assert watching.stderr is not None
        announced = await watching.stderr.readline()
        await shell.ok("put", "other", "unseen")
        await shell.ok("put", "plan/goal", "hello\nworld")
        await shell.having(agent="bob").ok("put", "plan/goal", '{"done": true}', "--expect", "1")
        await shell.ok("rm", "plan/goal", "--expect", "2")
        lines = [await line_of(watching) for _ in range(3)]
        end = await interrupted(watching)

    assert b"Ctrl-C ends" in announced
    words = [line.split() for line in lines]
    assert [each[0] for each in words] == ["2", "3", "4"]
    assert words[0][2:] == ["ada", "plan/goal", "created", "v1", r"hello\nworld"]
    assert words[1][2:] == ["bob", "plan/goal", "updated", "v2", '{"done":', "true}"]
    assert words[2][2:] == ["ada", "plan/goal", "deleted", "v3"]
    assert end.code == ExitCode.INTERRUPTED
    assert "Traceback" not in end.err
    assert "Go on with --resume " in end.err


async def test_a_watch_resumes_where_its_token_left_off(shell: Shell) -> None:
    for number in range(4):
        await shell.ok("put", f"k/{number}", str(number))
    first = (await shell.ok("watch", "k/*", "--since", "0", "--count", "2", "-o", "json")).lines
    async with shell.started("watch", "k/*", "--since", "0") as watching:
        for _ in range(4):
            await line_of(watching)
        end = await interrupted(watching)
    token = end.err.rpartition("--resume ")[2].strip()
    await shell.ok("put", "k/4", "4")
    rest = await shell.ok("watch", "k/*", "--resume", token, "--count", "1", "-o", "json")

    assert [json.loads(line)["revision"] for line in first] == [1, 2]
    [commit] = [json.loads(line) for line in rest.lines]
    assert (commit["type"], commit["revision"], commit["author"]) == ("commit", 5, "ada")
    assert [(each["key"], each["value"]) for each in commit["entries"]] == [("k/4", 4)]
    other = await shell.run("watch", "elsewhere", "--resume", token, "--count", "1", "-o", "json")
    assert other.error["reason"] == "FILTER_MISMATCH"


async def test_a_watch_can_begin_with_the_state(shell: Shell) -> None:
    await shell.ok("put", "k/1", "one")
    await shell.ok("put", "k/2", "two")
    async with shell.started("watch", "k/*", "--state", "--count", "1", "-o", "json") as watching:
        state = json.loads(await line_of(watching))
        await shell.ok("put", "k/3", "three")
        commit = json.loads(await line_of(watching))
        code = await asyncio.wait_for(watching.wait(), HANG_SECONDS)

    assert (state["type"], state["revision"], state["synced"]) == ("state", 2, True)
    assert [each["key"] for each in state["entries"]] == ["k/1", "k/2"]
    assert (commit["type"], commit["revision"], code) == ("commit", 3, ExitCode.OK)


async def test_a_watch_misses_nothing_while_the_server_restarts(tmp_path: Path) -> None:
    async with server_process("--data-dir", tmp_path) as first:
        address = first.address
        shell = Shell().having(target=address, agent="ada")
        async with shell.started("watch", "--since", "0", "-o", "json") as watching:
            assert watching.stdin is not None
            await shell.ok("put", "k", "before")
            before = json.loads(await line_of(watching))
            await first.stop()
            async with server_process("--data-dir", tmp_path, "--listen", address):
                await shell.ok("put", "k", "after", "--expect", "1")
                after = json.loads(await line_of(watching))

    assert [each["entries"][0]["value"] for each in (before, after)] == ["before", "after"]
    assert [each["revision"] for each in (before, after)] == [1, 2]


async def test_wait_returns_at_once_for_what_holds_already(shell: Shell) -> None:
    await shell.ok("put", "status", "done")
    met = await shell.ok("wait", "entry.value == 'done'", "--on", "status", "-o", "text")

    assert met.text == "status\n"


async def test_wait_returns_when_a_gate_over_several_entries_fills(shell: Shell) -> None:
    condition = "board['tests'].passed && entry.value >= 2"
    await shell.ok("put", "counter", "1")
    words = ("wait", condition, "--on", "counter", "--reads", "tests", "-o", "json")
    async with shell.started(*words) as waiting:
        await shell.ok("put", "counter", "2", "--overwrite")
        await shell.ok("put", "tests", '{"passed": true}')
        met = json.loads(await line_of(waiting))
        code = await asyncio.wait_for(waiting.wait(), HANG_SECONDS)

    assert (met["key"], met["verdict"], code) == ("counter", "true", ExitCode.OK)


async def test_a_wait_in_vain_has_an_exit_code_of_its_own(shell: Shell) -> None:
    await shell.ok("put", "status", "open")
    plain = await shell.run("wait", "entry.value == 'done'", "--on", "status", "--timeout", "300ms")
    error = (await shell.run("wait", "false", "--timeout", "0", "-o", "json")).error

    assert (plain.code, plain.out) == (ExitCode.TIMED_OUT, b"")
    assert "did not hold within 300ms" in plain.err
    assert (error["family"], error["exit_code"]) == ("timed_out", ExitCode.TIMED_OUT)


async def test_a_condition_that_is_no_cel_is_invalid(shell: Shell) -> None:
    error = (await shell.run("wait", "entry.value ==", "--timeout", "5s", "-o", "json")).error

    assert error["family"] == "invalid"
    assert "when" in error["message"]


async def test_ctrl_c_ends_a_wait(shell: Shell) -> None:
    async with shell.started("wait", "false") as waiting, shell.started("watch") as ready:
        assert ready.stderr is not None
        await ready.stderr.readline()  # as long to start as the wait beside it
        end = await interrupted(waiting)

    assert end.code == ExitCode.INTERRUPTED
    assert "Traceback" not in end.err
