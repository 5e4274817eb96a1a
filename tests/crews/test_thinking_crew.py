"""A crew that thinks with a model over HTTP: prompts, tokens, prices, and a model that says no."""

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lavagna_crew.demo.launch import ACCEPTED, NOT_ACCEPTED
from lavagna_crew.models.scripted import Script, script_for
from lavagna_crew.terms import DESIGNS_MAX
from tests.crews.openai_server import Act, Fails, OpenAIServer, Says, openai_server
from tests.crews.stages import board_on, demonstration, launch, server_on

pytestmark = pytest.mark.slow


def thinking_with(server: OpenAIServer, tmp_path: Path, **more: str) -> dict[str, str]:
    """An environment in which this server is the model."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "OPENAI_BASE_URL": server.address,
        "LAVAGNA_MODEL_PRICE": "1/10",
        **more,
    }


def turn_of(question: Mapping[str, Any]) -> str:
    """The turn that a question over HTTP belongs to, which only its words tell."""
    shape = question["response_format"]["json_schema"]["name"]
    words = question["messages"][1]["content"]
    if shape in {"goal", "design", "verdict"}:
        return {"goal": "ceo/goal", "design": "cto/design-1", "verdict": "ceo/judge-1"}[shape]
    if shape == "opinion":
        voter = re.search(r"You are ([a-z0-9-]+), ", question["messages"][0]["content"])
        assert voter is not None
        return f"{voter[1]}/vote-1"
    found = re.search(r"## Task ([a-z-]+):", words)
    assert found is not None
    if shape == "suite":
        return f"tester/{found[1]}/suite-1"
    return f"programmer/{found[1]}/{'repair-1-1' if '## Failed tests' in words else 'build'}"


def like(script: Script) -> Callable[[Mapping[str, Any]], Act]:
    """Answers as the script does, and counts tokens."""
    return lambda question: Says(json.dumps(script.replies[turn_of(question)]), tokens=(100, 20))


async def test_a_crew_that_thinks_over_http_builds_the_program_and_accounts_for_its_tokens(
    tmp_path: Path,
) -> None:
    script = script_for("lru-cache")
    assert script is not None
    busy, invalid = Fails(429, "busy", headers={"retry-after": "0"}), Says("{}", tokens=(7, 3))
    async with (
        openai_server(busy, invalid, answer=like(script), models=["thinker"]) as model,
        server_on(tmp_path / "data") as server,
    ):
        environment = thinking_with(model, tmp_path)
        asked = launch(
            tmp_path, script.task, target=server.target, board="ours", environment=environment
        )
        async with demonstration(asked) as demo:
            assert await demo.end() == ACCEPTED
        async with board_on(server, "ours") as board:
            usage = {one.value["turn"]: one.value async for one in board.entries("usage/**")}
            presence = (await board.get("crew/ceo")).value

    assert demo.transcript.lines[0].startswith("A real model thinks")
    goal = usage["ceo/goal"]
    assert (goal["calls"], goal["prompt_tokens"], goal["completion_tokens"]) == (3, 107, 23)
    assert goal["dollars"] == pytest.approx((107 * 1 + 23 * 10) / 1_000_000)
    assert {one["model"] for one in usage.values()} == {"thinker"}
    # A vote that would come too late is not thought about.
    assert all("/vote-" in turn for turn in set(script.replies) - set(usage))
    assert presence["role"] == "ceo"
    calls, prompt = len(usage) + 2, 100 * len(usage) + 7
    spent = rf"thinker; {prompt:,} prompt and [\d,]+ completion tokens in {calls} calls, \$0\.00"
    await demo.transcript.match(spent)
    words = {turn_of(one): one["messages"][1]["content"] for one in model.questions[2:]}
    assert "AssertionError: 2 != 1" in words["programmer/cache/repair-1-1"]
    assert "class LRUCache" in words["programmer/simulate/build"]
    assert "class LRUCache" not in words["tester/simulate/suite-1"]
    votes = [said for turn, said in words.items() if "/vote-" in turn]
    assert len(votes) >= 2
    assert all(
        "## Task simulate" in said and "one experienced programmer" in said for said in votes
    )


async def test_a_crew_that_agrees_on_nothing_ends_with_what_was_said_against_it(
    tmp_path: Path,
) -> None:
    script = script_for("lru-cache")
    assert script is not None
    usual = like(script)
    against = {"choice": "reject", "reason": "nobody needs it", "confidence": 1, "hours": 5}

    def object_to_all(question: Mapping[str, Any]) -> Act:
        return Says(json.dumps(against)) if "/vote-" in turn_of(question) else usual(question)

    async with openai_server(answer=object_to_all) as model:
        environment = thinking_with(model, tmp_path, LAVAGNA_MODEL="thinker")
        async with demonstration(launch(tmp_path, "a thing", environment=environment)) as demo:
            assert await demo.end() == NOT_ACCEPTED

    last = next(line for line in demo.transcript.lines if line.startswith("Not accepted: "))
    assert f"the crew agrees on no design; the last one, design {DESIGNS_MAX}, ended" in last
    assert "nobody needs it" in last
    votes = [line for line in demo.transcript.lines if line.startswith("Vote:")]
    assert len(votes) == DESIGNS_MAX
    await demo.transcript.match("Built:  .*, 0 files and 0 of tests")
    designs = [one for one in model.questions if turn_of(one).startswith("cto/")]
    assert "reject: nobody needs it" in designs[-1]["messages"][1]["content"]


async def test_a_model_that_refuses_ends_the_demonstration_with_the_remedy(tmp_path: Path) -> None:
    def refuse(_: Mapping[str, Any]) -> Act:
        return Fails(401, "that key is not mine")

    async with openai_server(answer=refuse) as model:
        environment = thinking_with(model, tmp_path, LAVAGNA_MODEL="thinker")
        words = launch(tmp_path, "a new task", environment=environment)
        async with demonstration(words) as demo:
            assert await demo.end() == NOT_ACCEPTED

    said = demo.transcript.getvalue()
    assert "came to rest without a verdict" in said
    assert "that key is not mine" in said
    assert "set OPENAI_API_KEY" in said
    assert len(model.questions) == 1
