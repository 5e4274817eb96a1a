"""What the roles do when things do not go well, on a real board."""

from collections.abc import AsyncIterator, Sequence

import pytest
from openai import AsyncOpenAI

from lavagna import Activation, ActivationState, Board
from lavagna_crew.demo.server import Server
from lavagna_crew.models.openai_chat import OpenAIModel
from lavagna_crew.models.scripted import Script, ScriptedModel
from lavagna_crew.terms import ROUNDS_MAX, TRIES_MAX
from tests.crews.crews import GOOD, PLANS, code, crew_on, rest, verdict
from tests.crews.openai_server import Says, openai_server
from tests.crews.stages import server_on, versions

pytestmark = pytest.mark.slow

BAD = "def one():\n    return 2\n"


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """A server for all of these tests; each makes a board of its own."""
    async with server_on(tmp_path_factory.mktemp("roles") / "data") as one:
        yield one


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


async def test_what_is_handed_in_is_one_commit_with_its_files(server: Server) -> None:
    script = Script("s", "t", {**PLANS, "programmer/one/build": code(GOOD)})
    async with crew_on(server, "atomic", ScriptedModel(script, pace=0)) as board:
        await rest(board)
        handed_in, file = await board.get("submissions/one"), await board.get("code/one/one.py")

    assert handed_in.revision == file.revision
    assert handed_in.cause is not None
    assert handed_in.cause.trigger_id == "programmers.build"
