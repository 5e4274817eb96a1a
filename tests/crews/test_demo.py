"""The demonstration from end to end: real processes, a real server, scripted thoughts."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from lavagna import ActivationState, Board
from lavagna_crew.demo.launch import ACCEPTED, INTERRUPTED, MISUSED, NOT_ACCEPTED, Launch, held
from lavagna_crew.models.scripted import Script, scripts
from tests.crews.stages import (
    Demonstration,
    Transcript,
    board_on,
    children,
    ended,
    is_alive,
    server_on,
    versions,
)

SCRIPTED = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
"""An environment that names no model."""

pytestmark = pytest.mark.slow


def launch(tmp_path: Path, task: str = "lru-cache", **more: object) -> Launch:
    """A demonstration that plays at once and builds into the test's folder."""
    options: dict[str, object] = {"pace": 0.0, "environment": SCRIPTED, **more}
    return Launch(out=tmp_path / "out", task=task, **options)  # type: ignore[arg-type]


async def assert_nothing_was_done_twice(board: Board) -> None:
    """Each attempt, edition, result and verdict was written by an activation of its own, once."""
    numbers = {"submissions/*": "attempt", "suites/*": "edition"}
    for pattern, number in numbers.items():
        for key, written in (await versions(board, pattern)).items():
            assert [one.value[number] for one in written] == list(range(1, len(written) + 1)), key
    causes = [
        (entry.key, entry.cause.activation_id)
        for written in (await versions(board, "**")).values()
        for entry in written
        if entry.cause is not None
    ]
    assert len(causes) == len(set(causes))
    states = {one.state async for one in board.activations.list()}
    assert states <= {ActivationState.COMPLETED, ActivationState.OBVIATED}


