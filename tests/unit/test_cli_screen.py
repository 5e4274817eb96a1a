"""The screen: tables for people, bare text and JSON for programs, colours only where they help."""

import io
import json
from datetime import UTC, datetime

import pytest
from rich.console import Console
from rich.text import Text

from lavagna import Activation, ChangeType, Commit, Entry, Kind, Occasion, Space, State
from lavagna_cli import documents
from lavagna_cli.changelines import commit_lines, state_lines
from lavagna_cli.layout import Column
from lavagna_cli.options import Format
from lavagna_cli.screen import Rows, Screen

ROWS = Rows(
    [Column("KEY", "bold"), Column("N", right=True), Column("VALUE", fills=True)],
    [("plan/日本", "7", "x" * 500), (Text("b", "red"), "12", "")],
    nothing="No entry matches.",
)


def written(**fields: object) -> Entry:
    """An entry as somebody wrote it."""
    known: dict[str, object] = {
        "key": "plan/goal",
        "kind": Kind.NOTE,
        "version": 1,
        "revision": 17,
        "change": ChangeType.CREATED,
        "value": "hello",
        "author": "ada",
        "committed_at": datetime(2026, 3, 1, 9, 0, 0, 500, tzinfo=UTC),
    }
    return Entry(**(known | fields))  # type: ignore[arg-type]


def commit(*entries: Entry, occasion: Occasion = Occasion.WRITE) -> Commit:
    """A commit of these entries."""
    at = datetime(2026, 3, 1, 9, tzinfo=UTC)
    return Commit(Space.SHARED, 17, at, "ada", None, occasion, entries)


def terminal(shown: io.StringIO) -> Console:
    """A terminal of 60 columns that keeps what it shows."""
    return Console(file=shown, force_terminal=True, width=60, highlight=False)


def test_a_table_in_a_pipe_has_no_colours_and_lines_up(capfd: pytest.CaptureFixture[str]) -> None:
    Screen(None).rows({"rows": []}, ROWS)

    header, first, second = capfd.readouterr().out.splitlines()
    assert "\x1b" not in header + first + second
    assert header.split() == ["KEY", "N", "VALUE"]
    assert first.split()[:2] == ["plan/日本", "7"]
    assert second.split() == ["b", "12"]


def test_a_table_on_a_terminal_is_coloured_and_stays_within_its_width() -> None:
    shown = io.StringIO()
    Screen(None, out=terminal(shown)).rows({}, ROWS)
    plain = [Text.from_ansi(line) for line in shown.getvalue().splitlines()]

    assert "\x1b[" in shown.getvalue()
    assert max(line.cell_len for line in plain) <= 60
    assert plain[1].plain.rstrip().endswith("…")


def test_bare_text_is_whole_and_separated_by_tabs(capfd: pytest.CaptureFixture[str]) -> None:
    Screen(Format.TEXT).rows({}, ROWS)

    assert capfd.readouterr().out == f"plan/日本\t7\t{'x' * 500}\nb\t12\t\n"


def test_json_is_one_document_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    screen = Screen(Format.JSON)
    screen.rows({"keys": ["é"]}, ROWS)
    screen.remark("for people")
    out, err = capfd.readouterr()

    assert json.loads(out) == {"keys": ["é"]}
    assert out.count("\n") == 1
    assert err == ""


def test_an_empty_list_says_so_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    Screen(None).rows({}, Rows(ROWS.columns, [], nothing="No entry matches."))

    assert capfd.readouterr() == ("", "No entry matches.\n")


def test_a_property_that_does_not_apply_is_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    Screen(None).properties({}, {"owner": "ada", "schema": ""})

    assert capfd.readouterr().out.split() == ["owner", "ada"]


def test_success_is_a_line_or_bare_text_or_a_document(capfd: pytest.CaptureFixture[str]) -> None:
    for form in (None, Format.TEXT, Format.JSON):
        Screen(form).done({"version": 3}, bare="3", remark="plan/goal is at version 3")

    assert capfd.readouterr().out.splitlines() == [
        "plan/goal is at version 3",
        "3",
        '{"version": 3}',
    ]


