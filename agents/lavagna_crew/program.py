"""The program as it stands on the board: its design, its tasks, its files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lavagna import Board, Entry
from lavagna_crew import keys
from lavagna_crew.records import Design, Goal, Task


def suite_file(task: str) -> str:
    """The one test file of a task."""
    return f"test_{task.replace('-', '_')}.py"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be built, and how it is split up."""

    goal: Goal
    design: Design
    tasks: Mapping[str, Task]

    def foundations(self, task: str) -> list[str]:
        """The tasks that a task depends on, those of its dependencies included, deepest first."""
        found: list[str] = []
        for name in self.tasks[task]["depends_on"]:
            found += [one for one in (*self.foundations(name), name) if one not in found]
        return found

    def code_keys(self, tasks: Iterable[str]) -> list[str]:
        """Where the files of these tasks are."""
        return [keys.code(task, file) for task in tasks for file in self.tasks[task]["files"]]


async def plan(board: Board) -> Plan:
    """The plan on a board that has one."""
    found = await board.batch_get([keys.GOAL, keys.DESIGN])
    design: Design = found[keys.DESIGN].value
    tasks = await board.batch_get([keys.task(name) for name in design["tasks"]])
    by_name = {name: tasks[keys.task(name)].value for name in design["tasks"]}
    return Plan(found[keys.GOAL].value, design, by_name)


def texts(entries: Mapping[str, Entry], under: str) -> dict[str, str]:
    """The files among some entries, by their names, of those whose keys begin like this."""
    return {
        key.rpartition("/")[2]: entry.value
        for key, entry in entries.items()
        if key.startswith(f"{under}/")
    }
