"""claim, claims, resolve, withdraw and explain on a real server: from dissent to what was true."""

from __future__ import annotations

import pytest

from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import Shell
from tests.integration.cli.terminal import Terminal, lines_shown


@pytest.fixture
async def merging(shell: Shell) -> Shell:
    """A shell of ada's on a board where claims about `effort` are merged, for the ceo."""
    await shell.ok("regions", "set", "effort", "--policy", "weighted", "--owner", "ceo")
    return shell


async def claimed(shell: Shell) -> None:
    """Three claims, of which one is far off."""
    for agent, days, confidence in (("ada", "3", "0.8"), ("bob", "5", "0.6"), ("cyd", "21", "0.4")):
        await shell.having(agent=agent).ok("claim", "effort", days, "--confidence", confidence)


async def test_claims_are_merged_listed_and_explained_with_the_dissent(merging: Shell) -> None:
    first = await merging.ok("claim", "effort", "3", "--confidence", "0.8")
    bob = await merging.having(agent="bob").ok("claim", "effort", "5", "-o", "text")
    cyd = await merging.having(agent="cyd").read("claim", "effort", "21", "--ttl", "1h")
    listed = await merging.read("claims", "effort")
    table = (await merging.ok("claims", "effort")).lines
    explained = (await merging.ok("explain", "effort")).lines
    everything = await merging.read("explain", "effort")

    rule = "weighted-median@1"
    assert (
        first.text == f"You claim 3 (0.8); effort is 3 at version 1, merged of 1 claim by {rule}\n"
    )
    assert bob.text == "5\n"
    assert (cyd["claim"]["key"], cyd["merged"]["value"]) == ("effort/@cyd", 5)
    assert [(each["author"], each["value"]) for each in listed["claims"]] == [
        ("ada", 3),
        ("bob", 5),
        ("cyd", 21),
    ]
    assert table[0].split() == ["AGENT", "SURE", "VERSION", "CLAIMED", "UNTIL", "TAGS", "VALUE"]
    assert table[3].endswith(" 21")
    assert explained[0] == "effort is 5"
    assert f"merged of 3 claims by {rule}, against ada, cyd" in explained[1]
    assert [line.split() for line in explained[3:7]] == [
        ["AGENT", "CLAIM", "STATED", "CALIBRATED", "TRUST", "WEIGHT", "AGREES", "STANDS"],
        ["bob", "5", "1", "1", "1", "1", "█" * 10, "100%", "for"],
        ["cyd", "21", "1", "1", "1", "1", "█" * 10, "24%", "against"],
        ["ada", "3", "0.8", "0.8", "1", "0.8", "█" * 8, "60%", "against"],
    ]
    assert "  weight of ada: states 0.8, calibrated 0.8; times trust 1 = 0.8" in explained
    assert explained[-1] == "  dissent: ada, cyd"
    assert (everything["rule"], everything["dissent"]) == (rule, ["ada", "cyd"])
    assert {each["agent"]: each["weight"] for each in everything["contributions"]} == {
        "ada": 0.8,
        "bob": 1.0,
        "cyd": 1.0,
    }


async def test_an_explanation_is_legible_at_80_columns_with_its_bars(merging: Shell) -> None:
    await merging.ok("agents", "standing", "cyd", "--trust", "0.5", "--group", "small-models")
    verdict = "it can be done, but only if the store is a log and nobody asks for a query language"
    for agent in ("ada", "bob", "cyd"):
        said = verdict if agent != "cyd" else "no"
        shell = merging.having(agent=agent)
        await shell.ok("claim", "effort/verdict", said, "--confidence", "0.9")
    terminal = Terminal(Shell({**merging.variables, "COLUMNS": "80"}))
    _, shown = await terminal.run("explain", "effort/verdict")
    lines = lines_shown(shown)
    _, regions = await terminal.run("regions", "list")

    assert max(map(len, [*lines, *lines_shown(regions)])) <= 80
    [header] = [line for line in lines if line.startswith("AGENT")]
    rows = {line.split()[0]: line for line in lines[lines.index(header) + 1 :] if line.strip()}
    assert header.split()[-6:] == ["CLAIM", "STATED", "CALIBRATED", "TRUST", "WEIGHT", "STANDS"]
    assert rows["ada"].split()[-6:] == ["0.9", "0.9", "1", "0.9", "█" * 10, "for"]
    assert rows["cyd"].split()[-6:] == ["0.9", "0.9", "0.5", "0.45", "█" * 5, "against"]
    assert "\x1b[31magainst" in shown
    assert "\x1b[34m█" in shown


