"""propose, vote, withdraw, proposals and explain on a real server: from a region to a decision."""

from __future__ import annotations

import asyncio

import pytest

from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import Shell
from tests.integration.cli.terminal import Terminal, lines_shown

FIRST = "design/000000000001-000"


@pytest.fixture
async def voting(shell: Shell) -> Shell:
    """A shell of ada's on a board where two of ada, bob and cyd decide about `design`."""
    voters = [word for name in ("ada", "bob", "cyd") for word in ("--voter", name)]
    await shell.ok("regions", "set", "design", "--policy", "quorum", *voters, "--approvals", "2")
    return shell


async def proposed(shell: Shell, value: str = "a log", *more: str) -> str:
    """The key of a new proposal about `design`."""
    return (await shell.ok("propose", "design", value, *more, "-o", "text")).text.strip()


async def test_a_proposal_is_voted_on_decided_and_explained(voting: Shell) -> None:
    bob, cyd = voting.having(agent="bob"), voting.having(agent="cyd")
    made = await voting.ok("propose", "design", '{"style": "log"}', "--confidence", "0.8")
    waiting = await bob.read("proposals", "list", "--mine")
    against = await cyd.ok("vote", FIRST, "reject", "--reason", "no rollback")
    decided = await bob.ok("vote", FIRST, "accept", "--confidence", "0.9")
    explained = await voting.ok("explain", "design")
    bare = await voting.ok("explain", "design", "-o", "text")

    assert made.text == f"Proposed as {FIRST}; open: 1 of 3 accept, at least 2 needed\n"
    assert made.err == f"Others vote: lavagna vote {FIRST} accept\n"
    assert [each["key"] for each in waiting["proposals"]] == [FIRST]
    assert against.err.splitlines() == [
        f"{FIRST}: ada proposes to create design",
        '  {"style": "log"}',
    ]
    assert f"You reject {FIRST}; open: 1 of 3 accept" in against.text
    assert f"You accept {FIRST}; accepted: 2 of 3 accept" in decided.text
    assert explained.lines[0] == 'design is {"style": "log"}'
    assert f"accepted as {FIRST}" in explained.lines[1]
    rows = {line.split()[0]: line for line in explained.lines[4:8] if line}
    assert list(rows) == ["VOTER", "ada", "bob", "cyd"]
    assert rows["bob"].split() == ["bob", "1", "█" * 10, "accept", "0.9"]
    assert rows["cyd"].split() == ["cyd", "1", "█" * 10, "reject", "no", "rollback"]
    assert f"decided by {FIRST}/@bob@1 at revision 3" in explained.lines
    assert "cyd (weight 1): reject: no rollback" in bare.lines


async def test_an_explanation_as_json_has_everything(voting: Shell) -> None:
    key = await proposed(voting, "a log")
    await voting.having(agent="bob").ok("vote", key, "accept", "-q")
    explained = await voting.read("explain", "design")
    earlier = await voting.read("explain", key, "--at", "1")

    assert explained["entry"]["value"] == "a log"
    assert explained["entry"]["basis"]["decision"]["proposal"] == key
    assert (explained["policy"], explained["proposal"]["outcome"]) == ("quorum", "accepted")
    assert [each["agent"] for each in explained["proposal"]["ballots"]] == ["ada", "bob"]
    assert [each["agent"] for each in explained["judgements"]] == ["ada", "bob", "cyd"]
    assert explained["lines"][1].startswith(f"proposal {key} by ada: accepted")
    assert (earlier["entry"], earlier["proposal"]["outcome"]) == (None, "open")


async def test_a_vote_is_on_what_was_looked_at_or_on_nothing(voting: Shell) -> None:
    bob = voting.having(agent="bob")
    seen = (await bob.read("proposals", "get", await proposed(voting)))["content_hash"]
    other = await bob.run("vote", FIRST, "accept", "--hash", "0" * 64, "-o", "json")
    same = await bob.ok("vote", FIRST, "accept", "--hash", seen)

    assert (other.code, other.error["reason"]) == (ExitCode.REFUSED, "CONTENT_MISMATCH")
    assert "lavagna proposals get" in other.error["hint"]
    assert "accepted: 2 of 3" in same.text
    assert same.err == ""


async def test_quiet_shows_nothing_of_what_is_voted_on(voting: Shell) -> None:
    key = await proposed(voting)
    voted = await voting.having(agent="bob").ok("vote", key, "abstain", "--quiet")
    changed = await voting.having(agent="bob").read("vote", key, "reject")

    assert voted.err == ""
    assert [(each["agent"], each["choice"]) for each in changed["ballots"]] == [
        ("ada", "accept"),
        ("bob", "reject"),
    ]


