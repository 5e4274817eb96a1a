"""A server that is not there, not yet there, or says nothing."""

from __future__ import annotations

import asyncio
import shlex
import socket
from asyncio.subprocess import PIPE

from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import PROGRAM, Shell, environment
from tests.servers import server_process


def free_address() -> str:
    """Where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


async def test_where_no_server_is_the_command_says_how_to_start_or_await_one() -> None:
    target = free_address()
    told = await Shell().run("get", "k", "--target", target)
    waited = await Shell().run("get", "k", "--target", target, "--wait", "300ms", "-o", "json")

    assert told.code == waited.code == ExitCode.UNAVAILABLE
    assert told.err.startswith(f"error: {target} cannot be reached")
    assert "Start a server with `lavagna serve`, wait for one with --wait 30s" in told.err
    assert waited.error["family"] == "unavailable"
    assert waited.error["hint"].startswith("Start a server with `lavagna serve`")


async def test_whoever_listens_and_says_nothing_is_no_server() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        target = f"127.0.0.1:{silent.getsockname()[1]}"
        told = await Shell().run("put", "k", "v", "--target", target)

    assert told.code == ExitCode.UNAVAILABLE
    assert target in told.err
    assert "wait for one with --wait" in told.err


async def test_a_server_that_comes_later_can_be_waited_for() -> None:
    target = free_address()
    shell = Shell().having(target=target, agent="ada")
    waiting = asyncio.ensure_future(shell.run("put", "k", "v", "--wait", "60s"))
    async with server_process("--in-memory", "--listen", target):
        put = await waiting

    assert put.code == ExitCode.OK
    assert put.text.startswith("k is at version 1")


async def test_a_server_runs_with_its_standard_streams_closed() -> None:
    target = free_address()
    line = f"exec {shlex.quote(str(PROGRAM))} serve --in-memory --listen {target} <&- >&- 2>&-"
    server = await asyncio.create_subprocess_exec(
        "bash", "-c", line, stdout=PIPE, stderr=PIPE, env=environment({})
    )
    try:
        shell = Shell().having(target=target, agent="ada")
        await shell.ok("put", "k", "v", "--wait", "60s")
        assert (await shell.ok("get", "k")).text == "v"
        server.terminate()
        assert await server.wait() == 0
    finally:
        if server.returncode is None:
            server.kill()
        await server.communicate()
