"""triggers, activations and try on a real server."""

from __future__ import annotations

from typing import Any

import pytest

import lavagna
from lavagna_cli.exits import ExitCode
from tests.integration.cli.shell import Shell

READY = "entry.value.status == 'ready'"
BUILD = ("triggers", "set", "ada.build", "--on", "tasks/{task}", "--when", READY, "--own-writes")


async def fired(shell: Shell) -> Any:
    """The one activation of a trigger that has just fired."""
    await shell.ok(*BUILD, "--rating", "entry.value.priority")
    await shell.ok("put", "tasks/a", '{"status": "ready", "priority": 7}')
    [activation] = (await shell.read("activations", "list"))["activations"]
    return activation


async def test_a_trigger_is_set_shown_suspended_and_deleted(shell: Shell) -> None:
    made = await shell.read(*BUILD, "--limit", "lease=5s", "--limit", "attempts=2")
    again = await shell.read(*BUILD, "--limit", "lease=5s", "--limit", "attempts=2")
    suspended = await shell.read("triggers", "suspend", "ada.build")
    table = (await shell.ok("triggers", "list")).text
    resumed = await shell.read("triggers", "resume", "ada.build")
    listed = (await shell.read("triggers", "list"))["triggers"]
    await shell.ok("triggers", "delete", "ada.build", "--yes")

    assert (made["id"], made["agent"], made["mode"]) == ("ada.build", "ada", "edge")
    assert made["on"][0]["pattern"] == "tasks/{task}"
    assert (made["limits"]["lease_seconds"], made["limits"]["attempts_max"]) == (5.0, 2)
    assert made["version"] == again["version"] == 1
    assert (suspended["suspended"], resumed["suspended"]) == (True, False)
    assert "suspended" in table
    assert [each["id"] for each in listed] == ["ada.build"]
    assert (await shell.run("triggers", "get", "ada.build")).code == ExitCode.NOT_FOUND


async def test_a_due_trigger_says_when_it_fires_next(shell: Shell) -> None:
    cron = ("--cron", "0 9 * * 1-5", "--time-zone", "Europe/Rome")
    made = await shell.read("triggers", "set", "ada.daily", *cron)
    once = await shell.read("triggers", "set", "ada.once", "--due-at", "2999-01-01T00:00:00Z")
    shown = (await shell.ok("triggers", "get", "ada.daily")).text

    assert (made["mode"], made["schedule"]["cron"]) == ("due", "0 9 * * 1-5")
    assert made["schedule"]["time_zone"] == "Europe/Rome"
    assert once["next_due_at"] == "2999-01-01T00:00:00.000000Z"
    assert "0 9 * * 1-5 Europe/Rome" in shown
    assert "next due" in shown


async def test_a_firing_is_listed_and_can_be_held_released_cancelled_and_replayed(
    shell: Shell,
) -> None:
    activation = await fired(shell)
    name = activation["id"]
    held = await shell.read("activations", "hold", name, "--until", "2999-01-01")
    let_go = await shell.read("activations", "release", name)
    cancelled = await shell.read("activations", "cancel", name, "--reason", "not needed")
    waiting = await shell.read("activations", "list", "--state", "waiting")
    replayed = await shell.read("activations", "replay", name)
    shown = (await shell.ok("activations", "get", name)).text

    assert (activation["state"], activation["key"]) == ("waiting", "tasks/a")
    assert (activation["bind"], activation["rating"]) == ({"task": "a"}, 7)
    assert (held["state"], let_go["state"]) == ("held", "waiting")
    assert (cancelled["state"], cancelled["reason"]) == ("cancelled", "not needed")
    assert waiting == {"activations": []}
    assert (replayed["state"], replayed["attempt"]) == ("waiting", 0)
    assert "task=a" in shown