async def test_proposals_are_listed_by_key_outcome_and_whose_turn_it_is(voting: Shell) -> None:
    bob = voting.having(agent="bob")
    first, second = await proposed(voting, "a log"), await proposed(voting, "a tree")
    await bob.ok("vote", first, "accept", "-q")
    third = await proposed(voting, "a heap")

    async def keys(*words: str) -> list[str]:
        listed = await bob.read("proposals", "list", *words)
        return [each["key"] for each in listed["proposals"]]

    assert await keys() == [first, second, third]
    assert await keys("--open") == await keys("--mine") == [third]
    assert await keys("design", "--outcome", "accepted", "--outcome", "superseded") == [
        first,
        second,
    ]
    assert await keys("plan/**") == []
    assert await keys("--open", "--at", "2") == [first, second]
    table = (await bob.ok("proposals", "list")).lines
    assert table[0].split() == ["PROPOSAL", "AUTHOR", "OUTCOME", "FOR", "NEEDS", "UNTIL", "VALUE"]
    assert table[2].split() == [second, "ada", "superseded", "1", "2", "a", "tree"]
    assert (await bob.ok("proposals", "list", "plan")).err == "No proposal matches.\n"


async def test_a_proposal_is_shown_with_all_who_may_vote(voting: Shell) -> None:
    await voting.ok(
        *("regions", "set", "design", "--policy", "quorum", "--share", "0.6"),
        *("--voter", "ada", "--voter", "bob:2.5", "--voter", "cyd:veto"),
    )
    await voting.ok("agents", "standing", "bob", "--group", "small-models")
    key = await proposed(voting)
    await voting.having(agent="bob").ok("vote", key, "accept", "--reason", "short", "-q")
    lines = (await voting.ok("proposals", "get", key)).lines

    shown = dict(line.split(maxsplit=1) for line in lines[: lines.index("")])
    assert shown["outcome"] == "open"
    assert shown["because"].endswith("waiting for cyd, who may veto")
    assert (shown["would"], shown["value"]) == ("create design", "a log")
    assert [line.split() for line in lines[lines.index("") + 1 :]] == [
        ["VOTER", "GROUP", "VETO", "WEIGHT", "CHOICE", "SURE", "REASON"],
        ["bob", "small-models", "2.5", "█" * 10, "accept", "short"],
        ["ada", "ada", "1", "████", "accept", "proposed", "it"],
        ["cyd", "cyd", "yes", "1", "████", "not", "yet"],
    ]


async def test_a_deletion_is_proposed_and_voted_on_like_a_value(voting: Shell) -> None:
    bob = voting.having(agent="bob")
    await bob.ok("vote", await proposed(voting), "accept", "-q")
    key = (await voting.ok("propose", "design", "--delete", "-o", "text")).text.strip()
    voted = await bob.ok("vote", key, "accept")

    assert voted.err == f"{key}: ada proposes to delete design, now at version 1\n"
    assert (await voting.run("get", "design")).code == ExitCode.NOT_FOUND


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("accepted", ExitCode.OK),
        ("rejected", ExitCode.REJECTED),
        ("undecided", ExitCode.UNDECIDED),
        ("superseded", ExitCode.SUPERSEDED),
        ("withdrawn", ExitCode.WITHDRAWN),
    ],
)
async def test_waiting_tells_by_its_exit_code_how_it_ended(
    voting: Shell, end: str, code: ExitCode
) -> None:
    bob, cyd = voting.having(agent="bob"), voting.having(agent="cyd")
    if end == "undecided":
        await voting.ok(
            *("regions", "set", "design", "--policy", "quorum", "--voter", "ada"),
            *("--voter", "bob", "--deadline", "1s"),
        )
    key = await proposed(voting)
    waiting = asyncio.create_task(cyd.run("proposals", "wait", key, "--timeout", "60s"))
    match end:
        case "accepted":
            await bob.ok("vote", key, "accept", "-q")
        case "rejected":
            await bob.ok("vote", key, "reject", "-q")
            await cyd.ok("vote", key, "reject", "-q")
        case "superseded":
            await bob.ok("vote", await proposed(voting, "a tree"), "accept", "-q")
        case "withdrawn":
            await voting.ok("withdraw", key, "--reason", "a better one follows")
        case _:
            pass
    ended = await waiting
    document = await cyd.run("proposals", "wait", key, "-o", "json")

    assert (ended.code, document.code) == (code, code)
    assert ended.text.startswith(f"{key} was {end}: ")
    assert document.json["outcome"] == end
    assert (await cyd.run("proposals", "wait", key, "-o", "text")).text == f"{end}\n"


