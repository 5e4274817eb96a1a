"""A programmer: writes the code of a task, and repairs it until its tests pass."""

from collections.abc import Mapping, Sequence
from typing import Any

from lavagna import Agent, Entry, Work
from lavagna_crew import keys, wording
from lavagna_crew.mind import Mind, Thought
from lavagna_crew.models.port import Message, Prompt
from lavagna_crew.models.shapes import Shape
from lavagna_crew.program import Plan, plan, suite_file, texts
from lavagna_crew.records import Objection, Result, Review, Submission
from lavagna_crew.roles.voter import add_vote
from lavagna_crew.terms import GRACE_SECONDS, PROGRAMMERS, TRIES_MAX, WORK, shortened

ROLE = (
    f"{wording.HOUSE} You are a programmer. You write the files of one task, as its brief says. "
    "Every file that you give is complete, and replaces the one that was there."
)

CODE = Shape(
    "code",
    {
        "type": "object",
        "properties": {
            "note": {"type": "string"},
            "objection": {"type": "string"},
            "files": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
                    "required": ["path", "text"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["note", "objection", "files"],
        "additionalProperties": False,
    },
)

READY = (
    "!(('submissions/' + bind.task) in board) && entry.value.depends_on.all(other, "
    "('results/' + other) in board && board['results/' + other].ok)"
)
"""Nobody has begun, and all that the task builds on passes its tests."""

BROKEN = (
    "!entry.value.ok"
    " && entry.value.attempt == board['submissions/' + bind.task].attempt"
    " && entry.value.edition == board['suites/' + bind.task].edition"
    f" && entry.value.attempt + entry.value.edition < {TRIES_MAX}"
    " && !(('objections/' + bind.task) in board"
    " && board['objections/' + bind.task].edition == entry.value.edition)"
)
"""The newest attempt fails the newest edition, and nobody has objected to that edition."""

CRITICISED = "entry.value.attempt == board['submissions/' + bind.task].attempt"
"""The review is about the newest attempt."""


def programmer(name: str, mind: Mind) -> Agent:
    """A programmer of a crew; any number of them race for the work of their team."""
    agent, does = Agent(name, teams=[PROGRAMMERS], grace_seconds=GRACE_SECONDS), Programmer(mind)
    agent.on(
        "tasks/{task}",
        reads=["results/*", "submissions/{task}"],
        when=READY,
        rating="entry.value.priority",
        team=PROGRAMMERS,
        limits=WORK,
    )(does.build)
    agent.on(
        "results/{task}",
        reads=["submissions/{task}", "suites/{task}", "objections/{task}"],
        when=BROKEN,
        rating=10,
        team=PROGRAMMERS,
        limits=WORK,
    )(does.repair)
    agent.on(
        "reviews/{task}",
        reads=["submissions/{task}"],
        when=CRITICISED,
        rating=10,
        team=PROGRAMMERS,
        limits=WORK,
    )(does.rework)
    add_vote(agent, mind, "a programmer who is going to write a part of the program")
    return agent


class Programmer:
    """What a programmer does when it is woken."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind

    async def build(self, work: Work) -> Mapping[str, Any]:
        """Writes the code of a task."""
        desk = await _desk(work)
        prompt = desk.prompt("build", "Write the files of the task. `objection` stays empty.")
        thought = await self._mind.think(work, prompt)
        return {**desk.submission(thought, attempt=1), **thought.usage}

    async def repair(self, work: Work) -> Mapping[str, Any]:
        """Repairs code that fails its tests, or objects to the tests."""
        assert work.entry is not None
        result: Result = work.entry.value
        attempt, edition = result["attempt"], result["edition"]
        desk = await _desk(work)
        prompt = desk.prompt(
            f"repair-{attempt}-{edition}",
            "Repair the files. Only if a test contradicts the brief, leave `files` empty and say "
            "in `objection` which test is wrong and why.",
            wording.failures(result["failures"]),
            may_object=True,
        )
        thought = await self._mind.think(work, prompt)
        if objection := thought.value["objection"]:
            value = Objection(attempt=attempt, edition=edition, objection=shortened(objection))
            return {keys.objection(desk.task): value, **thought.usage}
        return {**desk.submission(thought, attempt=attempt + 1), **thought.usage}

    async def rework(self, work: Work) -> Mapping[str, Any]:
        """Does what the CEO wants done better."""
        assert work.entry is not None
        review: Review = work.entry.value
        desk = await _desk(work)
        prompt = desk.prompt(
            f"rework-{review['round']}",
            "Do what the CEO asks for, and keep all else. `objection` stays empty.",
            wording.section("The CEO's remark", review["remark"]),
        )
        thought = await self._mind.think(work, prompt)
        return {**desk.submission(thought, attempt=review["attempt"] + 1), **thought.usage}


class _Desk:
    """What a programmer has in front of it for one task."""

    def __init__(self, task: str, whole: Plan, entries: Mapping[str, Entry]) -> None:
        self.task = task
        self._plan = whole
        self._entries = entries

    def prompt(self, turn: str, order: str, *more: str, may_object: bool = False) -> Prompt:
        """The question to the mind."""
        own = texts(self._entries, f"code/{self.task}")
        other = {
            name: text for name, text in texts(self._entries, "code").items() if name not in own
        }
        question = wording.sections(
            wording.goal(self._plan.goal),
            wording.section("Design", self._plan.design["summary"]),
            wording.task(self.task, self._plan.tasks[self.task]),
            wording.files("What it builds on", other),
            wording.files("The files as they are", own),
            wording.files("Their tests", texts(self._entries, "tests") if own else {}),
            *more,
            order,
        )
        shape = CODE.with_rules(lambda reply: self._faults(reply, may_object=may_object))
        turn = f"programmer/{self.task}/{turn}"
        return Prompt(turn, ROLE, (Message("user", question),), shape)

    def submission(self, thought: Thought, *, attempt: int) -> Mapping[str, Any]:
        """The files of a thought, and the entry that hands them in."""
        files = {file["path"]: file["text"] for file in thought.value["files"]}
        handed_in = Submission(
            attempt=attempt, files=sorted(files), note=shortened(thought.value["note"])
        )
        return {
            **{keys.code(self.task, name): text for name, text in files.items()},
            keys.submission(self.task): handed_in,
        }

    def _faults(self, reply: Mapping[str, Any], *, may_object: bool) -> Sequence[str]:
        wanted = sorted(self._plan.tasks[self.task]["files"])
        given = sorted(file["path"] for file in reply["files"])
        if reply["objection"] and not may_object:
            return ["there is nothing to object to; `objection` must be empty"]
        if reply["objection"]:
            return ["give files or an objection, not both"] if given else []
        return (
            [] if given == wanted else [f"`files` must hold {wanted}, each once, and not {given}"]
        )


async def _desk(work: Work) -> _Desk:
    task = work.bind["task"]
    whole = await plan(work.board)
    tests = keys.test_file(task, suite_file(task))
    wanted = [*whole.code_keys([*whole.foundations(task), task]), tests]
    own = [keys.submission(task), keys.objection(task)]
    return _Desk(task, whole, await work.board.batch_get([*wanted, *own]))
