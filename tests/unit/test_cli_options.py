"""The shared options: where they may stand, and which of several places wins."""

from pathlib import Path

import pytest
import typer

from lavagna_cli import options
from lavagna_cli.command import Scope, command
from lavagna_cli.exits import ExitCode
from lavagna_cli.frame import frame
from lavagna_cli.invocation import Invocation
from lavagna_cli.options import Format, Options
from lavagna_cli.running import run

VARIABLES = ("TARGET", "BOARD", "AGENT", "TOKEN", "TLS_CA", "TLS_CERT", "TLS_KEY")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(f"LAVAGNA_{name}", raising=False)


class Probe:
    """A command line with one command per scope, which keep what they were given."""

    def __init__(self) -> None:
        self.said = Options()
        commands = typer.Typer()

        @command(commands, example="probe ask", scope=Scope.SPACE)
        def ask(invocation: Invocation, word: str = "") -> None:
            """Keep the options."""
            self.said = invocation.options

        @command(commands, example="probe meet", scope=Scope.BOARD)
        async def meet(invocation: Invocation) -> None:
            """Keep the options."""
            self.said = invocation.options

        self._app = frame()
        self._app.add_typer(commands)

    def run(self, *arguments: str) -> Options:
        """What the command was given."""
        self._app(arguments, standalone_mode=False)
        return self.said


def test_an_option_means_the_same_before_and_after_the_command() -> None:
    probe = Probe()
    expected = Options(board="lab", output=Format.JSON, private=True)

    assert probe.run("--board", "lab", "-o", "json", "--private", "ask") == expected
    assert probe.run("ask", "--board", "lab", "-o", "json", "--private") == expected
    assert probe.run("--private", "--board", "lab", "ask", "--output", "json") == expected


def test_what_stands_after_the_command_beats_what_stands_before_it() -> None:
    said = Probe().run("--board", "one", "--target", "a:1", "ask", "--board", "two")

    assert (said.board, said.target) == ("two", "a:1")


def test_the_command_line_beats_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAVAGNA_BOARD", "environment")
    monkeypatch.setenv("LAVAGNA_AGENT", "ada")
    monkeypatch.setenv("LAVAGNA_TLS_CA", "/certificates/ca.pem")
    said = Probe().run("--board", "said", "meet")

    assert (said.board, said.agent) == ("said", "ada")
    assert said.tls_ca == Path("/certificates/ca.pem")


def test_an_empty_variable_is_unset() -> None:
    assert options.from_environment({"LAVAGNA_BOARD": "", "LAVAGNA_TLS_KEY": ""}) == Options()


def test_private_is_refused_where_it_means_nothing() -> None:
    with pytest.raises(typer.BadParameter, match="--private means nothing"):
        Probe().run("--private", "meet")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["get"],
        ["get", "a", "b"],
        ["ls", "--nonsense"],
        ["ls", "-o", "xml"],
        ["put", "k", "v", "--json", "--text"],
        ["put", "k", "NaN", "--json"],
        ["put", "k", "v", "--expect", "-1"],
        ["put", "k", "v", "--confidence", "2"],
        ["put", "k", "v", "--ttl", "soon"],
        ["put", "k", "@/no/such/file"],
        ["get", "k", "--at", "0"],
        ["watch", "--since", "1", "--state"],
        ["wait", "true", "--timeout", "never"],
        ["try"],
        ["try", "t", "--on", "a"],
        ["triggers", "set", "t", "--mode", "due"],
        ["triggers", "set", "t", "--mode", "sometimes", "--on", "a"],
        ["triggers", "set", "t", "--cron", "* * * * *", "--due-at", "2030-01-01"],
        ["triggers", "set", "t", "--time-zone", "UTC", "--on", "a"],
        ["triggers", "set", "t", "--on", "a", "--limit", "patience=3"],
        ["triggers", "set", "t", "--on", "a", "--limit", "attempts=many"],
        ["triggers", "set", "t", "--on", "a", "--change", "unknown"],
        ["regions", "set", "r", "--schema", "[]"],
        ["regions", "set", "r", "--schema", "{"],
        ["activations", "hold", "a", "--until", "later"],
        ["agents", "register", "a", "--role", "king"],
        ["agents", "--private", "list"],
        ["ls", "--tls-cert", "only.pem"],
        ["ls", "--tls-ca", "/no/such/ca.pem"],
        ["import", "/no/such/file"],
    ],
)
def test_a_wrong_command_line_ends_with_the_usage_code_and_one_line(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == ExitCode.USAGE

    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_a_wrong_command_line_with_json_is_told_as_json(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run(["get", "-o", "json"]) == ExitCode.USAGE

    out, err = capfd.readouterr()
    assert out == ""
    assert '"family": "usage"' in err


def test_deleting_asks_first_and_nobody_answering_is_a_usage_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/null").open() as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        for arguments in (
            ["boards", "delete", "b"],
            ["boards", "compact"],
            ["agents", "revoke", "a"],
            ["triggers", "delete", "t"],
            ["regions", "delete", "r"],
        ):
            assert run(arguments) == ExitCode.USAGE
            assert "pass --yes" in capfd.readouterr().err
