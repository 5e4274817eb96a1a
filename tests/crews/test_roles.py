"""What the roles do when things do not go well, on a real board."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from openai import AsyncOpenAI

from lavagna import Activation, ActivationState, Board, Occasion
from lavagna_crew.__main__ import ROLES
from lavagna_crew.demo.crew import MEMBERS
from lavagna_crew.demo.server import Server
from lavagna_crew.mind import Mind
from lavagna_crew.models.openai_chat import OpenAIModel
from lavagna_crew.models.port import Model
from lavagna_crew.models.scripted import Script, ScriptedModel
from lavagna_crew.place import Place
from lavagna_crew.terms import ROUNDS_MAX, TRIES_MAX
from tests.crews.openai_server import Says, openai_server
from tests.crews.stages import server_on, versions

pytestmark = pytest.mark.slow

GOOD = "def one():\n    return 1\n"
BAD = "def one():\n    return 2\n"
TESTS = """\
import unittest
from one import one

class OneTest(unittest.TestCase):
    def test_one_is_one(self):
        self.assertEqual(one(), 1)
"""
TASK = {
    "name": "one",
    "title": "One",
    "brief": "one() is 1.",
    "files": ["one.py"],
    "depends_on": [],
    "priority": 1,
}
PLANS: Mapping[str, Mapping[str, Any]] = {
    "ceo/goal": {"title": "One", "statement": "A one.", "acceptance": ["It is one."]},
    "cto/design": {"summary": "One file.", "tasks": [TASK]},
    "tester/one/suite-1": {"note": "one test", "text": TESTS},
}


def code(text: str) -> Mapping[str, Any]:
    """A programmer's reply."""
    return {"note": "done", "objection": "", "files": [{"path": "one.py", "text": text}]}


def verdict(*, accepted: bool) -> Mapping[str, Any]:
    """The CEO's reply."""
    remarks = [] if accepted else [{"task": "one", "remark": "more of it"}]
    return {"accepted": accepted, "reason": "so it is", "remarks": remarks}


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """A server for all of these tests; each makes a board of its own."""
    async with server_on(tmp_path_factory.mktemp("roles") / "data") as one:
        yield one


@asynccontextmanager
async def crew_on(server: Server, name: str, model: Model) -> AsyncGenerator[Board, None]:
    """A new board with a whole crew at work on it."""
    async with AsyncExitStack() as stack:
        board = await stack.enter_async_context(Place(server.target, name).open("person"))
        await board.boards.create(name)
        for agent, role in MEMBERS.items():
            member = ROLES[role](agent, Mind(agent, model))
            await stack.enter_async_context(member.joined(board))
        yield board


async def rest(board: Board) -> None:
    """Asks for the program, and waits until the crew has come to rest."""
    async with board.watch() as commits:
        await board.put("request", {"task": "build one"})
        async for commit in commits:
            if commit.occasion is Occasion.QUIESCENCE:
                return


async def dead(board: Board) -> Sequence[Activation]:
    """What was given up."""
    return [one async for one in board.activations.list(states=[ActivationState.DEAD])]


async def test_a_task_that_cannot_be_done_is_given_up_after_so_many_tries(server: Server) -> None:
    repairs = {f"programmer/one/repair-{attempt}-1": code(BAD) for attempt in range(1, TRIES_MAX)}
    script = Script("s", "t", {**PLANS, "programmer/one/build": code(BAD), **repairs})
    async with crew_on(server, "hopeless", ScriptedModel(script, pace=0)) as board:
        await rest(board)
        said = (await board.get("verdict")).value
        attempts = (await versions(board, "submissions/one"))["submissions/one"]

    assert (said["accepted"], said["final"]) == (False, True)
    assert "the task one still fails its tests" in said["reason"]
    assert [one.value["attempt"] for one in attempts] == list(range(1, TRIES_MAX))


async def test_a_ceo_that_is_never_content_has_a_last_word(server: Server) -> None:
    rounds = range(1, ROUNDS_MAX + 1)
    script = Script(
        "s",
        "t",
        {
            **PLANS,
            "programmer/one/build": code(GOOD),
            **{f"programmer/one/rework-{number}": code(GOOD) for number in rounds},
            **{f"ceo/judge-{number}": verdict(accepted=False) for number in rounds},
        },
    )
    async with crew_on(server, "discontent", ScriptedModel(script, pace=0)) as board:
        await rest(board)
        verdicts = (await versions(board, "verdict"))["verdict"]
        attempts = (await versions(board, "submissions/one"))["submissions/one"]

    assert [one.value["final"] for one in verdicts] == [False, False, True]
    assert [one.value["round"] for one in verdicts] == list(rounds)
    assert len(attempts) == ROUNDS_MAX


async def test_a_turn_without_a_reply_is_a_dead_letter_that_names_it(server: Server) -> None:
    async with crew_on(server, "speechless", ScriptedModel(Script("s", "t", PLANS))) as board:
        await rest(board)
        (letter,) = await dead(board)
        said = await board.find("verdict")

    assert said is None
    assert (letter.trigger_id, letter.attempt) == ("programmers.build", 1)
    assert "has no reply for the turn 'programmer/one/build'" in letter.reason


async def test_tokens_that_were_spent_in_vain_are_accounted_for(server: Server) -> None:
    async with openai_server(Says("{}", tokens=(11, 2)), Says("{}", tokens=(13, 2))) as http:
        client = AsyncOpenAI(api_key="none", base_url=http.address, max_retries=0)
        async with client, crew_on(server, "in-vain", OpenAIModel(client, "thinker")) as board:
            await rest(board)
            (letter,) = await dead(board)
            (usage,) = [one async for one in board.entries("usage/**")]

    assert "thinker gave no valid goal" in letter.reason
    assert usage.author == "ceo"
    assert (usage.value["prompt_tokens"], usage.value["completion_tokens"]) == (24, 4)


async def test_the_design_and_its_tasks_are_one_commit(server: Server) -> None:
    script = Script("s", "t", {**PLANS, "programmer/one/build": code(GOOD)})
    async with crew_on(server, "atomic", ScriptedModel(script, pace=0)) as board:
        await rest(board)
        design, task = await board.get("design"), await board.get("tasks/one")
        handed_in, file = await board.get("submissions/one"), await board.get("code/one/one.py")

    assert design.revision == task.revision
    assert handed_in.revision == file.revision
    assert handed_in.cause is not None
    assert handed_in.cause.trigger_id == "programmers.build"
