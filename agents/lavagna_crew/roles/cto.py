"""The CTO: designs the program, has its design voted on, and hands out the tasks of an accepted one."""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from lavagna import Agent, Put, Work
from lavagna_crew import charter, keys, wording
from lavagna_crew.mind import Mind
from lavagna_crew.models.port import Message, Prompt
from lavagna_crew.models.shapes import Shape
from lavagna_crew.records import Design, Task
from lavagna_crew.roles.voter import ESTIMATE
from lavagna_crew.terms import (
    BRIEF_CHARACTERS_MAX,
    DESIGNS_MAX,
    GRACE_SECONDS,
    WORK,
    shortened,
)

ROLE = (
    f"{wording.HOUSE} You are the CTO. You design the program and split the work into tasks that "
    "programmers can do at the same time where possible. A programmer and a tester work from a "
    "task's brief apart from each other: so a brief states every public name of its files with its "
    "signature, what it does, what it raises, and the exact form of what it prints."
)

NAME = {"type": "string", "pattern": "^[a-z][a-z0-9-]*$"}
FILE = {"type": "string", "pattern": "^[a-z][a-z0-9_]*[.]py$"}

DESIGN = Shape(
    "design",
    {
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "tasks": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": NAME,
                        "title": {"type": "string"},
                        "brief": {"type": "string"},
                        "files": {"type": "array", "items": FILE, "minItems": 1, "maxItems": 4},
                        "depends_on": {"type": "array", "items": NAME},
                        "priority": {"type": "integer"},
                    },
                    "required": ["name", "title", "brief", "files", "depends_on", "priority"],
                    "additionalProperties": False,
                },
                "minItems": 1,
                "maxItems": 8,
            },
            "hours": charter.HOURS,
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["summary", "tasks", "hours", "confidence"],
        "additionalProperties": False,
    },
)


ABOUT_TASKS = (
    "Give each task a short name, the files that only it writes, the tasks that it builds on, and a "
    "priority: higher first. Tests are not tasks; the tester writes them."
)

NEXT = f"!('design' in board) && old.value.edition < {DESIGNS_MAX}"
"""The design was not accepted, and another one may be proposed."""

UNDIVIDED = "entry.value.tasks.exists(task, !(('tasks/' + task) in board))"
"""The design is accepted, and its tasks are not there."""


def cto(name: str, mind: Mind) -> Agent:
    """The CTO of a crew. A design that is accepted is its own write, and wakes it."""
    agent, does = Agent(name, grace_seconds=GRACE_SECONDS), CTO(mind)
    agent.on(keys.GOAL, reads=[keys.DESIGN], when="!('design' in board)", limits=WORK)(does.design)
    agent.on(charter.DECISIONS, reads=[keys.DESIGN], when=NEXT, own_writes=True, limits=WORK)(
        does.redesign
    )
    agent.on(
        keys.DESIGN, reads=["tasks/*"], when=UNDIVIDED, own_writes=True, rating=30, limits=WORK
    )(does.hand_out)
    return agent


class CTO:
    """What the CTO does when it is woken."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind

    async def design(self, work: Work) -> None:
        """Turns a goal into a design, which is voted on."""
        assert work.entry is not None
        await self._propose(
            work,
            1,
            wording.goal(work.entry.value),
            f"Design the program, and split it into two to five tasks. {ABOUT_TASKS} {ESTIMATE}",
        )

    async def redesign(self, work: Work) -> None:
        """Proposes a better design than one that was not accepted."""
        failed = await work.board.proposals.get(work.activation.key)
        before: Design = failed.value
        goal = await work.board.get(keys.GOAL)
        await self._propose(
            work,
            before["edition"] + 1,
            wording.goal(goal.value),
            wording.design("Your design, which was not accepted", before),
            wording.votes(f"The votes ({failed.reason})", failed.ballots),
            "Propose a better design that meets the objections, and keep what nobody objects to. "
            f"Give all of it: two to five tasks. {ABOUT_TASKS} {ESTIMATE}",
        )

    async def hand_out(self, work: Work) -> Mapping[str, Any]:
        """Hands out the tasks of a design that was accepted."""
        assert work.entry is not None
        design: Design = work.entry.value
        tasks = {keys.task(name): part for name, part in design["parts"].items()}
        there = await work.board.batch_get(list(tasks))
        return {key: task for key, task in tasks.items() if key not in there}

    async def _propose(self, work: Work, edition: int, *question: str) -> None:
        """Thinks, and puts to the vote what comes of it, together with the CTO's own estimate."""
        shape = DESIGN.with_rules(faults_of)
        messages = (Message("user", wording.sections(*question)),)
        thought = await self._mind.think(
            work, Prompt(f"cto/design-{edition}", ROLE, messages, shape)
        )
        reply = thought.value
        design = Design(
            edition=edition,
            summary=shortened(reply["summary"]),
            tasks=[task["name"] for task in reply["tasks"]],
            parts={task["name"]: _task(task) for task in reply["tasks"]},
        )
        sure: float = reply["confidence"]
        await work.complete(
            [
                Put(keys.DESIGN, design, expected_version=0, confidence=sure),
                Put(keys.ESTIMATE, reply["hours"], confidence=sure),
                *(Put(key, usage) for key, usage in thought.usage.items()),
            ]
        )


def _task(reply: Mapping[str, Any]) -> Task:
    return Task(
        title=reply["title"],
        brief=reply["brief"],
        files=reply["files"],
        depends_on=reply["depends_on"],
        priority=reply["priority"],
    )


def faults_of(reply: Mapping[str, Any]) -> Sequence[str]:
    """Why a design of the right shape cannot be built."""
    tasks: Sequence[Mapping[str, Any]] = reply["tasks"]
    names = [task["name"] for task in tasks]
    files = [file for task in tasks for file in task["files"]]
    faults = [f"two tasks are called {name!r}" for name in _repeated(names)]
    faults += [f"two tasks write {file!r}" for file in _repeated(files)]
    faults += [f"{file!r} is a test" for file in files if file.startswith("test_")]
    faults += [
        f"the brief of {task['name']!r} is longer than {BRIEF_CHARACTERS_MAX} characters"
        for task in tasks
        if len(task["brief"]) > BRIEF_CHARACTERS_MAX
    ]
    faults += [
        f"{task['name']!r} builds on {other!r}, which is no task"
        for task in tasks
        for other in task["depends_on"]
        if other not in names
    ]
    try:
        TopologicalSorter({task["name"]: task["depends_on"] for task in tasks}).prepare()
    except CycleError as cycle:
        faults.append(f"these tasks build on one another in a circle: {cycle.args[1]}")
    return faults


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})
