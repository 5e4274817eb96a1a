"""Help: every command explains itself, by an example that works."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

import pytest
import typer

from lavagna_cli.application import app
from lavagna_cli.exits import MEANINGS, ExitCode
from lavagna_cli.running import run

EXPECTED = """
    serve demo put get ls history diff revert rm watch wait try
    propose vote withdraw claim claims resolve explain
    doctor backup restore export import
    proposals list|get|wait
    triggers list|get|set|suspend|resume|delete
    activations list|get|hold|release|cancel|replay
    agents list|register|rotate|revoke|standing|whoami
    regions list|get|set|delete
    boards list|create|delete|compact
"""


def commands(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command with the words that name it."""
    command = command or typer.main.get_command(app)
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path), command
        return
    for name, each in inner.items():
        yield from commands(each, (*path, name))


COMMANDS = dict(commands())


def examples(command: Any) -> list[str]:
    """The command lines of a command's help."""
    return [line.strip().replace(r"\[", "[") for line in command.epilog.split("\n")[1:]]


def expected() -> Iterator[str]:
    for line in EXPECTED.strip().splitlines():
        words = line.split()
        if "|" in words[-1]:
            yield from (f"{words[0]} {name}" for name in words[1].split("|"))
        else:
            yield from words


def test_every_promised_command_is_there() -> None:
    assert set(expected()) <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_with_an_example(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*name.split(), "--help"]) == ExitCode.OK

    out, err = capfd.readouterr()
    assert "Example" in out
    assert err == ""
    assert examples(COMMANDS[name])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_is_a_command_line_that_parses(name: str) -> None:
    words = ["lavagna", *name.split()]
    for example in examples(COMMANDS[name]):
        whole = shlex.split(example)
        own = list(
            takewhile(lambda word: word not in {"|", ">", "&&"}, whole[whole.index("lavagna") :])
        )

        assert own[: len(words)] == words
        assert COMMANDS[name].make_context(name, own[len(words) :])


def test_the_general_help_names_every_command_and_every_exit_code(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run(["--help"]) == ExitCode.OK

    out, _ = capfd.readouterr()
    for name in {each.split()[0] for each in COMMANDS}:
        assert f"│ {name} " in out
    for code, meaning in MEANINGS.items():
        assert f"{code:>3}  {meaning}" in out


def test_no_two_exit_codes_are_the_same() -> None:
    assert len({int(code) for code in ExitCode}) == len(MEANINGS) == 16


def test_no_arguments_give_help_and_the_usage_code(capfd: pytest.CaptureFixture[str]) -> None:
    assert run([]) == ExitCode.USAGE

    out, err = capfd.readouterr()
    assert "Usage: lavagna" in out
    assert err == ""


def test_the_version_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == ExitCode.OK
    assert capfd.readouterr().out == "lavagna 0.1.0\n"


def test_without_the_parts_that_it_needs_the_command_says_what_to_install() -> None:
    program = "import sys; sys.modules['typer'] = None; import lavagna_cli.__main__ as m; m.main()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert ended.returncode == ExitCode.UNAVAILABLE
    assert ended.stderr.decode().splitlines() == [
        "error: the command line needs typer, which is not installed."
        " Run pip install 'lavagna[cli]'"
    ]


def test_ctrl_c_while_the_command_line_still_loads_is_an_interruption_like_any_other() -> None:
    code = """if True:
        import sys

        class Pressed:
            def find_spec(self, name, *_):
                if name == "lavagna_cli.application":
                    raise KeyboardInterrupt

        sys.meta_path.insert(0, Pressed())
        from lavagna_cli.__main__ import main
        main()
    """

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert (ended.returncode, ended.stderr) == (ExitCode.INTERRUPTED, b"")
