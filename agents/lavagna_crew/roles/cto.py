"""The CTO: designs the program, and splits the work into tasks that build on one another."""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from lavagna import Agent, Work
from lavagna_crew import keys, wording
from lavagna_crew.mind import Mind
from lavagna_crew.models.port import Message, Prompt
from lavagna_crew.models.shapes import Shape
from lavagna_crew.records import Design, Task
from lavagna_crew.terms import BRIEF_CHARACTERS_MAX, GRACE_SECONDS, WORK, shortened

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
        },
        "required": ["summary", "tasks"],
        "additionalProperties": False,
    },
)


def cto(name: str, mind: Mind) -> Agent:
    """The CTO of a crew."""
    agent, does = Agent(name, grace_seconds=GRACE_SECONDS), CTO(mind)
    agent.on(keys.GOAL, reads=[keys.DESIGN], when="!('design' in board)", limits=WORK)(does.design)
    return agent


class CTO:
    """What the CTO does when it is woken."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind

    async def design(self, work: Work) -> Mapping[str, Any]:
        """Turns a goal into a design and its tasks."""
        assert work.entry is not None
        question = wording.sections(
            wording.goal(work.entry.value),
            "Design the program, and split it into two to five tasks. Give each a short name, the "
            "files that only it writes, the tasks that it builds on, and a priority: higher first. "
            "Tests are not tasks; the tester writes them.",
        )
        shape = DESIGN.with_rules(faults_of)
        prompt = Prompt("cto/design", ROLE, (Message("user", question),), shape)
        thought = await self._mind.think(work, prompt)
        replies = thought.value["tasks"]
        design = Design(
            summary=shortened(thought.value["summary"]), tasks=[reply["name"] for reply in replies]
        )
        tasks = {keys.task(reply["name"]): _task(reply) for reply in replies}
        return {keys.DESIGN: design, **tasks, **thought.usage}


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