async def test_what_turned_out_true_is_learnt_from(merging: Shell) -> None:
    await claimed(merging)
    ceo = merging.having(agent="ceo")
    resolved = await ceo.ok("resolve", "effort", "4", "--tolerance", "1")
    explained = (await merging.ok("explain", "effort")).lines
    left = await merging.read("claims", "effort")
    history = (await merging.ok("history", "effort/@cyd", "--kind", "claim")).lines
    await merging.ok("claim", "effort", "9", "--confidence", "0.8")
    [weighed] = (await merging.read("explain", "effort"))["contributions"]

    assert resolved.text == "effort is 4, version 4; right: ada, bob; wrong: cyd\n"
    assert explained[0] == "effort is 4"
    assert explained[1].endswith(": resolved")
    assert {"  right: ada, bob", "  wrong: cyd"} <= set(explained)
    assert left["claims"] == []
    assert history[1].endswith("was wrong")
    assert (weighed["confidence"], weighed["calibrated"]) == (0.8, pytest.approx(0.84))


async def test_any_write_there_names_the_claim_that_it_became(merging: Shell) -> None:
    put = await merging.ok("put", "effort", "3", "--confidence", "0.8")
    bare = await merging.having(agent="bob").ok("put", "effort", "5", "-o", "text")
    document = await merging.read("put", "effort", "4")
    removed = await merging.ok("rm", "effort")

    assert put.text == "Claimed as effort/@ada, version 1, at revision 1\n"
    assert put.err == "See what it came to: lavagna explain effort\n"
    assert bare.text == "effort/@bob\n"
    assert (document["kind"], document["key"], document["version"]) == ("claim", "effort/@ada", 2)
    assert removed.text == "Withdrew your claim effort/@ada, at revision 4\n"
    assert (await merging.ok("get", "effort")).text == "5"


async def test_withdrawing_says_that_it_was_a_claim_and_what_is_left(merging: Shell) -> None:
    await claimed(merging)
    withdrawn = await merging.ok("withdraw", "effort")
    by_its_own_key = await merging.having(agent="bob").read("withdraw", "effort/@bob")
    last = await merging.having(agent="cyd").ok("withdraw", "effort")
    again = await merging.run("withdraw", "effort", "-o", "json")

    assert withdrawn.text.startswith("Withdrew your claim about effort; the others come to ")
    assert (by_its_own_key["withdrawn"], by_its_own_key["merged"]["value"]) == ("claim", 21)
    assert last.text == "Withdrew your claim about effort; no claim is left\n"
    assert again.code == ExitCode.NOT_FOUND
    assert again.error["hint"] == "You have no claim about it; see `lavagna claims effort`."


async def test_claims_and_merges_are_watched_and_listed_as_what_they_say(merging: Shell) -> None:
    await claimed(merging)
    watched = (await merging.ok("watch", "--since", "2", "--count", "1")).lines
    document = (await merging.read("watch", "--since", "2", "--count", "1"))["entries"]
    claims = (await merging.ok("ls", "--kind", "claim")).lines
    shown = (await merging.ok("get", "effort", "-o", "table")).text

    assert [line.split(maxsplit=3)[3] for line in watched] == [
        "effort/@cyd claim created v1  21 (0.4)",
        "effort updated v3  5  merged of 3 claims by weighted-median@1, against ada, cyd",
    ]
    assert [each["kind"] for each in document] == ["claim", "note"]
    assert document[1]["basis"]["merge"]["dissent"] == ["ada", "cyd"]
    assert [line.split()[0] for line in claims[1:]] == ["effort/@ada", "effort/@bob", "effort/@cyd"]
    assert claims[3].endswith("21 (0.4)")
    assert "rests on   merged of 3 claims by weighted-median@1" in shown


