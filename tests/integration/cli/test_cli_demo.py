"""demo: the crew, started from the command line."""

from __future__ import annotations

from pathlib import Path

from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import Shell


async def test_the_demonstration_builds_a_program_and_says_how_it_thinks(tmp_path: Path) -> None:
    out = tmp_path / "program"
    shown = await Shell().ok("demo", "--out", out, "--pace", "0", "--data-dir", tmp_path / "data")
    programs = sorted(path.suffix for path in out.iterdir())

    assert "scripted model" in shown.lines[0]
    assert ".py" in programs


async def test_a_task_that_nobody_can_play_is_a_usage_error(tmp_path: Path) -> None:
    words = ("--task", "a cathedral of cheese", "--out", tmp_path / "program")
    outcome = await Shell().run("demo", *words)

    assert outcome.code == ExitCode.USAGE
    assert "OPENAI_API_KEY" in (outcome.text + outcome.err)
