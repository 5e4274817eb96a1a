"""How the crew agrees: on a goal that is the CEO's, a design that is voted on, an estimate of all."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from lavagna import Board, Choice, Kind, Outcome, Policy, Proposal
from lavagna_crew import charter
from lavagna_crew.__main__ import ROLES
from lavagna_crew.demo.server import Server
from lavagna_crew.mind import Mind
from lavagna_crew.models.port import Prompt, Reply
from lavagna_crew.models.scripted import Script, ScriptedModel
from lavagna_crew.terms import DESIGNS_MAX
from tests.crews.crews import (
    GOOD,
    PLANS,
    VOTERS,
    code,
    crew_on,
    design,
    opinion,
    rest,
    verdict,
)
from tests.crews.stages import assert_nothing_was_done_twice, server_on, versions

pytestmark = pytest.mark.slow

WHOLE = {
    **PLANS,
    "programmer/one/build": code(GOOD),
    "ceo/judge-1": verdict(accepted=True),
}


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """A server for all of these tests; each makes a board of its own."""
    async with server_on(tmp_path_factory.mktemp("agreement") / "data") as one:
        yield one


class Patient(ScriptedModel):
    """Plays a script at once, but some turns only when the test lets them; all prompts stay to be looked at."""

    def __init__(
        self, replies: Mapping[str, Mapping[str, Any]], *, held_back: tuple[str, ...] = ()
    ) -> None:
        super().__init__(Script("s", "t", replies), pace=0)
        self.prompts: dict[str, str] = {}
        self.go_on = asyncio.Event()
        self._held_back = held_back

    async def reply(self, prompt: Prompt) -> Reply:
        self.prompts[prompt.turn] = prompt.messages[0].text
        if prompt.turn in self._held_back:
            await self.go_on.wait()
        return await super().reply(prompt)


async def proposals(board: Board) -> list[Proposal]:
    """The designs that were proposed, oldest first."""
    return [one async for one in board.proposals.list("design")]


async def ballot(board: Board, voter: str) -> None:
    """Waits until somebody has voted."""
    await board.wait("true", on=f"design/{{number}}/@{voter}", timeout=60, kind=Kind.BALLOT)


def test_more_than_half_of_those_who_build_must_accept_however_many_they_are() -> None:
    members = {
        "boss": "ceo",
        "cto": "cto",
        **{f"p{n}": "programmer" for n in range(4)},
        "t": "tester",
    }
    regions = {one.path: one for one in charter.charter(members, deadline_seconds=60)}

    assert (regions["goal"].policy, regions["goal"].owner) == (Policy.OWNER, "boss")
    electorate = regions["design"].electorate
    assert electorate is not None
    assert electorate.voters == ["cto", "p0", "p1", "p2", "p3", "t"]
    assert (electorate.approvals, electorate.deadline_seconds) == (4, 60)


async def test_only_the_ceos_word_is_the_goal(server: Server) -> None:
    async with crew_on(server, "goal", Patient(WHOLE)) as board:
        await rest(board)
        written = await board.put("goal", {"title": "Two"})
        goal = await board.get("goal")
        proposal = await board.proposals.get(written.key)

    assert (written.kind, proposal.outcome) == (Kind.PROPOSAL, Outcome.OPEN)
    assert [one.agent for one in proposal.electors] == ["ceo"]
    assert (goal.author, goal.value["title"], goal.version) == ("ceo", "One", 1)


async def test_no_task_is_there_before_the_design_is_decided_and_dissent_is_kept(
    server: Server,
) -> None:
    replies = {**WHOLE, "programmer-2/vote-1": opinion("reject", "too much", hours=9)}
    model = Patient(replies, held_back=("tester/vote-1",))
    async with crew_on(server, "dissent", model) as board:
        resting = asyncio.create_task(rest(board))
        await ballot(board, "programmer-1")
        await ballot(board, "programmer-2")
        early = [one.key async for one in board.entries("tasks/*")]
        assert await board.find("design") is None
        model.go_on.set()
        await resting
        (proposal,) = await proposals(board)
        agreed, task = await board.get("design"), await board.get("tasks/one")
        estimate = await board.explain("estimate")
        await assert_nothing_was_done_twice(board)

    assert early == []
    assert proposal.outcome is Outcome.ACCEPTED
    assert proposal.reason == "3 of 4 accept, at least 3 needed"
    dissent = proposal.ballot("programmer-2")
    assert dissent is not None
    assert (dissent.choice, dissent.reason, dissent.confidence) == (Choice.REJECT, "too much", 0.8)
    assert agreed.revision == proposal.decided_revision < task.revision
    assert estimate.rule == "weighted-median@1"
    assert estimate.entry is not None
    assert estimate.entry.value == 1
    assert estimate.dissent == ("programmer-2",)
    assert {one.agent: one.weight for one in estimate.contributions} == {
        "cto": 0.9,
        **dict.fromkeys(VOTERS, 0.8),
    }


async def test_a_rejected_design_is_made_better_by_what_the_voters_say(server: Server) -> None:
    replies = {
        **WHOLE,
        "programmer-1/vote-1": opinion("reject", "it has no name"),
        "tester/vote-1": opinion("reject", "it has no tests"),
        "cto/design-2": design("One file with a name."),
        **{f"{voter}/vote-2": opinion(hours=2) for voter in VOTERS},
    }
    model = Patient(replies, held_back=("programmer-2/vote-1",))
    async with crew_on(server, "better", model) as board:
        resting = asyncio.create_task(rest(board))
        await board.wait("true", on="design", timeout=60)
        model.go_on.set()
        await resting
        first, second = await proposals(board)
        agreed = await board.get("design")
        await assert_nothing_was_done_twice(board)
        late = await board.get(f"opinions/programmer-2/{first.key.rpartition('/')[2]}")

    assert (first.outcome, second.outcome) == (Outcome.REJECTED, Outcome.ACCEPTED)
    assert agreed.value == second.value
    assert (agreed.value["edition"], agreed.value["summary"]) == (2, "One file with a name.")
    question = model.prompts["cto/design-2"]
    assert "programmer-1: reject: it has no name" in question
    assert "tester: reject: it has no tests" in question
    assert "One file." in question
    # Who thought too long is not heard in the vote, but what it thought is on the board.
    assert first.ballot("programmer-2") is None
    assert late.value["choice"] == "accept"


async def test_a_crew_that_agrees_on_no_design_is_given_up_with_the_reason(server: Server) -> None:
    editions = range(1, DESIGNS_MAX + 1)
    replies = {
        **WHOLE,
        **{f"cto/design-{edition}": design(f"Design {edition}.") for edition in editions},
        **{
            f"{voter}/vote-{edition}": opinion("reject", f"not {edition}")
            for voter in VOTERS
            for edition in editions
        },
    }
    async with crew_on(server, "discord", Patient(replies)) as board:
        await rest(board)
        said = (await board.get("verdict")).value
        ended = [one.outcome for one in await proposals(board)]
        tasks = [one.key async for one in board.entries("tasks/*")]

    assert (said["accepted"], said["final"]) == (False, True)
    assert f"the last one, design {DESIGNS_MAX}, ended rejected: " in said["reason"]
    assert f": not {DESIGNS_MAX}" in said["reason"]
    assert ended == [Outcome.REJECTED] * DESIGNS_MAX
    assert tasks == []


async def test_a_crew_of_which_one_never_came_is_not_held_up_by_a_dissent(server: Server) -> None:
    replies = {
        **WHOLE,
        "programmer-2/vote-1": opinion("reject", "it has no name"),
        "cto/design-2": design("One file with a name."),
        **{f"{voter}/vote-2": opinion() for voter in VOTERS},
    }
    present = ["ceo", "cto", "programmer-1", "programmer-2"]
    model = Patient(replies)
    async with crew_on(server, "absent", model, members=present, deadline_seconds=3.0) as board:
        await board.put("request", {"task": "build one"})
        await board.wait("true", on="tasks/one", timeout=60)
        first, second = await proposals(board)

    assert (first.outcome, second.outcome) == (Outcome.UNDECIDED, Outcome.ACCEPTED)
    assert "the deadline came first: 2 of 4 accept" in model.prompts["cto/design-2"]
    assert second.ballot("tester") is None


async def test_a_voter_that_was_ended_before_it_could_vote_does_not_think_again(
    server: Server,
) -> None:
    model = Patient({turn: reply for turn, reply in WHOLE.items() if turn != "tester/vote-1"})
    silent = Patient(WHOLE, held_back=("programmer-1/vote-1", "programmer-2/vote-1"))
    present = ["ceo", "cto", "programmer-1", "programmer-2"]
    async with crew_on(server, "twice", silent, members=present) as board:
        await board.put("request", {"task": "build one"})
        await ballot(board, "cto")
        (proposal,) = await proposals(board)
        number = proposal.key.rpartition("/")[2]
        thought = {"edition": 1, **opinion("reject", "I thought of it before")}
        await board.as_agent("tester").put(f"opinions/tester/{number}", thought)
        async with ROLES["tester"]("tester", Mind("tester", model)).joined(board):
            await ballot(board, "tester")
        ended = (await proposals(board))[0].ballot("tester")
        opinions = await versions(board, f"opinions/tester/{number}")
        silent.go_on.set()

    assert "tester/vote-1" not in model.prompts
    assert ended is not None
    assert (ended.choice, ended.reason) == (Choice.REJECT, "I thought of it before")
    assert [len(written) for written in opinions.values()] == [1]