async def test_a_region_shows_how_it_merges_and_who_reconciles(shell: Shell) -> None:
    rules = ("--merge", "number=mean", "--merge", "text=reconcile", "--merge", "field:days=max")
    others = ("--threshold", "0.4", "--group-cap", "1.5", "--reconciler", "eve")
    made = await shell.read("regions", "set", "effort", "--policy", "weighted", *rules, *others)
    shown = (await shell.ok("regions", "get", "effort")).lines
    listed = (await shell.ok("regions", "list")).lines

    assert made["merging"]["fields"] == {"days": "max"}
    assert (made["merging"]["threshold"], made["merging"]["group_cap"]) == (0.4, 1.5)
    properties = dict(line.split(maxsplit=1) for line in shown)
    assert properties["merging"] == "number=mean, text=reconcile, field:days=max"
    assert (properties["threshold"], properties["reconcilers"]) == ("0.4", "eve")
    assert "group cap" in "\n".join(shown)
    assert "number=mean text=reconcile field:days=max" in listed[1]


async def test_a_region_shows_who_votes_and_what_is_needed(shell: Shell) -> None:
    made = await shell.read(
        *("regions", "set", "design", "--policy", "quorum", "--voter", "team:leads:2:veto"),
        *("--voter", "ada", "--share", "0.6", "--deadline", "1h30m"),
        *("--groups-min", "2", "--group-cap", "1"),
    )
    shown = (await shell.ok("regions", "get", "design")).text

    assert made["electorate"]["voters"] == [
        {"name": "team:leads", "weight": 2.0, "veto": True},
        {"name": "ada", "weight": 1.0, "veto": False},
    ]
    assert (made["electorate"]["share"], made["electorate"]["deadline_seconds"]) == (0.6, 5400.0)
    assert "team:leads:2:veto, ada" in shown
    assert "0.6 of the weight" in shown
    assert "1h30m" in shown
    assert "at least 2" in shown


async def test_a_standing_is_shown_and_said_a_part_at_a_time(shell: Shell) -> None:
    unknown = await shell.read("agents", "standing", "bob")
    trusted = await shell.read("agents", "standing", "bob", "--trust", "0.5")
    grouped = await shell.ok("agents", "standing", "bob", "--group", "small-models")

    assert unknown == {"agent": "bob", "trust": 1.0, "group": "", "version": 0}
    assert (trusted["trust"], trusted["group"], trusted["version"]) == (0.5, "", 1)
    assert [line.split() for line in grouped.lines] == [
        ["agent", "bob"],
        ["trust", "0.5", "█" * 5],
        ["group", "small-models"],
        ["version", "2"],
    ]


async def test_an_import_leaves_out_what_only_a_server_makes(merging: Shell, board: str) -> None:
    await claimed(merging)
    exported = await merging.ok("export")
    await merging.ok("boards", "create", f"{board}-copy")
    copy = merging.having(board=f"{board}-copy")
    imported = await copy.ok("import", "-", typed=exported.out)

    assert imported.err == (
        "3 versions of proposals, ballots and claims were left out, which only a server makes;"
        " what they came to is there.\n"
    )
    assert [each["key"] for each in (await copy.read("ls"))["entries"]] == ["effort"]
    assert (await copy.ok("get", "effort")).text == "5"
    assert (await copy.read("ls", "--kind", "claim"))["entries"] == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["claim", "notes", "3"], ExitCode.REFUSED, "lavagna regions list"),
        (["claim", "a//b", "3"], ExitCode.INVALID, "key"),
        (["resolve", "effort", "3"], ExitCode.NOT_FOUND, "claims about effort"),
        (["resolve", "notes", "3"], ExitCode.REFUSED, "are not merged"),
        (["withdraw", "effort", "--reason", "x"], ExitCode.USAGE, "without --reason"),
        (["explain", "effort"], ExitCode.NOT_FOUND, "does not exist"),
        (["regions", "set", "a", "--policy", "weighted", "--merge", "number=best"],
         ExitCode.INVALID, "use one of mean, median"),
        (["regions", "set", "a", "--policy", "owner"], ExitCode.INVALID, "whose region"),
    ],
)  # fmt: skip
async def test_wrong_input_about_claims_is_told_with_what_to_do(
    merging: Shell, words: list[str], code: ExitCode, said: str
) -> None:
    outcome = await merging.run(*words)

    assert (outcome.code, outcome.text) == (code, "")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