def test_a_change_is_one_line_with_all_that_matters() -> None:
    updated = written(change=ChangeType.UPDATED, version=2, value="two\nlines")
    [first, second] = commit_lines(commit(updated, written(key="b", author="")))

    assert first.plain.split() == [
        *("17", updated.committed_at.astimezone().strftime("%H:%M:%S")),
        *("ada", "plan/goal", "updated", "v2", r"two\nlines"),
    ]
    assert "server" in second.plain.split()


def test_votes_claims_and_decisions_are_lines_of_their_own() -> None:
    voted = {"choice": "reject", "reason": "no rollback", "content_hash": "e2", "base_version": 0}
    poll = {"outcome": "rejected", "reason": "vetoed by cyd"}
    merge = {"claims": ["ada", "bob"], "rule": "select@1", "dissent": ["bob"], "open": False}
    lines = commit_lines(
        commit(
            written(key="d/7", kind=Kind.PROPOSAL, change=ChangeType.PROPOSED, value="a log"),
            written(key="d/7/@cyd", kind=Kind.BALLOT, value=voted, confidence=0.9),
            written(
                key="d/7",
                kind=Kind.PROPOSAL,
                change=ChangeType.DECIDED,
                value=None,
                basis={"poll": poll},
            ),
            written(key="e/@ada", kind=Kind.CLAIM, value="8", confidence=0.5),
            written(key="e", value="8", basis={"merge": merge}),
            written(key="d", basis={"decision": {"proposal": "d/7", "ballot": "d/7/@bob@1"}}),
        )
    )

    assert [line.plain.split("ada          ")[1] for line in lines] == [
        "d/7 proposed v1  a log",
        "d/7/@cyd ballot created v1  reject (0.9): no rollback",
        "d/7 decided v1  rejected: vetoed by cyd",
        "e/@ada claim created v1  8 (0.5)",
        "e created v1  8  merged of 2 claims by select@1, against bob",
        "d created v1  hello  accepted as d/7",
    ]


def test_a_long_value_is_cut_short_in_a_change_line() -> None:
    [line] = commit_lines(commit(written(value="x" * 10_000)))

    assert len(line.plain) < 200
    assert line.plain.endswith("…")


def test_coming_to_rest_and_giving_up_history_are_lines_too() -> None:
    [rest] = commit_lines(commit(occasion=Occasion.QUIESCENCE))
    [compaction] = commit_lines(commit(occasion=Occasion.COMPACTION))

    assert rest.plain.endswith("the crew has come to rest")
    assert compaction.plain.endswith("earlier history was given up")


def test_the_state_that_a_watch_begins_with_is_a_line_per_entry() -> None:
    state = State(Space.SHARED, 17, (written(), written(key="b")), synced=True)

    assert [line.plain.split()[3] for line in state_lines(state)] == ["plan/goal", "b"]


def test_an_entrys_document_has_stable_names() -> None:
    assert documents.entry(written(tags=("a",), sources=("b@1",), confidence=0.5)) == {
        "key": "plan/goal",
        "kind": "note",
        "version": 1,
        "revision": 17,
        "change": "created",
        "author": "ada",
        "committed_at": "2026-03-01T09:00:00.000500Z",
        "form": "text",
        "value": "hello",
        "tags": ["a"],
        "confidence": 0.5,
        "sources": ["b@1"],
        "expires_at": None,
        "cause": None,
        "basis": None,
    }


def test_anything_else_is_a_document_of_its_fields() -> None:
    assert documents.of([Occasion.WRITE, datetime(2026, 3, 1, tzinfo=UTC), {"a": 1}]) == [
        "write",
        "2026-03-01T00:00:00.000000Z",
        {"a": 1},
    ]
    names = documents.of(commit(written()))
    assert isinstance(names, dict)
    assert list(names)[:3] == ["space", "revision", "committed_at"]
    assert Activation.__dataclass_fields__.keys() >= {"id", "state", "trigger_id"}