async def test_waiting_in_vain_has_the_code_of_a_timeout(voting: Shell) -> None:
    key = await proposed(voting)
    waited = await voting.run("proposals", "wait", key, "--timeout", "10ms")

    assert waited.code == ExitCode.TIMED_OUT
    assert "was not decided within" in waited.err
    assert f"lavagna proposals get {key}" in waited.err


async def test_withdrawing_says_that_it_was_a_proposal(voting: Shell) -> None:
    key = await proposed(voting)
    withdrawn = await voting.read("withdraw", key, "--reason", "a better one follows")
    again = await voting.run("withdraw", key, "-o", "json")

    assert (withdrawn["withdrawn"], withdrawn["merged"]) == ("proposal", None)
    assert withdrawn["proposal"]["outcome"] == "withdrawn"
    assert "a better one follows" in withdrawn["proposal"]["reason"]
    assert (again.code, again.error["reason"]) == (ExitCode.REFUSED, "POLL_CLOSED")


async def test_any_write_there_names_the_proposal_that_it_became(voting: Shell) -> None:
    put = await voting.ok("put", "design", "a log")
    bare = (await voting.ok("put", "design", "a tree", "-o", "text")).text.strip()
    bob = voting.having(agent="bob")
    await bob.ok("vote", FIRST, "accept", "-q")
    removed = await voting.ok("rm", "design", "--expect", "1")
    reverted = await voting.read("revert", "design", "1", "--expect", "1")
    await voting.ok("regions", "set", "design", "--policy", "quorum", "--voter", "ada")
    alone = await voting.ok("put", "design", "a heap")

    assert put.text == f"Proposed as {FIRST}, which waits for votes, at revision 1\n"
    assert put.err == f"See how it stands: lavagna proposals get {FIRST}\n"
    assert bare == "design/000000000002-000"
    assert (
        removed.text
        == "Proposed as design/000000000004-000, which waits for votes, at revision 4\n"
    )
    assert (reverted["kind"], reverted["key"]) == ("proposal", "design/000000000005-000")
    assert "Proposed as design/000000000006-000 and decided at once" in alone.text
    assert alone.err == ""


async def test_proposals_and_ballots_are_read_as_what_they_say(voting: Shell) -> None:
    key = await proposed(voting, "a log", "--tag", "short")
    await voting.having(agent="bob").ok("vote", key, "accept", "--reason", "fast", "-q")
    ballots = (await voting.ok("ls", "--kind", "ballot")).lines
    history = (await voting.ok("history", key, "--kind", "proposal")).lines
    votes = await voting.read("get", f"{key}/@bob", "--kind", "ballot")
    watched = (
        await voting.ok("watch", "design/**", "--since", "0", "--count", "2", "--kind", "proposal")
    ).lines

    assert ballots[2].split()[0] == f"{key}/@bob"
    assert ballots[2].endswith("accept: fast")
    assert history[1].endswith("accepted: 2 of 3 accept, at least 2 needed")
    assert "proposed a log" in history[2]
    assert (votes["value"]["choice"], votes["author"]) == ("accept", "bob")
    assert [line.split(maxsplit=3)[3] for line in watched] == [
        f"{key} proposed v1  a log",
        f"{key} decided v2  accepted: 2 of 3 accept, at least 2 needed",
    ]


async def test_a_proposal_wakes_a_trigger_and_ends_a_wait(voting: Shell) -> None:
    changes = ("--change", "proposed", "--change", "decided")
    await voting.ok(
        "triggers", "set", "ada.judge", "--on", "design/**", *changes, "--mode", "every"
    )
    bob = voting.having(agent="bob")
    condition = "entry.value == 'a log'"
    waiting = asyncio.create_task(
        voting.ok("wait", condition, "--on", "design/*", "--kind", "proposal", "-o", "text")
    )
    key = await proposed(bob)
    await voting.ok("vote", key, "accept", "-q")
    waited = await waiting
    fired = (await voting.read("activations", "list"))["activations"]

    assert waited.text == f"{key}\n"
    assert [each["key"] for each in fired] == [key]


