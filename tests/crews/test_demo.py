"""The demonstration from end to end: real processes, a real server, scripted thoughts."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from lavagna import Kind
from lavagna_crew.demo.launch import ACCEPTED, MISUSED, NOT_ACCEPTED, held
from lavagna_crew.models.scripted import Script, scripts
from lavagna_crew.place import Place
from tests.crews.stages import (
    SCRIPTED,
    Transcript,
    assert_nothing_was_done_twice,
    board_on,
    children,
    demonstration,
    launch,
    server_on,
    versions,
)

pytestmark = pytest.mark.slow


async def unittest_in(folder: Path) -> tuple[int, str]:
    """What a person gets who runs the tests of what was built."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "unittest"), cwd=folder, stdout=PIPE, stderr=PIPE
    )
    _, err = await process.communicate()
    return process.returncode or 0, err.decode()


async def test_the_demonstration_builds_a_tested_program(tmp_path: Path) -> None:
    before = children()
    async with demonstration(launch(tmp_path)) as demo:
        assert await demo.end() == ACCEPTED

    lines = demo.transcript.lines
    assert lines[0].startswith("A scripted model plays recorded replies")
    assert any("cache, attempt 1: 9 passed, 2 FAILED" in line for line in lines)
    assert any("cache, attempt 2: 11 passed" in line for line in lines)
    assert any("the design is ACCEPTED: 3 of 4 accept" in line for line in lines)
    for said in (
        "Accepted: ",
        "Built:  LRU cache",
        "Vote:   design 1   + cto",
        "Effort: ",
        "Tests:  25 passed, 0 failed",
        "Board:  ",
    ):
        assert any(line.startswith(said) for line in lines), said
    code, output = await unittest_in(tmp_path / "out")
    assert (code, "Ran 25 tests" in output) == (0, True)
    assert children() == before


@pytest.mark.parametrize("script", scripts(), ids=lambda script: script.name)
async def test_every_scripted_task_is_accepted_and_nothing_is_done_twice(
    script: Script, tmp_path: Path
) -> None:
    async with server_on(tmp_path / "data") as server:
        asked = launch(tmp_path, script.task, target=server.target, board="ours")
        async with demonstration(asked) as demo:
            assert await demo.end() == ACCEPTED
        async with board_on(server, "ours") as board:
            await assert_nothing_was_done_twice(board)
            results = await versions(board, "results/*")
            report = await board.get("report")
            usage = [entry.value async for entry in board.entries("usage/**")]

    assert any(not written[0].value["ok"] for written in results.values())
    assert all(written[-1].value["ok"] for written in results.values())
    assert report.value["failed"] == 0
    turns = [one["turn"] for one in usage]
    assert len(turns) == len(set(turns))
    # A vote that would come too late is not thought about.
    assert all("/vote-" in turn for turn in set(script.replies) - set(turns))


async def test_dissent_is_told_when_it_is_outvoted_and_when_it_wins(tmp_path: Path) -> None:
    told = dict[str, list[str]]()
    async with server_on(tmp_path / "data") as server:
        # Whether a dissent comes in time depends on the pace; that two of four keep a design from being accepted does not.
        for name, pace in (("roman", 1.0), ("csv-report", 0.0)):
            asked = launch(tmp_path, name, pace=pace, target=server.target, board=name)
            async with demonstration(asked) as demo:
                assert await demo.end() == ACCEPTED
            told[name] = demo.transcript.lines
        async with board_on(server, "roman") as board:
            estimate = await board.explain("estimate")
            goal = await board.put("goal", {"title": "Something else"})
            accepted = await board.get("goal")

    summary = [line for line in told["roman"] if line.startswith(("Vote:", "        against it"))]
    assert len(summary) == 2
    assert "- tester" in summary[0]
    assert "tester: The brief says that each number has one numeral" in summary[1]
    assert any("tester 4 (weighs 0.5)" in line for line in told["roman"])
    assert {one.agent for one in estimate.contributions} >= {"cto", "programmer-1", "tester"}
    votes = [line for line in told["csv-report"] if line.startswith("Vote:")]
    # Two noes reject it, or tie with two ayes that came between them.
    assert ["accepted" in vote for vote in votes] == [False, True]
    assert (goal.kind, accepted.author) == (Kind.PROPOSAL, "ceo")


async def test_a_program_is_laid_over_an_earlier_one_and_over_nothing_else(tmp_path: Path) -> None:
    async with server_on(tmp_path / "data") as server:
        for name in ("roman", "csv-report"):
            async with demonstration(launch(tmp_path, name, target=server.target)) as demo:
                assert await demo.end() == ACCEPTED

    built = {path.name for path in (tmp_path / "out").glob("*.py")}
    assert "report.py" in built
    assert "roman.py" not in built


async def test_what_the_environment_says_of_other_servers_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = {
        "LAVAGNA_TARGET": "board.example:1",
        "LAVAGNA_TOKEN": "a-token-for-board.example",
        "LAVAGNA_TLS_CA": "/nowhere/ca.pem",
        "LAVAGNA_CLIENT_CERT": "/nowhere/client.pem",
        "LAVAGNA_LISTEN": "board.example:1",
        "LAVAGNA_TOKENS": "true",
    }
    for name, value in elsewhere.items():
        monkeypatch.setenv(name, value)

    asked = launch(tmp_path, "roman", environment={**SCRIPTED, **elsewhere})
    async with demonstration(asked) as demo:
        assert await demo.end() == ACCEPTED


async def test_where_names_are_not_trusted_each_member_gets_a_token_of_its_own(
    tmp_path: Path,
) -> None:
    async with server_on(tmp_path / "data", tokens=True) as server:
        token = (server.data_dir / "admin.token").read_text().strip()
        asked = launch(tmp_path, "roman", target=server.target, board="ours", token=token)
        async with demonstration(asked) as demo:
            assert await demo.end() == ACCEPTED
        place = Place(server.target, "ours", token)
        async with place.open("onlooker") as board:
            members = {one.id: one.teams async for one in board.agents.list()}
            goal, code = await board.get("goal"), await board.get("code/numerals/roman.py")

    team = ("programmers",)
    assert {name: members[name] for name in ("ceo", "programmer-1", "programmer-2")} == {
        "ceo": (),
        "programmer-1": team,
        "programmer-2": team,
    }
    assert goal.author == "ceo"
    assert code.author in {"programmer-1", "programmer-2"}


async def test_a_board_of_that_name_is_left_alone(tmp_path: Path) -> None:
    async with server_on(tmp_path / "data") as server:
        asked = launch(tmp_path, target=server.target, board="main")
        async with demonstration(asked) as demo:
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