async def test_activations_are_listed_by_trigger_state_and_number(shell: Shell) -> None:
    await fired(shell)
    await shell.ok("put", "tasks/b", '{"status": "ready", "priority": 1}')

    async def keys(*words: str) -> list[str]:
        listed = await shell.read("activations", "list", *words)
        return [each["key"] for each in listed["activations"]]

    assert await keys() == ["tasks/b", "tasks/a"]
    assert await keys("--limit", "1") == ["tasks/b"]
    assert await keys("--trigger", "ada.build", "--limit", "0") == ["tasks/b", "tasks/a"]
    assert await keys("--state", "leased", "--state", "dead") == []
    table = (await shell.ok("activations", "list")).lines
    assert table[0].split()[:4] == ["ACTIVATION", "STATE", "TRIGGER", "KEY"]
    assert "0/5" in table[1]


async def test_a_leased_activation_shows_its_holder(shell: Shell, target: str, board: str) -> None:
    activation = await fired(shell)
    async with lavagna.connect(target, board=board, agent="ada") as connected:
        [lease] = await connected.activations.acquire()
        leased = await shell.read("activations", "get", activation["id"])
        await connected.activations.complete(lease.token)
    done = await shell.read("activations", "get", activation["id"])

    assert (leased["state"], leased["holder"], leased["attempt"]) == ("leased", "ada", 1)
    assert leased["lease_expires_at"] > leased["fired_at"]
    assert done["state"] == "completed"


async def test_try_says_what_would_fire_and_why_not(shell: Shell) -> None:
    await shell.ok("put", "tasks/a", '{"status": "ready"}')
    await shell.ok("put", "tasks/b", '{"status": "open"}')
    inline = ("try", "--on", "tasks/{task}", "--when", READY)
    trial = await shell.read(*inline)
    earlier = await shell.read(*inline, "--at", "1", "--rating", "5")
    one = await shell.read(*inline, "--key", "tasks/b")
    plain = await shell.ok(*inline)

    verdicts = {each["key"]: each["verdict"] for each in trial["evaluations"]}
    assert (trial["revision"], trial["would_fire"]) == (2, True)
    assert verdicts == {"tasks/a": "true", "tasks/b": "false"}
    assert [(each["key"], each["rating"]) for each in earlier["evaluations"]] == [("tasks/a", 5)]
    assert one["would_fire"] is False
    assert plain.err == "At revision 2 it would fire.\n"
    assert "the condition does not hold" in plain.text


async def test_try_takes_a_trigger_that_is_set(shell: Shell) -> None:
    await shell.ok(*BUILD)
    await shell.ok("put", "tasks/a", '{"status": 1}')

    assert (await shell.read("try", "ada.build"))["would_fire"] is False
    assert (await shell.run("try", "ada.none")).code == ExitCode.NOT_FOUND


@pytest.mark.parametrize(
    "words",
    [
        ["--on", "tasks/{task}", "--when", "entry.value +"],
        ["--on", "a//b"],
        ["--cron", "every day"],
        ["--cron", "0 9 * * *", "--time-zone", "Mars/Olympus"],
        ["--on", "a", "--limit", "lease=2d"],
    ],
    ids=["no CEL", "no pattern", "no rule", "no zone", "too long a lease"],
)
async def test_a_trigger_that_breaks_a_rule_is_invalid(shell: Shell, words: list[str]) -> None:
    error = (await shell.run("triggers", "set", "ada.bad", *words, "-o", "json")).error

    assert error["family"] == "invalid"
    assert await shell.read("triggers", "list") == {"triggers": []}


async def test_a_trigger_that_fires_once_is_shown_with_its_instant(shell: Shell) -> None:
    there = Shell({**shell.variables, "TZ": "UTC"})
    await there.ok("triggers", "set", "once", "--due-at", "2030-01-01T09:00:00Z")
    listed = (await there.ok("triggers", "list")).text
    shown = (await there.ok("triggers", "get", "once")).text

    assert "2030-01-01 09:00:00" in listed
    assert "schedule 2030-01-01 09:00:00" in shown