async def test_the_owner_of_a_region_decides_alone(shell: Shell) -> None:
    await shell.ok("regions", "set", "goal", "--policy", "owner", "--owner", "ceo")
    listed = (await shell.ok("regions", "list")).lines
    made = await shell.read("propose", "goal", "ship it")
    ceo = shell.having(agent="ceo")
    await ceo.ok("vote", made["key"], "accept", "-q")
    written = await ceo.ok("put", "goal", "ship it well", "--expect", "1")

    assert listed[1].split()[:5] == ["goal", "owner", "ceo", "decides", "ceo"]
    assert [each["agent"] for each in made["electors"]] == ["ceo"]
    assert written.text.startswith("goal is at version 2")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["propose", "notes", "free"], ExitCode.REFUSED, "That is `lavagna put`"),
        (["propose", "design", "x", "--expect", "4"], ExitCode.CONFLICT, "version"),
        (["vote", "design", "accept"], ExitCode.NOT_FOUND, f"Open there: {FIRST}"),
        (["vote", "design/7", "accept"], ExitCode.NOT_FOUND, "does not exist"),
        (["proposals", "get", "design"], ExitCode.NOT_FOUND, f"Open there: {FIRST}"),
        (["proposals", "wait", "design"], ExitCode.NOT_FOUND, f"Open there: {FIRST}"),
        (["proposals", "list", "a//b"], ExitCode.INVALID, "pattern"),
        (["withdraw", "design"], ExitCode.REFUSED, f"Open there: {FIRST}"),
        (["explain", "design"], ExitCode.NOT_FOUND, f"Open there: {FIRST}"),
        (["explain", FIRST, "--at", "99"], ExitCode.REFUSED, "has not happened"),
    ],
)  # fmt: skip
async def test_wrong_input_is_told_with_what_to_do(
    voting: Shell, words: list[str], code: ExitCode, said: str
) -> None:
    await proposed(voting)
    outcome = await voting.run(*words)

    assert (outcome.code, outcome.text) == (code, "")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


async def test_who_may_not_vote_and_who_comes_too_late_is_told_why(voting: Shell) -> None:
    key = await proposed(voting)
    stranger = await voting.having(agent="eve").run("vote", key, "accept", "-o", "json")
    await voting.having(agent="bob").ok("vote", key, "accept", "-q")
    late = await voting.having(agent="cyd").run("vote", key, "accept", "-o", "json")
    nobody = ("regions", "set", "plan", "--policy", "quorum", "--voter", "ada", "--approvals", "2")
    await voting.ok(*nobody)
    hopeless = await voting.run("put", "plan", "x", "-o", "json")

    assert (stranger.code, stranger.error["reason"]) == (ExitCode.REFUSED, "NOT_A_VOTER")
    assert "lavagna proposals get" in stranger.error["hint"]
    assert (late.code, late.error["reason"]) == (ExitCode.REFUSED, "POLL_CLOSED")
    assert "lavagna explain" in late.error["hint"]
    assert hopeless.error["reason"] == "QUORUM_IMPOSSIBLE"
    assert "lavagna regions get" in hopeless.error["hint"]


async def test_a_decision_is_legible_and_coloured_on_a_terminal_of_80_columns(
    voting: Shell,
) -> None:
    reason = "it has no rollback, and whoever has to repair it at night will want one"
    key = await proposed(voting, "a log " * 30)
    await voting.having(agent="cyd").ok("vote", key, "reject", "--reason", reason, "-q")
    terminal = Terminal(Shell({**voting.variables, "COLUMNS": "80"}))
    explained, got, listed = [
        (await terminal.run(*words))[1]
        for words in (("explain", key), ("proposals", "get", key), ("proposals", "list"))
    ]

    for shown in (explained, got, listed):
        assert max(map(len, lines_shown(shown))) <= 80
    assert "\x1b[31mreject" in explained
    assert "\x1b[32maccept" in explained
    told = " ".join(" ".join(lines_shown(explained)).split())
    assert all(word in told for word in reason.split())
    assert key in lines_shown(listed)[1]


async def test_open_proposals_and_choices_complete(voting: Shell) -> None:
    key = await proposed(voting)

    async def completed(*words: str) -> list[str]:
        typed = {
            "_LAVAGNA_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(["lavagna", *words]),
            "COMP_CWORD": str(len(words)),
        }
        return (await Shell({**voting.variables, **typed}).ok()).lines

    assert await completed("vote", "des") == [key]
    assert await completed("vote", key, "a") == ["accept", "abstain"]
    assert await completed("proposals", "list", "--outcome", "acc") == ["accepted"]
