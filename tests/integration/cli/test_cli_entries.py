"""put, get, ls, history, diff, revert, rm on a real server."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import Shell

KEY = "plan/Übersicht/日本 🧠"


async def test_a_written_value_is_read_back_with_all_that_was_said_of_it(shell: Shell) -> None:
    labels = ("--tag", "b", "--tag", "a", "--confidence", "0.5", "--source", "talk", "--ttl", "1h")
    written = await shell.read("put", KEY, '{"n": 1.10}', *labels)
    entry = await shell.read("get", KEY)

    made = {"key": KEY, "kind": "note", "version": 1, "revision": 1, "change": "created"}
    assert written == made
    assert (entry["key"], entry["value"], entry["form"]) == (KEY, {"n": 1.1}, "json")
    assert (entry["author"], entry["version"], entry["change"]) == ("ada", 1, "created")
    assert (entry["tags"], entry["confidence"], entry["sources"]) == (["a", "b"], 0.5, ["talk"])
    assert entry["expires_at"] > entry["committed_at"]


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (b"", "text"),
        (b"line one\r\nline two\n\n", "text"),
        ("日本語 🧠 e\u0301 \u2028".encode(), "text"),
        (b'{ "a" : 1.0,\n  "big": 9007199254740993 }\n', "json"),
        (b"-0.0", "json"),
        (b"\x00\xff\xfe", "data"),
        (random.Random(1).randbytes(1 << 20), "data"),
        (b"x" * (1 << 20), "text"),
    ],
    ids=["empty", "lines", "unicode", "json", "number", "bytes", "huge bytes", "huge text"],
)
async def test_a_pipe_gets_exactly_the_bytes_that_were_put(
    shell: Shell, value: bytes, form: str
) -> None:
    await shell.ok("put", "k", "-", typed=value)

    assert (await shell.ok("get", "k")).out == value
    assert (await shell.read("get", "k"))["form"] == form


async def test_a_value_comes_from_a_file_or_the_command_line(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "value.json"
    file.write_bytes(b"[1,  2]\n")
    await shell.ok("put", "file", f"@{file}")
    await shell.ok("put", "text", "42", "--text")
    await shell.ok("put", "at", "@@home")
    await shell.ok("put", "negative", "--", "-5")
    listed = (await shell.read("ls"))["entries"]

    assert (await shell.ok("get", "file")).out == b"[1,  2]\n"
    assert [(each["key"], each["form"], each["value"]) for each in listed] == [
        ("at", "text", "@home"),
        ("file", "json", [1, 2]),
        ("negative", "json", -5),
        ("text", "text", "42"),
    ]


async def test_changing_needs_the_version_seen_or_overwrite(shell: Shell) -> None:
    await shell.ok("put", "k", "one")
    unseen = await shell.run("put", "k", "two")
    seen = await shell.ok("put", "k", "two", "--expect", "1", "-o", "text")
    blind = await shell.ok("put", "k", "three", "--overwrite")

    assert (unseen.code, unseen.out) == (ExitCode.REFUSED, b"")
    assert "--expect VERSION or --overwrite" in unseen.err
    assert seen.text == "2\n"
    assert blind.text == "k is at version 3, updated, at revision 3\n"


async def test_the_loser_of_a_conflict_is_told_version_author_and_value(shell: Shell) -> None:
    await shell.ok("put", "k", '{"taken": true}')
    plain = await shell.having(agent="bob").run("put", "k", "mine", "--expect", "7")
    error = (await shell.run("put", "k", "mine", "--expect", "7", "-o", "json")).error

    assert (plain.code, plain.out) == (ExitCode.CONFLICT, b"")
    for told in ("version 1", "ada", '{"taken": true}', "--expect 1"):
        assert told in plain.err
    assert plain.err.count("\n") == 1
    assert (error["family"], error["exit_code"]) == ("conflict", 4)
    assert error["reason"] == "STALE_VERSION"
    assert (error["current"]["version"], error["current"]["author"]) == (1, "ada")
    assert error["current"]["value"] == {"taken": True}


async def test_creating_only_what_never_was(shell: Shell) -> None:
    await shell.ok("put", "k", "one", "--expect", "0")

    assert (await shell.run("put", "k", "again", "--expect", "0")).code == ExitCode.CONFLICT


async def test_what_does_not_exist_has_an_exit_code_of_its_own(shell: Shell) -> None:
    missing = await shell.run("get", "nothing")

    assert (missing.code, missing.out) == (ExitCode.NOT_FOUND, b"")
    assert missing.err == "error: nothing does not exist or may not be read\n"
    assert (await shell.run("rm", "nothing", "--overwrite")).code == ExitCode.NOT_FOUND


async def test_history_shows_every_version_and_reads_go_back_to_each(shell: Shell) -> None:
    await shell.ok("put", "k", "one")
    await shell.ok("put", "k", "two", "--expect", "1")
    await shell.ok("rm", "k", "--expect", "2")
    await shell.ok("revert", "k", "1")
    history = await shell.read("history", "k")
    newest = await shell.ok("history", "k", "--limit", "1", "-o", "text")

    assert history["key"] == "k"
    assert [(each["version"], each["change"], each["value"]) for each in history["versions"]] == [
        (4, "created", "one"),
        (3, "deleted", None),
        (2, "updated", "two"),
        (1, "created", "one"),
    ]
    assert [line.split("\t")[0] for line in newest.lines] == ["4"]
    assert (await shell.ok("get", "k", "--at", "2")).text == "two"
    assert (await shell.run("get", "k", "--at", "3")).code == ExitCode.NOT_FOUND


async def test_a_revision_that_has_not_come_is_refused(shell: Shell) -> None:
    early = (await shell.run("get", "k", "--at", "99", "-o", "json")).error

    assert (early["family"], early["reason"]) == ("refused", "FUTURE_REVISION")


async def test_ls_matches_whole_segments_and_tags(shell: Shell) -> None:
    for key in ("task/1", "task/10", "task/1/log"):
        await shell.ok("put", key, "x" * 300, "--tag", "t")
    await shell.ok("put", "other", "y")

    async def keys(*words: str) -> list[str]:
        return [each["key"] for each in (await shell.read("ls", *words))["entries"]]

    assert await keys("task/*") == ["task/1", "task/10"]
    assert await keys("task/1/**", "--keys") == ["task/1", "task/1/log"]
    assert await keys("--tag", "t", "--at", "2") == ["task/1", "task/10"]
    assert await keys("--tag", "t") == ["task/1", "task/1/log", "task/10"]
    table = (await shell.ok("ls", "task/1")).lines
    assert table[0].split() == [
        "KEY",
        "VERSION",
        "REVISION",
        "AUTHOR",
        "COMMITTED",
        "TAGS",
        "VALUE",
    ]
    assert table[1].endswith("x…")
    bare = (await shell.ok("ls", "task/1", "-o", "text")).lines
    assert bare[0].split("\t")[-1] == "x" * 300


async def test_an_empty_list_is_empty_and_says_so_to_people(shell: Shell) -> None:
    nothing = await shell.ok("ls", "no/such/**")

    assert (nothing.out, nothing.err) == (b"", "No entry matches.\n")
    assert await shell.read("ls") == {"entries": []}


async def test_diff_shows_lines_that_left_and_came(shell: Shell) -> None:
    await shell.ok("put", "k", '{"status": "ready", "n": 1}')
    await shell.ok("put", "k", '{"status": "done", "n": 1}', "--expect", "1")
    await shell.ok("put", "blob", "--data", "x")
    lines = (await shell.ok("diff", "**", "1", "2")).lines
    whole = (await shell.read("diff", "**", "0"))["differences"]

    assert lines[0] == "k  version 1 by ada → version 2 by ada"
    assert '-  "status": "ready",' in lines
    assert '+  "status": "done",' in lines
    assert [each["key"] for each in whole] == ["blob", "k"]
    assert whole[1]["before"] is None
    assert whole[1]["after"]["version"] == 2
    [changed] = (await shell.read("diff", "k", "1", "2"))["differences"]
    assert changed["merge"] == {"status": "done"}
    assert (await shell.ok("diff", "k", "2")).err == "No difference.\n"


async def test_private_entries_are_ones_own(shell: Shell) -> None:
    await shell.ok("put", "secret", "mine", "--private")
    bob = shell.having(agent="bob")

    assert (await shell.ok("--private", "get", "secret")).text == "mine"
    assert (await bob.run("get", "secret", "--private")).code == ExitCode.NOT_FOUND
    assert (await bob.read("ls"))["entries"] == []


@pytest.mark.parametrize(
    "words",
    [
        ["put", "k", "--data", "-"],
        ["put", "a//b", "x"],
        ["put", "../etc", "x"],
        ["put", "x" * 513, "x"],
        ["put", "k", '{"a": 1, "a": 2}', "--json"],
        ["put", "k", "x", *(word for tag in range(33) for word in ("--tag", str(tag)))],
        ["ls", "a/**/b/{"],
    ],
    ids=["2 MiB", "empty segment", "dots", "long key", "duplicate name", "33 tags", "bad pattern"],
)
async def test_bad_input_is_an_error_of_its_family_that_names_the_field(
    shell: Shell, words: list[str]
) -> None:
    outcome = await shell.run(*words, "-o", "json", typed=b"x" * (2 << 20))

    assert outcome.code in {ExitCode.INVALID, ExitCode.EXHAUSTED}
    assert outcome.error["exit_code"] == outcome.code
    assert outcome.error["message"]


async def test_a_key_that_is_not_unicode_is_invalid(shell: Shell) -> None:
    outcome = await shell.run("get", "bad\udcff", "-o", "json")

    assert outcome.error["family"] == "invalid"


async def test_a_server_that_is_not_there_is_reported_at_once(shell: Shell) -> None:
    away = shell.having(target="127.0.0.1:1")
    error = (await away.run("get", "k", "-o", "json")).error
    watching = await away.run("watch")

    assert (error["family"], error["exit_code"]) == ("unavailable", ExitCode.UNAVAILABLE)
    assert "127.0.0.1:1" in error["message"]
    assert watching.code == ExitCode.UNAVAILABLE


async def test_a_full_device_is_an_error_and_a_reader_that_left_is_none(shell: Shell) -> None:
    await shell.ok("put", "k", "-", typed=b"x" * (1 << 20))
    full = os.open("/dev/full", os.O_WRONLY)
    async with shell.started("get", "k", stdout=full) as process:
        os.close(full)
        _, complaint = await process.communicate()
        assert process.returncode == ExitCode.UNEXPECTED
    reading, writing = os.pipe()
    async with shell.started("get", "k", stdout=writing) as process:
        os.close(writing)
        assert os.read(reading, 1) == b"x"
        os.close(reading)
        _, silence = await process.communicate()
        assert process.returncode == ExitCode.OK

    assert complaint.decode() == "error: No space left on device\n"
    assert silence == b""


async def test_colours_are_for_terminals_that_want_them(shell: Shell) -> None:
    await shell.ok("put", "k", "one")
    coloured = Shell({**shell.variables, "FORCE_COLOR": "1", "TERM": "xterm"})
    plain = Shell({**coloured.variables, "NO_COLOR": "1"})

    assert b"\x1b[" not in (await shell.ok("ls")).out
    assert b"\x1b[" in (await coloured.ok("ls")).out
    assert b"\x1b[3" not in (await plain.ok("ls")).out
    assert json.loads((await coloured.ok("ls", "-o", "json")).out)["entries"][0]["key"] == "k"


async def test_what_begins_like_json_and_is_none_is_kept_with_a_warning(shell: Shell) -> None:
    for key, value in (("object", '{"a":'), ("list", "[1, 2"), ("string", ' "half')):
        put = await shell.ok("put", key, value)

        assert "does not parse" in put.err
        assert "--text" in put.err
        assert (await shell.read("get", key))["form"] == "text"
    assert (await shell.ok("put", "meant", '{"a":', "--text")).err == ""
    assert (await shell.ok("put", "plain", "hello")).err == ""
    assert (await shell.ok("put", "whole", '{"a": 1}')).err == ""


async def test_a_key_that_cannot_be_is_refused_in_plain_words(shell: Shell) -> None:
    refused = await shell.run("put", "../x", "v")

    assert refused.code == ExitCode.INVALID
    assert refused.err == "error: key: a segment of a key must not be '..'\n"


async def test_a_conflict_with_an_empty_value_says_so(shell: Shell) -> None:
    await shell.ok("put", "k", "")
    refused = await shell.run("put", "k", "v", "--expect", "7")

    assert "Its value is now empty. " in refused.err
