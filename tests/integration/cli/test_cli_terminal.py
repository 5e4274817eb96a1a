"""The command on a real terminal: colours, questions, progress, completion."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.text import Text

from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import Shell
from tests.integration.cli.terminal import Terminal


async def test_a_terminal_gets_colours(shell: Shell) -> None:
    await shell.ok("put", "k", '{"status": "ready"}')
    await shell.ok("put", "k", '{"status": "done"}', "--expect", "1")
    terminal = Terminal(shell)
    _, table = await terminal.run("ls")
    _, watched = await terminal.run("watch", "--since", "0", "--count", "2")
    _, difference = await terminal.run("diff", "k", "1", "2")
    _, document = await terminal.run("get", "k", "-o", "json")

    assert "\x1b[1mk" in table
    assert "\x1b[32m created" in watched
    assert "\x1b[33m updated" in watched
    assert '\x1b[31m-  "status": "ready"' in difference
    assert '\x1b[32m+  "status": "done"' in difference
    assert "\x1b" not in document


@pytest.mark.parametrize("width", ["80", "60"])
async def test_a_long_value_leaves_keys_and_versions_legible(shell: Shell, width: str) -> None:
    await shell.ok("put", "notes/item-1", "x" * 180)
    terminal = Terminal(Shell({**shell.variables, "COLUMNS": width}))
    listed, versions = [
        Text.from_ansi((await terminal.run(*words))[1].replace("\r", "")).plain.splitlines()
        for words in (("ls", "notes/**"), ("history", "notes/item-1"))
    ]

    assert listed[0].split()[:3] == ["KEY", "VERSION", "REVISION"]
    assert listed[1].split()[:4] == ["notes/item-1", "1", "1", "ada"]
    assert versions[0].split()[:2] == ["VERSION", "REVISION"]
    assert versions[1].split()[:2] == ["1", "1"]
    for line in (listed[1], versions[1]):
        assert line.endswith("x…")
        assert len(line) <= int(width)


async def test_no_color_is_honoured(shell: Shell) -> None:
    await shell.ok("put", "k", "v")
    _, shown = await Terminal(Shell({**shell.variables, "NO_COLOR": "1"})).run(
        "watch", "--since", "0", "--count", "1"
    )

    assert "k created v1" in shown.replace("\x1b[1m", "").replace("\x1b[0m", "").replace(
        "\x1b[2m", ""
    )
    assert "\x1b[3" not in shown


async def test_a_value_cannot_command_the_terminal(shell: Shell) -> None:
    await shell.ok("put", "evil", "--text", "\x1b]0;owned\x07line\nnext")
    await shell.ok("put", "blob", "-", "--data", typed=b"\x1b[2J\xff")
    _, text = await Terminal(shell).run("get", "evil")
    _, data = await Terminal(shell).run("get", "blob")

    assert text == "\\x1b]0;owned\\x07line\r\nnext\r\n"
    assert "\x1b[2J" not in data
    assert "<5 bytes>; redirect standard output" in data


async def test_a_question_is_asked_and_its_answer_heeded(shell: Shell, board: str) -> None:
    terminal = Terminal(shell)
    declined, asked = await terminal.run("boards", "delete", board, typed=b"n\n")
    agreed, _ = await terminal.run("boards", "delete", board, typed=b"y\n")

    assert f"Delete board {board} and everything on it, for good? [y/N]" in asked
    assert (declined, agreed) == (ExitCode.INTERRUPTED, ExitCode.OK)


async def test_long_work_shows_a_bar_that_goes_away(shell: Shell, tmp_path: Path) -> None:
    await shell.ok("put", "k", "v")
    code, shown = await Terminal(shell).run("export", tmp_path / "board.jsonl")

    assert code == ExitCode.OK
    assert "Exporting" in shown
    assert "Exported" in shown.rpartition("\x1b[2K")[2]


async def test_keys_commands_and_words_complete(shell: Shell) -> None:
    await shell.ok("put", "plan/goal", "v")
    await shell.ok("put", "plan/日本", "v")

    async def completed(*words: str) -> list[str]:
        typed = {
            "_LAVAGNA_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(["lavagna", *words]),
            "COMP_CWORD": str(len(words)),
        }
        return (await Shell({**shell.variables, **typed}).ok()).lines

    assert await completed("tri") == ["triggers"]
    assert await completed("get", "plan/") == ["plan/goal", "plan/日本"]
    assert await completed("regions", "set", "plan", "--policy", "g") == ["guarded"]


async def test_completion_is_silent_without_a_server(shell: Shell) -> None:
    typed = {
        "LAVAGNA_TARGET": "127.0.0.1:1",
        "_LAVAGNA_COMPLETE": "complete_bash",
        "COMP_WORDS": "lavagna get p",
        "COMP_CWORD": "2",
    }
    outcome = await Shell({**shell.variables, **typed}).ok()

    assert (outcome.text.strip(), outcome.err) == ("", "")
