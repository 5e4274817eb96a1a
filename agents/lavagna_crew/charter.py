"""The crew's charter: who decides what on its board, and by which rule it agrees."""

from collections.abc import Mapping, Sequence

from lavagna import Board, ChangeType, Electorate, Kind, Merging, Policy, Region, Source
from lavagna_crew import keys

VOTING = ("cto", "programmer", "tester")
"""The roles that decide on a design: who makes it, and all who have to work by it."""

DEADLINE_SECONDS = 900.0
"""When a vote ends although somebody has not voted: later than the slowest reply of a model."""

SCRIPTED_DEADLINE_SECONDS = 15.0
"""The same for scripts, whose replies take a second or two: time enough to replace who was killed."""

DECISIONS = Source(
    f"{keys.DESIGN}/{{proposal}}", kinds=[Kind.PROPOSAL], changes=[ChangeType.DECIDED]
)
"""That it was decided on a design, whatever came of it."""

HOURS = {"type": "number", "exclusiveMinimum": 0, "maximum": 10_000}
"""The shape of an estimate."""

PROPOSED = {
    "type": "object",
    "properties": {"edition": {"type": "integer", "minimum": 1}},
    "required": ["edition", "summary", "tasks", "parts"],
}
"""What everybody who looks at a design relies on, whoever proposes it."""


def charter(members: Mapping[str, str], *, deadline_seconds: float) -> Sequence[Region]:
    """The regions of a crew's board, for members whose roles are known by their names.

    The goal is the CEO's. A design needs more than half of all votes. What each estimates is a claim;
    their median is not moved by one wild guess, as a mean would be.
    """
    ceo = next(name for name, role in members.items() if role == "ceo")
    voters = [name for name, role in members.items() if role in VOTING]
    electorate = Electorate(
        voters, approvals=len(voters) // 2 + 1, deadline_seconds=deadline_seconds
    )
    return [
        Region(keys.GOAL, policy=Policy.OWNER, owner=ceo),
        Region(keys.DESIGN, policy=Policy.QUORUM, electorate=electorate, schema=PROPOSED),
        Region(
            keys.ESTIMATE,
            policy=Policy.WEIGHTED,
            owner=ceo,
            schema=HOURS,
            merging=Merging(number="median"),
        ),
    ]


async def enact(
    board: Board, members: Mapping[str, str], *, deadline_seconds: float = DEADLINE_SECONDS
) -> None:
    """Sets the regions, on a board that has none of them."""
    for region in charter(members, deadline_seconds=deadline_seconds):
        await board.regions.set(region)
