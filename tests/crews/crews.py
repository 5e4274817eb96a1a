"""Whole crews in this process, on a board of a real server."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from lavagna import Board, Occasion
from lavagna_crew import charter
from lavagna_crew.__main__ import ROLES
from lavagna_crew.demo.crew import MEMBERS
from lavagna_crew.demo.server import Server
from lavagna_crew.mind import Mind
from lavagna_crew.models.port import Model
from lavagna_crew.place import Place

GOOD = "def one():\n    return 1\n"
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
VOTERS = ("programmer-1", "programmer-2", "tester")


def code(text: str) -> Mapping[str, Any]:
    """A programmer's reply."""
    return {"note": "done", "objection": "", "files": [{"path": "one.py", "text": text}]}


def verdict(*, accepted: bool) -> Mapping[str, Any]:
    """The CEO's reply."""
    remarks = [] if accepted else [{"task": "one", "remark": "more of it"}]
    return {"accepted": accepted, "reason": "so it is", "remarks": remarks}


def design(summary: str = "One file.") -> Mapping[str, Any]:
    """The CTO's reply."""
    return {"summary": summary, "tasks": [TASK], "hours": 1, "confidence": 0.9}


def opinion(choice: str = "accept", reason: str = "fine", hours: float = 1) -> Mapping[str, Any]:
    """A voter's reply."""
    return {"choice": choice, "reason": reason, "confidence": 0.8, "hours": hours}


PLANS: Mapping[str, Mapping[str, Any]] = {
    "ceo/goal": {"title": "One", "statement": "A one.", "acceptance": ["It is one."]},
    "cto/design-1": design(),
    **{f"{voter}/vote-1": opinion() for voter in VOTERS},
    "tester/one/suite-1": {"note": "one test", "text": TESTS},
}
"""The replies up to the tests of the one task."""


@asynccontextmanager
async def crew_on(
    server: Server,
    name: str,
    model: Model,
    *,
    members: Iterable[str] = tuple(MEMBERS),
    deadline_seconds: float = charter.DEADLINE_SECONDS,
) -> AsyncGenerator[Board, None]:
    """A new board with a crew at work on it, of which only these members have come."""
    async with AsyncExitStack() as stack:
        board = await stack.enter_async_context(Place(server.target, name).open("person"))
        await board.boards.create(name)
        await charter.enact(board, MEMBERS, deadline_seconds=deadline_seconds)
        for agent in members:
            member = ROLES[MEMBERS[agent]](agent, Mind(agent, model))
            await stack.enter_async_context(member.joined(board))
        yield board


async def rest(board: Board) -> None:
    """Asks for the program, and waits until the crew has come to rest."""
    async with board.watch() as commits:
        await board.put("request", {"task": "build one"})
        async for commit in commits:
            if commit.occasion is Occasion.QUIESCENCE:
                return
