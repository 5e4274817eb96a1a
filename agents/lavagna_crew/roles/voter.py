"""A voter: says what it thinks of a proposed design, and how much work it is."""

from dataclasses import replace

from lavagna import Agent, Choice, Put, Work
from lavagna_crew import charter, keys, wording
from lavagna_crew.mind import Mind
from lavagna_crew.models.port import Message, Prompt
from lavagna_crew.models.shapes import Shape
from lavagna_crew.records import Design, Opinion
from lavagna_crew.terms import WORK, shortened

OPINION = Shape(
    "opinion",
    {
        "type": "object",
        "properties": {
            "choice": {"enum": ["accept", "reject", "abstain"]},
            "reason": {"type": "string"},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "hours": charter.HOURS,
        },
        "required": ["choice", "reason", "confidence", "hours"],
        "additionalProperties": False,
    },
)

ESTIMATE = (
    "Estimate in `hours` what one experienced programmer would need for the whole program and its "
    "tests, and say in `confidence` how sure you are, from 0 to 1."
)

ORDER = (
    "Vote on the design. Accept it if the goal can be reached by it, and each task can be done and "
    "tested from its brief alone. Reject it if something must be different, and say what in "
    f"`reason`, in one or two sentences. {ESTIMATE}"
)


def add_vote(agent: Agent, mind: Mind, part: str) -> None:
    """Gives an agent a mind of its own about designs; `part` says who it is in the crew."""
    does = Voter(agent.name, mind, part)
    # One after the other, so that what is thought of an older design never replaces a newer estimate.
    limits = replace(WORK, concurrency_max=1)
    agent.votes_on(keys.DESIGN, rating=30, limits=limits)(does.weigh_design)


class Voter:
    """What a voter does when it is woken."""

    def __init__(self, name: str, mind: Mind, part: str) -> None:
        self._name = name
        self._mind = mind
        self._role = f"{wording.HOUSE} You are {name}, {part}. You have a vote on its design."

    async def weigh_design(self, work: Work) -> tuple[Choice, float, str]:
        """Votes on a design; what it thinks is on the board before the ballot is, however late that is."""
        opinion = await self._opinion(work)
        return Choice(opinion["choice"]), opinion["confidence"], opinion["reason"]

    async def _opinion(self, work: Work) -> Opinion:
        """What it thinks; what it thought already, when it was ended before it could vote."""
        key = keys.opinion(self._name, work.activation.key)
        if before := await work.board.find(key):
            said: Opinion = before.value
            return said
        assert work.proposal is not None
        design: Design = work.proposal.value
        goal = await work.board.get(keys.GOAL)
        question = wording.sections(
            wording.goal(goal.value), wording.design("The design", design), ORDER
        )
        turn = f"{self._name}/vote-{design['edition']}"
        prompt = Prompt(turn, self._role, (Message("user", question),), OPINION)
        thought = await self._mind.think(work, prompt)
        reply = thought.value
        opinion = Opinion(
            edition=design["edition"],
            choice=reply["choice"],
            reason=shortened(reply["reason"]),
            confidence=reply["confidence"],
            hours=reply["hours"],
        )
        await work.board.commit(
            Put(key, opinion),
            Put(keys.ESTIMATE, opinion["hours"], confidence=opinion["confidence"]),
            *(Put(at, usage) for at, usage in thought.usage.items()),
        )
        return opinion
