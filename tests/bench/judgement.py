"""Judgement: how often simulated crews of known reliability decide right, by plain majority and by weight; the same figures on every machine.

The crews answer questions of which the truth is known. The first questions are resolved, so that calibrations can be learnt; the others are counted. The
server's own rules weigh and merge.

    python -m tests.bench.judgement
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from rich.console import Console
from rich.table import Table

from lavagna_server.domain.merging import MergeRules, Testimony, merged
from lavagna_server.domain.values import Form, Value
from lavagna_server.domain.weighing.calibration import UNCALIBRATED, Calibration
from lavagna_server.domain.weighing.weights import Scale, Voter, weigh

QUESTIONS = 1_000
SEED = 1979
LIKELIEST = 0.98
"""No simulated answer is surer than that."""


def honest(likely: float) -> float:
    """States the probability of being right as it is."""
    return likely


def timid(likely: float) -> float:
    """States a third of what it is better than chance."""
    return 0.5 + (likely - 0.5) / 3


def bold(likely: float) -> float:
    """States a fifth of its errors."""
    return 1 - (1 - likely) / 5


@dataclass(frozen=True)
class Member:
    """A simulated voter; those of one model give the same answer."""

    name: str
    accuracy: float
    states: Callable[[float], float] = honest
    spread: float = 0.1
    """How far single questions are easier or harder for it."""
    model: str = ""


@dataclass(frozen=True)
class Vote:
    """One answer, with the probability that it was right."""

    says: str
    likely: float
    stated: float


@dataclass(frozen=True)
class Question:
    """What was true, and who said what."""

    truth: str
    votes: Mapping[str, Vote]


@dataclass(frozen=True)
class Method:
    """A way to decide."""

    name: str
    scale: Scale | None = None
    """None counts heads."""
    cap: float | None = None
    confidence: str = "none"
    """Whether weights are from nothing, `stated`, `calibrated`, or what only the simulation knows: `true`."""


@dataclass(frozen=True)
class Crew:
    """Who votes, between how many answers, and how many of its claims were resolved before."""

    name: str
    members: Sequence[Member]
    resolved: int = 200
    alternatives: int = 2


METHODS = (
    Method("plain majority"),
    Method("equal weights, capped", Scale.PROBABILITY, 1.0),
    Method("stated, as probability", Scale.PROBABILITY, None, "stated"),
    Method("stated, as log odds", Scale.LOG_ODDS, None, "stated"),
    Method("calibrated, as probability", Scale.PROBABILITY, None, "calibrated"),
    Method("calibrated, as log odds", Scale.LOG_ODDS, None, "calibrated"),
    Method("calibrated, as log odds, capped", Scale.LOG_ODDS, 1.0, "calibrated"),
    Method("best possible: true log odds, capped", Scale.LOG_ODDS, 1.0, "true"),
)


def _mixed(expert: Callable[[float], float], weak: Callable[[float], float]) -> Sequence[Member]:
    return (
        *(Member(f"expert-{number}", 0.85, expert) for number in range(3)),
        *(Member(f"fair-{number}", 0.7, honest, 0.2) for number in range(2)),
        *(Member(f"weak-{number}", 0.55, weak) for number in range(6)),
    )


BOLD_CREW = _mixed(timid, bold)
"""Three timid experts and two honest voters against six who know little and do not know it."""
COPIES = (
    *(Member(f"copy-{number}", 0.6, bold, model="one") for number in range(10)),
    *(Member(f"lone-{number}", 0.7) for number in range(5)),
)
"""Ten copies of one bad model against five independent voters."""
CREWS = (
    Crew("honest", _mixed(honest, honest)),
    Crew("bold, 20 resolved", BOLD_CREW, resolved=20),
    Crew("bold, 200 resolved", BOLD_CREW),
    Crew("bold, of 4 answers", BOLD_CREW, alternatives=4),
    Crew("10 copies, 5 lone", COPIES),
)


def asked(crew: Crew, chance: Random) -> Iterator[Question]:
    """Questions without end, with everybody's votes."""
    answers = [f"answer-{number}" for number in range(crew.alternatives)]
    while True:
        truth = int(chance.random() * len(answers))
        drawn: dict[str, tuple[str, float]] = {}
        votes: dict[str, Vote] = {}
        for member in crew.members:
            source = member.model or member.name
            if source not in drawn:
                easier = member.spread * (2 * chance.random() - 1)
                likely = min(LIKELIEST, member.accuracy + easier)
                wrong = 1 + int(chance.random() * (len(answers) - 1))
                off = 0 if chance.random() < likely else wrong
                drawn[source] = answers[(truth + off) % len(answers)], likely
            says, likely = drawn[source]
            votes[member.name] = Vote(says, likely, round(member.states(likely), 2))
        yield Question(answers[truth], votes)


def accuracies(
    crew: Crew, questions: int, methods: Sequence[Method] = METHODS
) -> Mapping[str, float]:
    """For each method the share of questions that the crew decides right; ties go as the product has them."""
    stream = asked(crew, Random(SEED))
    calibrations = {member.name: UNCALIBRATED for member in crew.members}
    for _ in range(crew.resolved):
        question = next(stream)
        for name, vote in question.votes.items():
            right = vote.says == question.truth
            calibrations[name] = calibrations[name].observed(vote.stated, right=right)
    hits = dict.fromkeys((method.name for method in methods), 0)
    for _ in range(questions):
        question = next(stream)
        for method in methods:
            decision = decided(crew, question, method, calibrations)
            hits[method.name] += decision == f'"{question.truth}"'
    return {name: count / questions for name, count in hits.items()}


def decided(
    crew: Crew, question: Question, method: Method, calibrations: Mapping[str, Calibration]
) -> str:
    """The answer that the server's rules come to, as JSON."""
    voters = [
        Voter(
            member.name,
            member.model,
            confidence=_confidence(question.votes[member.name], method),
            calibration=calibrations[member.name]
            if method.confidence == "calibrated"
            else UNCALIBRATED,
        )
        for member in crew.members
    ]
    weights = weigh(
        voters,
        group_cap=method.cap,
        scale=method.scale or Scale.PROBABILITY,
        alternatives=crew.alternatives,
    )
    rule = "weighted-plurality" if method.scale else "plurality"
    result = merged(
        (
            Testimony(
                each.agent,
                Value(Form.JSON, f'"{question.votes[each.agent].says}"'),
                each.after_cap,
                each.calibrated,
            )
            for each in weights
        ),
        MergeRules(category=rule),
    )
    assert result is not None
    assert isinstance(result.value.content, str)
    return result.value.content


def _confidence(vote: Vote, method: Method) -> float | None:
    if method.confidence == "true":
        return vote.likely
    return None if method.confidence == "none" else vote.stated


def table(scale: float = 1.0) -> Table:
    """How often each method is right, in percent."""
    questions = max(1, int(QUESTIONS * scale))
    results = [accuracies(crew, questions) for crew in CREWS]
    drawn = Table(
        "right, of 100 decisions",
        *(crew.name for crew in CREWS),
        title=f"Judgement of simulated crews, {questions:,} questions each, seed {SEED}",
    )
    for method in METHODS:
        drawn.add_row(method.name, *(f"{100 * result[method.name]:.1f}" for result in results))
    return drawn


if __name__ == "__main__":
    Console().print(table())
