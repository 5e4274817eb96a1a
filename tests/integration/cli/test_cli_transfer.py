"""export and import: a board's history from one place to another."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import lavagna
from lavagna import Append, Delete, Put
from lavagna.values import JsonText
from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import Shell

VALUES: dict[str, object] = {
    "empty": "",
    "lines": "one\r\ntwo\u2028three\n",
    "日本/🧠": "é e\u0301",
    "number": JsonText("1.10"),
    "spaced": JsonText('{ "a":\n 9007199254740993 }'),
    "null": None,
    "quoted": JsonText('"text in json"'),
    "bytes": random.Random(1).randbytes(1 << 20),
}


@pytest.fixture
async def written(target: str, board: str) -> AsyncIterator[lavagna.Board]:
    """A board with every kind of value and change on it, in eleven commits."""
    async with lavagna.connect(target, board=board, agent="bob") as connected:
        for key, value in VALUES.items():
            await connected.put(f"v/{key}", value, tags=["t"], confidence=0.5, sources=["talk"])
        await connected.commit(
            Put("k", "one"), Put("expiring", "soon gone", ttl=3600), Put("gone", "x")
        )
        await connected.commit(Put("k", "two", expected_version=1), Delete("gone", overwrite=True))
        await connected.commit(Put("gone", "back"), Append("log", "first"))
        yield connected


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return [path.name for path in folder.iterdir()]


async def copy_of(shell: Shell, board: str) -> Shell:
    """A shell on a new, empty board."""
    await shell.ok("boards", "create", f"{board}-copy")
    return shell.having(board=f"{board}-copy")


async def test_an_export_is_a_header_commits_and_an_end(
    shell: Shell, written: lavagna.Board, tmp_path: Path
) -> None:
    file = tmp_path / "board.jsonl"
    done = await shell.read("export", file)
    piped = await shell.ok("export")
    lines = [json.loads(line) for line in file.read_text().splitlines()]

    assert done == {"file": str(file), "lines": 13}
    assert [next(iter(line)) for line in lines] == ["header", *["commit"] * 11, "end"]
    header = lines[0]["header"]
    assert (header["format"], header["version"]) == ("lavagna-export", 1)
    assert (header["board"], header["space"], header["revision"]) == (written.name, "shared", 11)
    assert header["epoch"]
    assert [line["commit"]["revision"] for line in lines[1:-1]] == list(range(1, 12))
    assert piped.out.splitlines()[1:] == file.read_bytes().splitlines()[1:]
    assert names(tmp_path) == ["board.jsonl"]


async def test_an_import_brings_every_version_byte_for_byte(
    shell: Shell, written: lavagna.Board, target: str, tmp_path: Path
) -> None:
    file = tmp_path / "board.jsonl"
    await shell.ok("export", file)
    copy = await copy_of(shell, written.name)
    done = await copy.read("import", file)

    assert done == {
        "board": f"{written.name}-copy",
        "commits": 11,
        "changes": 15,
        "changes_there_already": 0,
        "left_out": 0,
    }
    async with lavagna.connect(target, board=f"{written.name}-copy") as copied:
        originals = [entry async for entry in written.entries()]
        copies = [entry async for entry in copied.entries()]
        history = [(each.version, each.change) async for each in copied.history("gone")]
    assert [each.key for each in copies] == [each.key for each in originals]
    for original, other in zip(originals, copies, strict=True):
        assert (other.value, other.json_text) == (original.value, original.json_text)
        assert (other.version, other.tags) == (original.version, original.tags)
        assert other.confidence == original.confidence
        assert (other.expires_at is None) == (original.expires_at is None)
        assert other.sources[:-1] == original.sources
    assert history == [(3, "created"), (2, "deleted"), (1, "created")]


@pytest.mark.guarantee("S7")
async def test_the_importer_is_the_author_and_the_origin_is_a_source(
    shell: Shell, written: lavagna.Board
) -> None:
    exported = await shell.ok("export")
    copy = await copy_of(shell, written.name)
    await copy.ok("import", "-", typed=exported.out)
    entry = await copy.read("get", "k")
    original = await shell.read("get", "k")

    assert (original["author"], entry["author"]) == ("bob", "ada")
    assert entry["committed_at"] > original["committed_at"]
    assert entry["sources"] == [
        f"import:{written.name}/shared@10 by bob at {original['committed_at']}"
    ]


@pytest.mark.guarantee("S6")
async def test_an_import_that_was_interrupted_goes_on_and_doubles_nothing(
    shell: Shell, written: lavagna.Board, tmp_path: Path
) -> None:
    file = tmp_path / "board.jsonl"
    await shell.ok("export", file)
    copy = await copy_of(shell, written.name)
    await copy.ok("regions", "set", "log", "--writer", "nobody")
    stopped = await copy.run("import", file)
    await copy.ok("regions", "delete", "log", "--yes")
    resumed = await copy.read("import", file)
    again = await copy.read("import", file)
    told = await copy.ok("import", file)
    versions = await copy.read("history", "k")

    assert stopped.code == ExitCode.REFUSED
    assert "line 12 of the import, after 13 changes in 10 commits" in stopped.err
    assert "Run the same command again" in stopped.err
    assert (resumed["commits"], resumed["changes"]) == (1, 2)
    assert (again["commits"], again["changes"]) == (0, 0)
    assert (resumed["changes_there_already"], again["changes_there_already"]) == (13, 15)
    assert told.text == f"Nothing is new: {written.name}-copy has all 15 changes already\n"
    assert [each["version"] for each in versions["versions"]] == [2, 1]
    assert (await copy.read("agents", "whoami"))["revision"] == 11


async def test_a_board_that_has_a_key_already_is_not_written_over_unasked(
    shell: Shell, written: lavagna.Board
) -> None:
    exported = await shell.ok("export")
    copy = await copy_of(shell, written.name)
    await copy.ok("put", "k", "mine")
    refused = await copy.run("import", "-", typed=exported.out)
    kept = await copy.ok("get", "k")
    await copy.ok("import", "-", "--overwrite", typed=exported.out)

    assert refused.code == ExitCode.CONFLICT
    assert "line 10 of the import" in refused.err
    assert "--overwrite" in refused.err
    assert kept.text == "mine"
    assert (await copy.ok("get", "k")).text == "two"


async def test_history_that_was_given_up_is_exported_as_state(
    shell: Shell, written: lavagna.Board
) -> None:
    await written.compact()
    await written.put("k", "three", expected_version=2)
    exported = await shell.ok("export")
    copy = await copy_of(shell, written.name)
    await copy.ok("import", "-", typed=exported.out)
    kinds = [next(iter(json.loads(line))) for line in exported.lines]
    original = {each["key"]: each["value"] for each in (await shell.read("ls"))["entries"]}
    copied = {each["key"]: each["value"] for each in (await copy.read("ls"))["entries"]}

    assert kinds[0] == "header"
    assert kinds.count("state") == len(original)
    assert copied == original
    assert copied["k"] == "three"


async def test_a_private_space_goes_into_a_private_space(shell: Shell, board: str) -> None:
    await shell.ok("put", "secret", "mine", "--private")
    exported = await shell.ok("export", "--private")
    copy = await copy_of(shell, board)
    await copy.ok("import", "-", "--private", typed=exported.out)

    assert json.loads(exported.lines[0])["header"]["space"] == "private"
    assert (await copy.ok("get", "secret", "--private")).text == "mine"
    assert await copy.read("ls") == {"entries": []}


async def test_a_bad_line_is_named_before_anything_is_imported(
    shell: Shell, written: lavagna.Board
) -> None:
    lines = (await shell.ok("export")).out.splitlines(keepends=True)
    lines[5] = lines[5].replace(b'"key": "', b'"key": 1, "was": "')
    copy = await copy_of(shell, written.name)
    broken = await copy.run("import", "-", typed=b"".join(lines))
    cut = await copy.run("import", "-", "-o", "json", typed=b"".join(lines[:4]))

    assert broken.code == ExitCode.INVALID
    assert broken.err.startswith("error: Line 6: commit.entries[0].key is not a string")
    assert cut.error["family"] == "invalid"
    assert "Line 4 is the last, but no end line" in cut.error["message"]
    assert await copy.read("ls") == {"entries": []}


async def test_what_no_server_takes_is_named_before_anything_is_imported(
    shell: Shell, written: lavagna.Board
) -> None:
    exported = (await shell.ok("export")).out
    copy = await copy_of(shell, written.name)
    keyed = await copy.run("import", "-", typed=exported.replace(b'"key": "k"', b'"key": "../k"'))
    twice = await copy.run("import", "-", typed=exported + exported)

    assert (keyed.code, twice.code) == (ExitCode.INVALID, ExitCode.INVALID)
    assert keyed.err.startswith("error: Line 10: commit.entries[0].key has an empty, '.' or '..'")
    assert twice.err.startswith("error: Line 14: something follows the end")
    assert await copy.read("ls") == {"entries": []}


async def test_what_only_the_server_refuses_is_named_by_its_line_and_what_came_before_is_told(
    shell: Shell, written: lavagna.Board
) -> None:
    await written.compact()
    exported = (await shell.ok("export")).out
    copy = await copy_of(shell, written.name)
    refused = await copy.run(
        "import", "-", typed=exported.replace(b'"key": "v/lines"', b'"key": "v/%s"' % (b"x" * 600))
    )
    lines = exported.splitlines()
    at = next(n for n, line in enumerate(lines, 1) if b'"key": "v/lines"' in line)

    assert refused.code == ExitCode.INVALID
    assert f"That was line {at} of the import, after 5 changes in 2 commits" in refused.err
    assert len((await copy.read("ls"))["entries"]) == 5


async def test_an_empty_board_is_a_header_and_an_end(shell: Shell) -> None:
    exported = await shell.ok("export")

    assert [next(iter(json.loads(line))) for line in exported.lines] == ["header", "end"]
    done = await shell.ok("import", "-", "-o", "json", typed=exported.out)
    assert (done.json["commits"], done.json["changes"]) == (0, 0)


async def test_a_file_that_cannot_be_written_leaves_nothing_behind(
    shell: Shell, written: lavagna.Board, tmp_path: Path
) -> None:
    nowhere = await shell.run("export", tmp_path / "no" / "such" / "place.jsonl")
    missing = await shell.run("export", "--board", "no-such-board", tmp_path / "file.jsonl")

    assert nowhere.code == ExitCode.USAGE
    assert nowhere.err.startswith(
        f"error: Cannot write {tmp_path}/no/such/place.jsonl: there is no"
    )
    assert missing.code == ExitCode.NOT_FOUND
    assert names(tmp_path) == []
    assert written.name


async def test_a_dash_is_standard_output(
    shell: Shell, written: lavagna.Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exported = await shell.ok("export", "-")

    assert len(exported.lines) == 13
    assert names(tmp_path) == []
    assert written.name


async def test_a_file_that_exists_is_replaced_only_when_that_is_said(
    shell: Shell, written: lavagna.Board, tmp_path: Path
) -> None:
    file, link = tmp_path / "board.jsonl", tmp_path / "link"
    file.write_text("precious")
    link.symlink_to(file)
    refused = await shell.run("export", file)
    kept = file.read_text()
    await shell.ok("export", link, "--overwrite")

    assert refused.code == ExitCode.REFUSED
    assert refused.err.startswith(f"error: {file} exists already. Choose another name, or")
    assert kept == "precious"
    assert len(file.read_text().splitlines()) == 13
    assert link.is_symlink()
    assert written.name


async def test_a_directory_is_no_file_to_write(shell: Shell, tmp_path: Path) -> None:
    refused = await shell.run("export", tmp_path, "--overwrite")

    assert refused.code == ExitCode.USAGE
    assert refused.err.startswith(f"error: Cannot write {tmp_path}: it is a directory")


async def test_a_pipe_or_a_device_is_written_to_and_not_replaced(
    shell: Shell, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = asyncio.to_thread(pipe.read_bytes)
    _, content = await asyncio.gather(shell.ok("export", pipe), reading)

    assert [next(iter(json.loads(line))) for line in content.splitlines()] == ["header", "end"]
    assert names(tmp_path) == ["pipe"]
