"""The demonstration under attack: whatever is killed, nothing is lost, doubled or left behind."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from lavagna import Outcome
from lavagna_crew.demo.launch import ACCEPTED, INTERRUPTED, NOT_ACCEPTED
from tests.crews.stages import (
    SCRIPTED,
    assert_nothing_was_done_twice,
    board_on,
    children,
    demonstration,
    ended,
    is_alive,
    launch,
    server_on,
    versions,
)

pytestmark = [pytest.mark.slow, pytest.mark.faults]


@pytest.mark.guarantee("A1")
@pytest.mark.guarantee("W5")
async def test_a_crew_whose_server_is_killed_goes_on_when_it_is_back_on_its_data(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    async with demonstration(launch(tmp_path, pace=1.0, data_dir=data, board="ours")) as demo:
        server = await demo.transcript.server_process()
        for moment in ("… weighs the design", "… writes cache", "… repairs cache"):
            await demo.transcript.match(moment)
            os.kill(server, signal.SIGKILL)
            again = rf"starts the server again, process (?!{server}\b)(\d+)"
            server = int((await demo.transcript.match(again))[1])
        assert await demo.end() == ACCEPTED

    async with server_on(data) as later, board_on(later, "ours") as board:
        await assert_nothing_was_done_twice(board)


@pytest.mark.guarantee("A3")
@pytest.mark.guarantee("A4")
async def test_the_work_of_a_programmer_that_is_killed_is_done_by_the_other_and_only_once(
    tmp_path: Path,
) -> None:
    async with server_on(tmp_path / "data") as server:
        asked = launch(tmp_path, pace=1.0, target=server.target, board="ours")
        async with demonstration(asked) as demo:
            victim = (await demo.transcript.match(r" (programmer-\d) +… repairs cache"))[1]
            os.kill(await demo.transcript.process_of(victim), signal.SIGKILL)
            assert await demo.end() == ACCEPTED
        async with board_on(server, "ours") as board:
            await assert_nothing_was_done_twice(board)
            repairs = [one async for one in board.activations.list(trigger_id="programmers.repair")]
            second = (await versions(board, "submissions/cache"))["submissions/cache"][1]

    survivor = {"programmer-1": "programmer-2", "programmer-2": "programmer-1"}[victim]
    assert [(one.holder, one.fence) for one in repairs] == [(survivor, 2)]
    assert second.author == survivor


@pytest.mark.guarantee("C1")
@pytest.mark.parametrize("victim", ["cto", "programmer-2", "tester"])
async def test_a_crew_of_which_one_is_killed_between_proposal_and_decision_decides_and_goes_on(
    tmp_path: Path, victim: str
) -> None:
    async with server_on(tmp_path / "data") as server:
        asked = launch(tmp_path, pace=1.0, target=server.target, board="ours")
        async with demonstration(asked) as demo:
            await demo.transcript.match(r" cto +proposes design 1")
            os.kill(await demo.transcript.process_of(victim), signal.SIGKILL)
            await demo.transcript.match(rf" {victim} +was killed by SIGKILL")
            assert await demo.end() == ACCEPTED
        async with board_on(server, "ours") as board:
            await assert_nothing_was_done_twice(board)
            (proposal,) = [one async for one in board.proposals.list("design")]
            design = await board.get("design")
            tasks = await versions(board, "tasks/*")

    assert (proposal.outcome, proposal.author) == (Outcome.ACCEPTED, "cto")
    assert design.revision == proposal.decided_revision
    assert [len(written) for written in tasks.values()] == [1, 1, 1]
    assert min(written[0].revision for written in tasks.values()) > design.revision


async def test_a_crew_without_anyone_for_the_work_is_given_up_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lavagna_crew.demo.crew.RESTARTS_MAX", 0)
    before = children()
    async with demonstration(launch(tmp_path, pace=1.0)) as demo:
        await demo.transcript.match("… writes the tests of cache")
        os.kill(await demo.transcript.process_of("tester"), signal.SIGKILL)
        assert await demo.end() == NOT_ACCEPTED

    said = demo.transcript.getvalue()
    assert "tester was killed by SIGKILL, and nobody can take its place" in said
    assert children() == before


async def started(tmp_path: Path) -> tuple[asyncio.subprocess.Process, list[int]]:
    """A demonstration in a process of its own that has come as far as work, and its processes."""
    program = (
        "import os, sys; from pathlib import Path; from lavagna_crew.demo import run; "
        f"sys.exit(run('lru-cache', Path({str(tmp_path / 'out')!r})))"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", "-c", program),
        stdout=PIPE,
        env={**SCRIPTED, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    text = ""
    while "… writes cache" not in text:
        line = (await process.stdout.readline()).decode()
        assert line, text
        text += line
    words = text.split()
    pids = [words[at + 1].rstrip(",") for at, word in enumerate(words) if word == "process"]
    return process, [int(pid) for pid in pids]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminated"])
async def test_a_demonstration_that_is_interrupted_ends_all_of_its_processes(
    tmp_path: Path, number: signal.Signals
) -> None:
    process, pids = await started(tmp_path)

    process.send_signal(number)
    output, _ = await process.communicate()

    assert process.returncode == INTERRUPTED
    assert "every process of the demonstration has ended" in output.decode()
    assert len(pids) == 6
    assert [pid for pid in pids if is_alive(pid)] == []


async def test_a_demonstration_that_is_killed_takes_all_of_its_processes_along(
    tmp_path: Path,
) -> None:
    process, pids = await started(tmp_path)
    handles = [os.pidfd_open(pid) for pid in pids]

    process.send_signal(signal.SIGKILL)
    await process.wait()

    assert [await ended(handle) for handle in handles] == [True] * 6
