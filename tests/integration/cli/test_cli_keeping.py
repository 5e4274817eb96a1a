"""boards, regions and agents on a real server."""

from __future__ import annotations

from pathlib import Path

from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import Shell


async def test_a_board_is_created_listed_and_deleted(shell: Shell, board: str) -> None:
    name = f"{board}-lab"
    made = await shell.read("boards", "create", name, "--title", "The lab 🧪")
    table = (await shell.ok("boards", "list")).text
    await shell.ok("put", "k", "there", "--board", name)
    again = await shell.run("boards", "create", name)
    deleted = await shell.ok("boards", "delete", name, "--yes")
    names = [each["id"] for each in (await shell.read("boards", "list"))["boards"]]

    assert (made["id"], made["display_name"]) == (name, "The lab 🧪")
    assert "The lab 🧪" in table
    assert again.code == ExitCode.CONFLICT
    assert deleted.text == f"Deleted board {name}\n"
    assert name not in names
    assert (await shell.run("get", "k", "--board", name)).code == ExitCode.NOT_FOUND


async def test_nothing_is_deleted_when_nobody_can_be_asked(shell: Shell, board: str) -> None:
    refused = await shell.run("boards", "delete", board)

    assert refused.code == ExitCode.USAGE
    assert "pass --yes" in refused.err
    assert board in (await shell.ok("boards", "list", "-o", "text")).text


async def test_compaction_gives_up_history_before_a_revision(shell: Shell) -> None:
    for version in range(3):
        await shell.ok("put", "k", str(version), "--expect", str(version))
    compacted = await shell.read("boards", "compact", "3", "--yes")
    gone = (await shell.run("get", "k", "--at", "1", "-o", "json")).error

    assert compacted == {"oldest_revision": 3}
    assert (gone["family"], gone["reason"]) == ("refused", "COMPACTED")
    assert (await shell.ok("get", "k", "--at", "3")).text == "2"


async def test_a_region_rules_who_writes_and_what(shell: Shell, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "required": ["title"]}')
    rules = ("--owner", "ada", "--writer", "ada", "--writer", "team:leads", "--reader", "*")
    kept = ("--schema", f"@{schema}", "--keep-versions", "5", "--keep-for", "1d")
    made = await shell.read("regions", "set", "plan", *rules, *kept)
    outsider = await shell.having(agent="bob").run("put", "plan/a", "{}", "-o", "json")
    shapeless = await shell.run("put", "plan/a", "{}", "-o", "json")
    await shell.ok("put", "plan/a", '{"title": "ok"}')

    assert (made["path"], made["owner"], made["policy"]) == ("plan", "ada", "guarded")
    assert made["schema"] == {"type": "object", "required": ["title"]}
    assert made["retention"] == {"age_seconds": 86400.0, "versions_max": 5}
    assert outsider.error["reason"] == "NOT_A_WRITER"
    assert outsider.code == ExitCode.REFUSED
    assert shapeless.error["family"] == "invalid"
    assert "title" in shapeless.error["message"]


async def test_a_region_is_listed_shown_replaced_and_deleted(shell: Shell) -> None:
    await shell.ok("regions", "set", "status", "--policy", "latest")
    await shell.ok("put", "status/a", "one")
    await shell.ok("put", "status/a", "two")
    stale = await shell.run("regions", "set", "status", "--expect", "9")
    listed = (await shell.read("regions", "list"))["regions"]
    shown = (await shell.ok("regions", "get", "status")).text
    await shell.ok("regions", "delete", "status", "--yes")

    assert stale.code == ExitCode.CONFLICT
    assert [(each["path"], each["policy"]) for each in listed] == [("status", "latest")]
    assert "everyone" in shown
    assert (await shell.ok("get", "status/a")).text == "two"
    assert (await shell.run("regions", "get", "status")).code == ExitCode.NOT_FOUND
    assert (await shell.run("put", "status/a", "three")).code == ExitCode.REFUSED


async def test_an_agent_is_registered_used_rotated_and_revoked(shell: Shell) -> None:
    register = ("agents", "register", "bob", "--role", "observer", "--team", "leads")
    made = await shell.read(*register)
    bob = shell.having(token=made["token"])
    who = await bob.read("agents", "whoami")
    refused = (await bob.run("put", "k", "v", "-o", "json")).error
    rotated = (await shell.ok("agents", "rotate", "bob", "--yes", "-o", "text")).text.strip()
    old = (await bob.run("ls", "-o", "json")).error
    new = shell.having(token=rotated)
    await new.ok("ls")
    await shell.ok("agents", "revoke", "bob", "--yes")

    assert (made["agent"]["id"], made["agent"]["teams"]) == ("bob", ["leads"])
    assert (who["member"]["id"], who["member"]["role"]) == ("bob", "observer")
    assert refused["family"] == "refused"
    assert old["reason"] == "UNAUTHENTICATED"
    assert "LAVAGNA_TOKEN" in old["hint"]
    assert (await new.run("ls")).code == ExitCode.REFUSED
    listed = (await shell.read("agents", "list"))["agents"]
    assert ("bob", True) in [(each["id"], each["revoked"]) for each in listed]


async def test_a_token_is_all_that_is_printed_so_that_a_shell_can_take_it(shell: Shell) -> None:
    printed = await shell.ok("agents", "register", "carol")
    rotated = await shell.ok("agents", "rotate", "carol", "--yes")

    for each in (printed, rotated):
        assert each.text.removesuffix("\n").isidentifier()
        assert "cannot be read again" in each.err
        assert each.text.strip() not in each.err
    carol = shell.having(token=rotated.text.strip())
    assert (await carol.read("agents", "whoami"))["member"]["id"] == "carol"
    assert (await shell.run("agents", "register", "carol")).code == ExitCode.CONFLICT


async def test_a_token_that_is_in_use_is_not_ended_unasked(shell: Shell) -> None:
    token = (await shell.ok("agents", "register", "carol")).text.strip()
    refused = await shell.run("agents", "rotate", "carol")

    assert refused.code == ExitCode.USAGE
    assert "pass --yes" in refused.err
    await shell.having(token=token).ok("ls")


async def test_whoami_tells_name_role_and_how_it_is_known(shell: Shell, board: str) -> None:
    shown = (await shell.ok("agents", "whoami")).text
    told = await shell.read("agents", "whoami")

    for words in ("ada", "admin", "trusted loopback", board):
        assert words in shown
    assert told["trusted"] is True
    assert "/lavagna.v1.Entries/Commit" in told["methods"]


async def test_the_list_of_agents_and_whoami_tell_the_same_role(shell: Shell) -> None:
    await shell.ok("agents", "register", "carol", "--role", "observer")
    told = {
        name: (await shell.having(agent=name).read("agents", "whoami"))["member"]["role"]
        for name in ("ada", "carol")
    }
    listed = {each["id"]: each["role"] for each in (await shell.read("agents", "list"))["agents"]}

    assert listed == told == {"ada": "admin", "carol": "observer"}
