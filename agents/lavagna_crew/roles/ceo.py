"""The CEO: says what is to be built, and whether it has been."""

from collections.abc import Mapping, Sequence
from typing import Any

from lavagna import Agent, Choice, Work
from lavagna_crew import charter, keys, wording
from lavagna_crew.mind import Mind
from lavagna_crew.models.port import Message, Prompt
from lavagna_crew.models.shapes import Shape
from lavagna_crew.program import Plan, plan, texts
from lavagna_crew.records import Design, Remark, Report, Review, Verdict
from lavagna_crew.terms import DESIGNS_MAX, GRACE_SECONDS, ROUNDS_MAX, TRIES_MAX, WORK, shortened

ROLE = (
    f"{wording.HOUSE} You are the CEO. You turn what a person asks for into a goal that can be "
    "reached and checked, and in the end you judge whether the program reaches it."
)

GOAL = Shape(
    "goal",
    {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "statement": {"type": "string"},
            "acceptance": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": 8,
            },
        },
        "required": ["title", "statement", "acceptance"],
        "additionalProperties": False,
    },
)

VERDICT = Shape(
    "verdict",
    {
        "type": "object",
        "properties": {
            "accepted": {"type": "boolean"},
            "reason": {"type": "string"},
            "remarks": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"task": {"type": "string"}, "remark": {"type": "string"}},
                    "required": ["task", "remark"],
                    "additionalProperties": False,
                },
                "maxItems": 8,
            },
        },
        "required": ["accepted", "reason", "remarks"],
        "additionalProperties": False,
    },
)


STALE = "!('verdict' in board) || board['verdict'].round < entry.value.round"
"""The newest verdict, if there is one, is about an older report."""

HOPELESS = (
    f"!entry.value.ok && entry.value.attempt + entry.value.edition >= {TRIES_MAX}"
    " && !('verdict' in board && board['verdict'].final)"
)
"""The task has been tried often enough."""

DISAGREED = f"!('design' in board) && !('verdict' in board) && old.value.edition >= {DESIGNS_MAX}"
"""The last design that is tried was not accepted."""


def ceo(name: str, mind: Mind) -> Agent:
    """The CEO of a crew."""
    agent, does = Agent(name, grace_seconds=GRACE_SECONDS), CEO(mind)
    agent.on(keys.REQUEST, reads=[keys.GOAL], when="!('goal' in board)", limits=WORK)(does.set_goal)
    agent.on(keys.REPORT, reads=[keys.VERDICT], when=STALE, limits=WORK)(does.judge)
    agent.on("results/{task}", reads=[keys.VERDICT], when=HOPELESS, limits=WORK)(does.give_up)
    agent.on(charter.DECISIONS, reads=[keys.DESIGN, keys.VERDICT], when=DISAGREED, limits=WORK)(
        does.give_up_design
    )
    return agent


class CEO:
    """What the CEO does when it is woken."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind

    async def set_goal(self, work: Work) -> Mapping[str, Any]:
        """Turns a request into a goal."""
        assert work.entry is not None
        question = wording.sections(
            wording.section("What a person asks for", work.entry.value["task"]),
            "State the goal: a title of a few words, a statement of two or three sentences, and "
            "what must be true of the program for it to be accepted.",
        )
        prompt = Prompt("ceo/goal", ROLE, (Message("user", question),), GOAL)
        thought = await self._mind.think(work, prompt)
        return {keys.GOAL: thought.value, **thought.usage}

    async def judge(self, work: Work) -> Mapping[str, Any]:
        """Accepts the whole program, or says what is to be done better."""
        assert work.entry is not None
        report: Report = work.entry.value
        thought = await self._mind.think(work, await _judgement(work, report))
        reply = thought.value
        final = reply["accepted"] or report["round"] >= ROUNDS_MAX
        verdict = Verdict(
            accepted=reply["accepted"],
            final=final,
            reason=shortened(reply["reason"]),
            round=report["round"],
        )
        remarks: Sequence[Remark] = () if final else reply["remarks"]
        reviews = {
            keys.review(remark["task"]): Review(
                round=report["round"],
                attempt=report["attempts"][remark["task"]],
                remark=shortened(remark["remark"]),
            )
            for remark in remarks
        }
        # What stands there from an earlier round is seen, so that it can be replaced.
        await work.board.batch_get([keys.VERDICT, *reviews])
        return {keys.VERDICT: verdict, **reviews, **thought.usage}

    async def give_up(self, work: Work) -> Mapping[str, Any]:
        """Ends the work on a program of which a task cannot be done."""
        assert work.entry is not None
        before = await work.board.find(keys.VERDICT)
        verdict = Verdict(
            accepted=False,
            final=True,
            reason=f"the task {work.bind['task']} still fails its tests after "
            f"{work.entry.value['attempt']} attempts",
            round=before.value["round"] if before else 0,
        )
        return {keys.VERDICT: verdict}

    async def give_up_design(self, work: Work) -> Mapping[str, Any]:
        """Ends the work of a crew that does not agree on a design."""
        proposal = await work.board.proposals.get(work.activation.key)
        design: Design = proposal.value
        against = [
            f"{one.agent}: {one.reason}"
            for one in proposal.ballots
            if one.choice is not Choice.ACCEPT
        ]
        said = f"; {'; '.join(against)}" if against else ""
        verdict = Verdict(
            accepted=False,
            final=True,
            reason=shortened(
                f"the crew agrees on no design; the last one, design {design['edition']}, ended "
                f"{proposal.outcome.value}: {proposal.reason}{said}"
            ),
            round=0,
        )
        return {keys.VERDICT: verdict}


async def _judgement(work: Work, report: Report) -> Prompt:
    whole = await plan(work.board)
    code = await work.board.batch_get(whole.code_keys(whole.tasks))
    question = wording.sections(
        wording.goal(whole.goal),
        *(wording.task(name, task) for name, task in whole.tasks.items()),
        wording.files("The program", texts(code, "code")),
        wording.section(
            "The tester's report",
            f"{report['passed']} tests passed, {report['failed']} failed.",
        ),
        wording.failures(report["failures"]) if report["failures"] else "",
        "Accept the program if it meets every point of the goal. If not, remark on each task that "
        "must be done better, by the task's name. A program whose tests fail is not accepted.",
    )
    shape = VERDICT.with_rules(lambda reply: _faults(reply, report, whole))
    return Prompt(f"ceo/judge-{report['round']}", ROLE, (Message("user", question),), shape)


def _faults(reply: Mapping[str, Any], report: Report, whole: Plan) -> Sequence[str]:
    faults = [
        f"there is no task {remark['task']!r}"
        for remark in reply["remarks"]
        if remark["task"] not in whole.tasks
    ]
    if reply["accepted"] and not report["ok"]:
        faults.append("a program whose tests fail is not accepted")
    if not reply["accepted"] and not reply["remarks"]:
        faults.append("a rejection remarks on at least one task")
    return faults
