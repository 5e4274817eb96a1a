"""The export format: what is written is read back, byte for byte, and a bad line is named."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from lavagna import ChangeType, Commit, Entry, Kind, Occasion, Space
from lavagna_cli import exportlines, importlines
from lavagna_cli.exportlines import Header
from lavagna_cli.failures import BadInput
from lavagna_cli.importlines import Line
from lavagna_cli.replay import batches, origin

NOW = datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=UTC)
HEADER = Header(board="main", space=Space.SHARED, epoch="e1", revision=2, exported_at=NOW)


def written(key: str = "plan/goal", **fields: object) -> Entry:
    """An entry as somebody wrote it."""
    known: dict[str, object] = {
        "kind": Kind.NOTE,
        "version": 1,
        "revision": 1,
        "change": ChangeType.CREATED,
        "value": "hello",
        "author": "ada",
        "committed_at": NOW,
    }
    return Entry(key=key, **(known | fields))  # type: ignore[arg-type]


VALUES = [
    written(value=""),
    written(value="line one\r\nline two\u2028three\x00\n"),
    written(value="日本語 🧠 e\u0301"),
    written(value=b""),
    written(value=bytes(range(256))),
    written(value=random.Random(1).randbytes(1 << 20)),
    written(value=None, json_text="null"),
    written(value={"a": 1.0, "n": 2**63}, json_text='{ "a" : 1.0,\n\t"n":9223372036854775808 }'),
    written(value="text in json", json_text='"text in json"'),
    written(value=None, change=ChangeType.DELETED),
    written(
        tags=("a", "b"),
        confidence=0.25,
        sources=("plan@1", "https://example.org/é"),
        expires_at=NOW + timedelta(hours=1),
    ),
]


def commit(*entries: Entry, occasion: Occasion = Occasion.WRITE) -> Commit:
    """A commit of these entries."""
    return Commit(Space.SHARED, 1, NOW, "ada", None, occasion, entries)


def exported(*lines: bytes) -> list[bytes]:
    """A whole export of these lines."""
    body = [exportlines.header_line(HEADER), *lines]
    return [*body, exportlines.end_line(len(body))]


def read(lines: list[bytes]) -> list[Line]:
    """The lines of an export, read back."""
    assert importlines.read_header(lines[0]) == HEADER
    return list(importlines.read_lines(iter(lines[1:])))


def line(**content: object) -> bytes:
    """A line that a person has edited."""
    return json.dumps(content).encode() + b"\n"


@pytest.mark.parametrize("entry", VALUES, ids=range(len(VALUES)))
def test_an_entry_comes_back_as_it_was(entry: Entry) -> None:
    [state, committed] = read(
        exported(exportlines.state_line(entry), exportlines.commit_line(commit(entry)))
    )

    assert state.entries == committed.entries == (entry,)
    assert (state.is_state, committed.is_state) == (True, False)
    assert (state.number, committed.number) == (2, 3)


def test_what_only_a_server_makes_is_exported_with_its_grounds_and_left_out_of_an_import() -> None:
    claim = written("plan/goal/@ada", kind=Kind.CLAIM, basis={"claim": {"base_version": 0}})
    exported_claim = exportlines.commit_line(commit(claim, written()))
    [state, committed] = read(exported(exportlines.state_line(claim), exported_claim))

    assert json.loads(exported_claim)["commit"]["entries"][0]["basis"] == claim.basis
    assert (state.entries, state.left_out) == ((), 1)
    assert (committed.entries, committed.left_out) == ((written(),), 1)
    assert [batch.lines for batch in batches([state, committed])] == [[committed]]


def test_a_line_of_an_export_is_one_line() -> None:
    for entry in VALUES:
        assert exportlines.commit_line(commit(entry)).count(b"\n") == 1


def test_a_commit_keeps_who_made_it_when_and_for_what() -> None:
    text = exportlines.commit_line(commit(occasion=Occasion.QUIESCENCE))

    assert json.loads(text)["commit"] == {
        "revision": 1,
        "committed_at": "2026-03-01T09:00:00.123456Z",
        "author": "ada",
        "occasion": "quiescence",
        "cause": None,
        "entries": [],
    }


def broken() -> Iterator[tuple[str, bytes]]:
    """Lines that are wrong, with what the reader must say about them."""
    good = json.loads(exportlines.state_line(written()))["state"]
    yield "not JSON", b"{"
    yield "not JSON", b"\xff\xfe\n"
    yield "not JSON", b"[" * 100_000
    yield "the line is not an object", b"[]\n"
    yield "one member", line(state={}, commit={})
    yield "state is not an object", line(state=[])
    yield "'vote' is not a kind of line", line(vote={})
    yield "state.key is not a string", line(state={**good, "key": None})
    for key in ("", "/a", "a//b", "./a", "a/.."):
        yield "state.key has an empty, '.' or '..' segment", line(state={**good, "key": key})
    for key in ("a/*", "a/{b}", "a\x00", "a\u202eb", "a\ud800"):
        yield "which no key has", line(state={**good, "key": key})
    yield "state.kind is not one of note", line(state={**good, "kind": "dream"})
    yield "state.version is not a whole number", line(state={**good, "version": -1})
    yield "state.version is not a whole number", line(state={**good, "version": True})
    yield "state.committed_at is not a time", line(state={**good, "committed_at": "noon"})
    yield "a time with a zone", line(state={**good, "committed_at": "2026-03-01T09:00"})
    yield "state.confidence is not a number", line(state={**good, "confidence": 1.5})
    yield "state.tags is not a list of strings", line(state={**good, "tags": [1]})
    yield "state.value is none of json", line(state={**good, "value": {"json": 1}})
    yield "state.value is none of json", line(state={**good, "value": "bare"})
    yield "state.value.json is not JSON", line(state={**good, "value": {"json": "{"}})
    yield "state.value.data is not base64", line(state={**good, "value": {"data": "?"}})
    yield "commit.entries is not a list", line(commit={})
    yield "commit.entries[1].key", line(commit={"entries": [good, {**good, "key": 1}]})
    yield "2 lines before the end and not 9", line(end={"lines": 9})


@pytest.mark.parametrize(("fault", "bad"), list(broken()), ids=lambda each: str(each)[:40])
def test_a_bad_line_is_named_by_its_number_and_its_fault(fault: str, bad: bytes) -> None:
    lines = [*exported(exportlines.state_line(written()))[:2], bad]

    with pytest.raises(BadInput) as refused:
        read(lines)

    assert refused.value.message.startswith("Line 3: ")
    assert fault in refused.value.message


def test_nothing_but_blank_lines_may_follow_the_end() -> None:
    whole = exported(exportlines.state_line(written()))
    read([*whole, b"\n", b"  \n"])

    with pytest.raises(BadInput, match="Line 4: something follows the end"):
        read([*whole, b"\n", b"{}\n"])


def test_an_export_that_was_cut_short_is_told_apart() -> None:
    with pytest.raises(BadInput, match="Line 2 is the last, but no end line"):
        read(exported(exportlines.state_line(written()))[:-1])


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (b"", "not JSON"),
        (line(header={"format": "other"}), "not the header of an export"),
        (line(header={"format": "lavagna-export", "version": 2}), "format version 2"),
        (exportlines.end_line(1), "not the header of an export"),
    ],
)
def test_what_is_no_export_is_refused_at_its_first_line(header: bytes, fault: str) -> None:
    with pytest.raises(BadInput) as refused:
        importlines.read_header(header)

    assert refused.value.message.startswith("Line 1: ")
    assert fault in refused.value.message


def test_the_state_is_committed_in_pieces_and_each_commit_for_itself() -> None:
    def numbered(number: int, *, is_state: bool, size_bytes: int = 100, entries: int = 1) -> Line:
        return Line(number, is_state, (written(),) * entries, size_bytes)

    lines = [
        *(numbered(number, is_state=True) for number in range(2, 72)),
        numbered(72, is_state=True, size_bytes=1 << 20),
        numbered(73, is_state=False),
        numbered(74, is_state=False, entries=0),
        numbered(75, is_state=False, entries=3),
    ]

    pieces = [[each.number for each in batch.lines] for batch in batches(lines)]

    assert pieces == [[*range(2, 66)], [*range(66, 72)], [72], [73], [75]]


def test_the_origin_names_the_board_the_revision_the_author_and_the_time() -> None:
    assert origin(HEADER, written(revision=7)) == (
        "import:main/shared@7 by ada at 2026-03-01T09:00:00.123456Z"
    )
    assert " by server at " in origin(HEADER, written(author=""))
