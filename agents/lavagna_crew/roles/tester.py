"""The tester: writes the tests of each task, and runs them."""

from collections.abc import Mapping
from typing import Any

from lavagna import Agent, Work
from lavagna_crew import keys, wording
from lavagna_crew.mind import Mind
from lavagna_crew.models.port import Message, Prompt
from lavagna_crew.models.shapes import Shape
from lavagna_crew.program import plan, suite_file, texts
from lavagna_crew.records import FailedTest, Objection, Outcome, Report, Result, Suite
from lavagna_crew.roles.voter import add_vote
from lavagna_crew.sandbox.suites import SuiteRun, run_suite
from lavagna_crew.terms import (
    FAILURE_CHARACTERS_MAX,
    FAILURES_MAX,
    GRACE_SECONDS,
    WORK,
    shortened,
)

ROLE = (
    f"{wording.HOUSE} You are the tester. You write the tests of one task from its brief, with "
    "unittest, in one file. Test what the brief promises and nothing else: each value that you "
    "expect must follow from it. Tests take no time, need no network, and print nothing."
)

SUITE = Shape(
    "suite",
    {
        "type": "object",
        "properties": {"note": {"type": "string"}, "text": {"type": "string"}},
        "required": ["note", "text"],
        "additionalProperties": False,
    },
)

UNTESTED = (
    "('suites/' + bind.task) in board && (!(('results/' + bind.task) in board)"
    " || board['results/' + bind.task].attempt != entry.value.attempt"
    " || board['results/' + bind.task].edition != board['suites/' + bind.task].edition)"
)
"""There are an attempt and tests for it, and no result of just these."""

COMPLETE = (
    "entry.value.tasks.all(task, ('results/' + task) in board && board['results/' + task].ok"
    " && board['results/' + task].attempt == board['submissions/' + task].attempt)"
    " && (!('report' in board) || entry.value.tasks.exists(task, "
    "board['report'].attempts[task] != board['results/' + task].attempt))"
)
"""Every task passes in its newest attempt, and the report is not about just these."""


def tester(name: str, mind: Mind) -> Agent:
    """The tester of a crew. Its own writes wake it: what it runs next depends on them."""
    agent, does = Agent(name, concurrency=3, grace_seconds=GRACE_SECONDS), Tester(mind)
    agent.on(
        "tasks/{task}",
        reads=["suites/{task}"],
        when="!(('suites/' + bind.task) in board)",
        rating="entry.value.priority",
        limits=WORK,
    )(does.write_tests)
    agent.on(
        "submissions/{task}",
        reads=["suites/{task}", "results/{task}"],
        when=UNTESTED,
        rating=20,
        own_writes=True,
        limits=WORK,
    )(does.run_tests)
    agent.on(
        "objections/{task}",
        reads=["suites/{task}"],
        when="entry.value.edition == board['suites/' + bind.task].edition",
        rating=10,
        limits=WORK,
    )(does.revise_tests)
    agent.on(
        keys.DESIGN,
        reads=["results/*", "submissions/*", keys.REPORT],
        when=COMPLETE,
        rating=20,
        own_writes=True,
        limits=WORK,
    )(does.report)
    add_vote(agent, mind, "the tester who is going to write the tests of the program")
    return agent


class Tester:
    """What the tester does when it is woken."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind

    async def write_tests(self, work: Work) -> Mapping[str, Any]:
        """Writes the tests of a task, from its brief alone."""
        return await self._suite(work, 1, f"Write `{suite_file(work.bind['task'])}`, complete.")

    async def revise_tests(self, work: Work) -> Mapping[str, Any]:
        """Looks at the tests of a task again, because a programmer objects to them."""
        assert work.entry is not None
        objection: Objection = work.entry.value
        return await self._suite(
            work,
            objection["edition"] + 1,
            wording.section("A programmer objects", objection["objection"]),
            "Give the whole file again: corrected where the programmer is right about the brief, "
            "and as it was where not. Say in the note what you decided.",
        )

    async def run_tests(self, work: Work) -> Mapping[str, Any]:
        """Runs the tests of a task on its newest attempt and what that builds on."""
        task = work.bind["task"]
        whole = await plan(work.board)
        found = await work.board.batch_get(
            [
                *whole.code_keys([*whole.foundations(task), task]),
                *(keys.test_file(task, suite_file(task)), keys.result(task)),
                *(keys.submission(task), keys.suite(task)),
            ]
        )
        result = Result(
            **_outcome(await run_suite({**texts(found, "code"), **texts(found, "tests")})),
            attempt=found[keys.submission(task)].value["attempt"],
            edition=found[keys.suite(task)].value["edition"],
        )
        return {keys.result(task): result}

    async def report(self, work: Work) -> Mapping[str, Any]:
        """Runs all tests on the whole program."""
        whole = await plan(work.board)
        found = await work.board.batch_get(
            [
                *whole.code_keys(whole.tasks),
                *(keys.test_file(task, suite_file(task)) for task in whole.tasks),
                *(keys.submission(task) for task in whole.tasks),
                keys.REPORT,
            ]
        )
        before = found.get(keys.REPORT)
        value = Report(
            **_outcome(await run_suite({**texts(found, "code"), **texts(found, "tests")})),
            round=before.value["round"] + 1 if before else 1,
            attempts={task: found[keys.submission(task)].value["attempt"] for task in whole.tasks},
        )
        return {keys.REPORT: value}

    async def _suite(self, work: Work, edition: int, *order: str) -> Mapping[str, Any]:
        """The tests of a task, as the entries that hold them."""
        task = work.bind["task"]
        file = suite_file(task)
        whole = await plan(work.board)
        found = await work.board.batch_get([keys.test_file(task, file), keys.suite(task)])
        question = wording.sections(
            wording.goal(whole.goal),
            wording.section("Design", whole.design["summary"]),
            wording.task(task, whole.tasks[task]),
            wording.files("Your tests as they are", texts(found, "tests")),
            *order,
        )
        turn = f"tester/{task}/suite-{edition}"
        prompt = Prompt(turn, ROLE, (Message("user", question),), SUITE)
        thought = await self._mind.think(work, prompt)
        return {
            keys.test_file(task, file): thought.value["text"],
            keys.suite(task): Suite(
                edition=edition, files=[file], note=shortened(thought.value["note"])
            ),
            **thought.usage,
        }


def _outcome(run: SuiteRun) -> Outcome:
    failures = [
        FailedTest(test=failure.test, text=failure.text[-FAILURE_CHARACTERS_MAX:])
        for failure in run.failures[:FAILURES_MAX]
    ]
    return Outcome(
        ok=run.ok,
        passed=run.passed,
        failed=len(run.failures),
        failures=failures,
        timed_out=run.timed_out,
        out_of_memory=run.out_of_memory,
        seconds=run.seconds,
    )
