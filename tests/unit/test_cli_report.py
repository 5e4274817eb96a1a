"""Errors: one line that says what to do next, and an exit code per family."""

import asyncio
import json
import sys
from datetime import UTC, datetime

import pytest
import typer

from lavagna import ChangeType, Entry, FailedCondition, Kind, errors
from lavagna_cli.exits import ExitCode
from lavagna_cli.failures import BadInput, NotInstalled, TimedOut
from lavagna_cli.options import Format
from lavagna_cli.report import complaint_about, errors_reported, told


def entry(**fields: object) -> Entry:
    """An entry that somebody else wrote."""
    known: dict[str, object] = {
        "key": "plan/goal",
        "kind": Kind.NOTE,
        "version": 4,
        "revision": 9,
        "change": ChangeType.UPDATED,
        "value": {"status": "taken"},
        "json_text": '{"status": "taken"}',
        "author": "bob",
        "committed_at": datetime(2026, 3, 1, tzinfo=UTC),
    }
    return Entry(**(known | fields))  # type: ignore[arg-type]


def conflict(current: Entry | None) -> errors.Conflict:
    """A conflict that found this entry."""
    return errors.Conflict(
        "plan/goal is at version 4, written by bob, not 3",
        reason="STALE_VERSION",
        failed=[FailedCondition("plan/goal", current, "expected version 3")],
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.LavagnaError("?"), ExitCode.UNEXPECTED),
        (errors.BrokenChain("?"), ExitCode.UNEXPECTED),
        (errors.NotFound("?"), ExitCode.NOT_FOUND),
        (errors.Conflict("?"), ExitCode.CONFLICT),
        (errors.AlreadyExists("?"), ExitCode.CONFLICT),
        (errors.Refused("?"), ExitCode.REFUSED),
        (errors.Unauthenticated("?"), ExitCode.REFUSED),
        (errors.PermissionDenied("?"), ExitCode.REFUSED),
        (errors.Compacted("?"), ExitCode.REFUSED),
        (errors.Invalid("?"), ExitCode.INVALID),
        (errors.Exhausted("?"), ExitCode.EXHAUSTED),
        (errors.SlowConsumer("?"), ExitCode.EXHAUSTED),
        (errors.Unavailable("?"), ExitCode.UNAVAILABLE),
        (BadInput("?"), ExitCode.INVALID),
        (NotInstalled("?"), ExitCode.UNAVAILABLE),
        (TimedOut("?"), ExitCode.TIMED_OUT),
        (typer.BadParameter("?"), ExitCode.USAGE),
        (OSError(28, "No space left on device", "out.jsonl"), ExitCode.UNEXPECTED),
        (RuntimeError("?"), ExitCode.UNEXPECTED),
    ],
)
def test_each_family_has_its_exit_code(error: Exception, code: ExitCode) -> None:
    assert complaint_about(error).code is code


def test_a_conflict_tells_the_version_the_author_and_the_value() -> None:
    line = complaint_about(conflict(entry())).line()

    assert "is at version 4, written by bob" in line
    assert 'Its value is now {"status": "taken"}' in line
    assert "pass --expect 4" in line


def test_a_conflict_with_something_deleted_tells_that() -> None:
    gone = entry(change=ChangeType.DELETED, value=None, json_text=None)

    assert "It was deleted. " in complaint_about(conflict(gone)).line()


def test_a_conflict_with_nothing_says_to_look_again() -> None:
    assert complaint_about(conflict(None)).line().endswith(". Look again, then decide")


def test_a_huge_value_is_cut_short_in_the_line_and_whole_in_json() -> None:
    text = "x" * 10_000
    complaint = complaint_about(conflict(entry(value=text, json_text=None)))
    current = json.loads(json.dumps(complaint.details["current"]))

    assert len(complaint.line()) < 500
    assert current["value"] == text


def test_an_error_is_one_line_that_commands_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    told(errors.Refused("evil\x1b[2J\nsecond line", reason="NOT_A_WRITER"), None)

    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "\x1b" not in err
    assert "lavagna regions list" in err


def test_json_was_asked_for_so_the_error_is_an_object(capfd: pytest.CaptureFixture[str]) -> None:
    code = told(conflict(entry()), Format.JSON)

    out, err = capfd.readouterr()
    error = json.loads(err)["error"]
    assert out == ""
    assert (code, error["exit_code"], error["family"]) == (ExitCode.CONFLICT, 4, "conflict")
    assert error["reason"] == "STALE_VERSION"
    assert (error["current"]["version"], error["current"]["author"]) == (4, "bob")
    assert error["current"]["value"] == {"status": "taken"}
    assert error["failed"][0]["message"] == "expected version 3"


def test_an_invalid_request_names_its_fields_in_json() -> None:
    error = errors.Invalid.field("changes[0].key", "at most 512 bytes")

    assert complaint_about(error).details["violations"] == [
        {"field": "changes[0].key", "description": "at most 512 bytes"}
    ]


def test_an_exhausted_quota_says_when_to_try_again() -> None:
    complaint = complaint_about(errors.Exhausted("too fast", retry_after=1.5))

    assert complaint.hint == "Try again in 1.5 s."
    assert complaint.details["retry_after"] == 1.5


def test_what_a_command_adds_to_an_error_is_what_to_do_next() -> None:
    error = conflict(entry())
    error.add_note("That was line 17.")

    assert complaint_about(error).line().endswith(". That was line 17")


def test_an_unexpected_error_says_how_to_see_more(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    told(ZeroDivisionError("division by zero"), None)
    plain = capfd.readouterr().err
    monkeypatch.setenv("LAVAGNA_TRACEBACK", "1")
    told(ZeroDivisionError("division by zero"), None)

    assert "ZeroDivisionError: division by zero. Run it again with LAVAGNA_TRACEBACK=1" in plain
    assert capfd.readouterr().err.startswith("ZeroDivisionError")


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_an_interruption_has_its_own_code_and_no_message(
    stop: BaseException, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, errors_reported(None):
        raise stop

    assert ended.value.exit_code == ExitCode.INTERRUPTED
    assert capfd.readouterr() == ("", "")
    assert not sys.stdout.closed