async def unittest_in(folder: Path) -> tuple[int, str]:
    """What a person gets who runs the tests of what was built."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "unittest"), cwd=folder, stdout=PIPE, stderr=PIPE
    )
    _, err = await process.communicate()
    return process.returncode or 0, err.decode()


async def test_the_demonstration_builds_a_tested_program(tmp_path: Path) -> None:
    before = children()
    demo = Demonstration(launch(tmp_path))

    assert await demo.end() == ACCEPTED
    lines = demo.transcript.lines
    assert lines[0].startswith("A scripted model plays recorded replies")
    assert any("cache, attempt 1: 9 passed, 2 FAILED" in line for line in lines)
    assert any("cache, attempt 2: 11 passed" in line for line in lines)
    for said in ("Accepted: ", "Built:  LRU cache", "Tests:  25 passed, 0 failed", "Board:  "):
        assert any(line.startswith(said) for line in lines), said
    code, output = await unittest_in(tmp_path / "out")
    assert (code, "Ran 25 tests" in output) == (0, True)
    assert children() == before


@pytest.mark.parametrize("script", scripts(), ids=lambda script: script.name)
async def test_every_scripted_task_is_accepted_and_nothing_is_done_twice(
    script: Script, tmp_path: Path
) -> None:
    async with server_on(tmp_path / "data") as server:
        demo = Demonstration(launch(tmp_path, script.task, target=server.target, board="ours"))
        assert await demo.end() == ACCEPTED
        async with board_on(server, "ours") as board:
            await assert_nothing_was_done_twice(board)
            results = await versions(board, "results/*")
            report = await board.get("report")
            usage = [entry.value async for entry in board.entries("usage/**")]

    assert any(not written[0].value["ok"] for written in results.values())
    assert all(written[-1].value["ok"] for written in results.values())
    assert report.value["failed"] == 0
    assert {one["turn"] for one in usage} == set(script.replies)
    assert len(usage) == len(script.replies)


async def test_a_program_is_laid_over_an_earlier_one_and_over_nothing_else(tmp_path: Path) -> None:
    async with server_on(tmp_path / "data") as server:
        for name in ("roman", "csv-report"):
            demo = Demonstration(launch(tmp_path, name, target=server.target))
            assert await demo.end() == ACCEPTED

    built = {path.name for path in (tmp_path / "out").glob("*.py")}
    assert "report.py" in built
    assert "roman.py" not in built


async def test_a_board_of_that_name_is_left_alone(tmp_path: Path) -> None:
    async with server_on(tmp_path / "data") as server:
        demo = Demonstration(launch(tmp_path, target=server.target, board="main"))
        assert await demo.end() == NOT_ACCEPTED
        async with board_on(server, "main") as board:
            assert [entry async for entry in board.entries()] == []

    assert "there is a board 'main' already" in demo.transcript.getvalue()


async def test_a_task_without_script_and_model_is_an_error_that_lists_the_scripts(
    tmp_path: Path,
) -> None:
    transcript = Transcript()

    code = await held(launch(tmp_path, "prove Fermat"), transcript.console)

    assert code == MISUSED
    for name in ("lru-cache", "calculator", "csv-report", "OPENAI_API_KEY", "LAVAGNA_MODEL"):
        assert name in transcript.getvalue()


async def test_a_folder_with_files_of_somebodys_is_not_touched(tmp_path: Path) -> None:
    mine = tmp_path / "out" / "mine.py"
    mine.parent.mkdir()
    mine.write_text("precious\n")
    transcript = Transcript()

    code = await held(launch(tmp_path), transcript.console)

    assert code == MISUSED
    assert "is not empty" in transcript.getvalue()
    assert mine.read_text() == "precious\n"


@pytest.mark.faults
@pytest.mark.guarantee("A1")
@pytest.mark.guarantee("W5")
async def test_a_crew_whose_server_is_killed_goes_on_when_it_is_back_on_its_data(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    demo = Demonstration(launch(tmp_path, pace=1.0, data_dir=data, board="ours"))
    server = await demo.transcript.server_process()
    for moment in ("… writes cache", "hands in cache, attempt 1", "… repairs cache"):
        await demo.transcript.match(moment)
        os.kill(server, signal.SIGKILL)
        line = await demo.transcript.match(rf"starts the server again, process (?!{server}\b)(\d+)")
        server = int(line[1])

    assert await demo.end() == ACCEPTED
    async with server_on(data) as again, board_on(again, "ours") as board:
        await assert_nothing_was_done_twice(board)


@pytest.mark.faults
@pytest.mark.guarantee("A3")
@pytest.mark.guarantee("A4")
async def test_the_work_of_a_programmer_that_is_killed_is_done_by_the_other_and_only_once(
    tmp_path: Path,
) -> None:
    async with server_on(tmp_path / "data") as server:
        demo = Demonstration(launch(tmp_path, pace=1.0, target=server.target, board="ours"))
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


@pytest.mark.faults
async def test_a_crew_without_anyone_for_the_work_is_given_up_with_the_reason(
    tmp_path: Path,
) -> None:
    before = children()
    demo = Demonstration(launch(tmp_path, pace=1.0))
    await demo.transcript.match("… writes the tests of cache")
    os.kill(await demo.transcript.process_of("tester"), signal.SIGKILL)

    assert await demo.end() == NOT_ACCEPTED
    assert (
        "tester was killed by SIGKILL, and nobody can take its place" in demo.transcript.getvalue()
    )
    assert children() == before


async def started(tmp_path: Path) -> tuple[asyncio.subprocess.Process, list[int]]:
    """A demonstration in a process of its own that has come as far as work, and its processes."""
    program = (
        "import os, sys; from pathlib import Path; from lavagna_crew.demo import Launch, run; "
        f"sys.exit(run(Launch(out=Path({str(tmp_path / 'out')!r}), task='lru-cache')))"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", "-c", program), stdout=PIPE, env=SCRIPTED
    )
    assert process.stdout is not None
    text = ""
    while "… writes cache" not in text:
        text += (await process.stdout.readline()).decode()
    words = text.split()
    pids = [words[at + 1].rstrip(",") for at, word in enumerate(words) if word == "process"]
    return process, [int(pid) for pid in pids]


@pytest.mark.faults
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


@pytest.mark.faults
async def test_a_demonstration_that_is_killed_takes_all_of_its_processes_along(
    tmp_path: Path,
) -> None:
    process, pids = await started(tmp_path)
    handles = [os.pidfd_open(pid) for pid in pids]

    process.send_signal(signal.SIGKILL)
    await process.wait()

    assert [await ended(handle) for handle in handles] == [True] * 6
