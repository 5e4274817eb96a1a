"""The agreement: how the crew votes on its designs, and what its estimates come to, as the board shows it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lavagna import ChangeType, Choice, Entry, Kind, Outcome
from lavagna_crew import keys
from lavagna_crew.demo.story import hours

MARKS = {Choice.ACCEPT: "+", Choice.REJECT: "-", Choice.ABSTAIN: "○"}
"""How a vote looks."""

SILENT = "·"
"""How it looks when somebody has not voted."""


@dataclass(slots=True)
class Vote:
    """What somebody thinks of a design."""

    choice: Choice
    reason: str


@dataclass(slots=True)
class Poll:
    """A proposed design, and the votes on it."""

    key: str
    edition: int
    votes: dict[str, Vote | None]
    """By voter; None for who has not voted."""
    opinions: dict[str, Vote] = field(default_factory=dict[str, Vote])
    """What is thought of it, said before it is voted, by those who were woken in time."""
    outcome: Outcome = Outcome.OPEN
    count: str = ""
    """How the votes stand, in the server's words."""

    @property
    def line(self) -> str:
        """Who voted how, and what came of it."""
        marks = (f"{MARKS[v.choice] if v else SILENT} {who}" for who, v in self.votes.items())
        count = f": {self.count}" if self.count else ""
        return f"design {self.edition}   {'   '.join(marks)}   {self.outcome.value}{count}"

    @property
    def against(self) -> Sequence[str]:
        """Who did not agree, and why; those too whose ballots came too late."""
        late = {who: one for who, one in self.opinions.items() if self.votes.get(who) is None}
        told = [(who, vote) for who, vote in self.votes.items() if vote]
        told += [(f"{who}, too late to vote", one) for who, one in late.items()]
        return [f"{who}: {one.reason}" for who, one in told if one.choice is not Choice.ACCEPT]


@dataclass(slots=True)
class Agreement:
    """What is voted on, and what is estimated."""

    polls: dict[str, Poll] = field(default_factory=dict[str, Poll])
    """By the proposal's key, oldest first."""
    claims: dict[str, float] = field(default_factory=dict[str, float])
    """The estimates, by agent."""
    estimate: float | None = None
    """What they come to."""

    @property
    def is_open(self) -> bool:
        """Whether a design waits for votes."""
        return any(poll.outcome is Outcome.OPEN for poll in self.polls.values())

    @property
    def lines(self) -> Sequence[str]:
        """The newest vote and the estimate, a line each."""
        poll = next(reversed(self.polls.values()), None)
        return [
            poll.line if poll else "",
            f"effort     {self.estimate_told}" if self.claims else "",
        ]

    @property
    def polls_told(self) -> Sequence[str]:
        """Each vote with its dissent, to end with."""
        told: list[str] = []
        for poll in self.polls.values():
            told.append(f"Vote:   {poll.line}")
            told += [f"        against it, {said}" for said in poll.against]
        return told

    @property
    def spread(self) -> str:
        """How far the estimates lie apart."""
        low, high = min(self.claims.values()), max(self.claims.values())
        apart = f"from {low:g} to {high:g}" if low < high else f"of {low:g}"
        many = "one estimate" if len(self.claims) == 1 else f"{len(self.claims)} estimates"
        return f"of {many} {apart}"

    @property
    def estimate_told(self) -> str:
        """The estimate, its spread, and who said what."""
        each = ", ".join(f"{who} {value:g}" for who, value in sorted(self.claims.items()))
        merged = "?" if self.estimate is None else hours(self.estimate)
        return f"{merged}, {self.spread}: {each}"

    def take(self, entry: Entry) -> None:
        """Takes an entry in."""
        if entry.kind is Kind.NOTE and entry.key == keys.ESTIMATE:
            self.estimate = entry.value
        elif entry.kind is Kind.CLAIM and entry.key.startswith(f"{keys.ESTIMATE}/"):
            self._claim(entry)
        elif entry.kind is Kind.PROPOSAL and entry.key.startswith(f"{keys.DESIGN}/"):
            self._propose(entry)
        elif entry.kind is Kind.BALLOT and entry.exists:
            poll = self.polls.get(entry.key.rpartition("/")[0])
            if poll is not None:
                poll.votes[entry.author] = _vote(entry)
        elif entry.kind is Kind.NOTE and entry.key.startswith("opinions/") and entry.exists:
            number = entry.key.rpartition("/")[2]
            poll = self.polls.get(f"{keys.DESIGN}/{number}")
            if poll is not None:
                poll.opinions[entry.author] = _vote(entry)

    def _claim(self, entry: Entry) -> None:
        agent = entry.key.rpartition("/@")[2]
        self.claims.pop(agent, None)
        if entry.exists:
            self.claims[agent] = entry.value

    def _propose(self, entry: Entry) -> None:
        basis: dict[str, Any] = entry.basis["poll"]
        if entry.change is ChangeType.PROPOSED:
            electors = [each["agent"] for each in basis["electors"]]
            votes = dict[str, Vote | None].fromkeys(electors)
            self.polls[entry.key] = Poll(entry.key, entry.value["edition"], votes)
        elif poll := self.polls.get(entry.key):
            poll.outcome, poll.count = Outcome(basis["outcome"]), basis["reason"]


def _vote(entry: Entry) -> Vote:
    return Vote(Choice(entry.value["choice"]), entry.value["reason"])
