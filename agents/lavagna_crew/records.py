"""Records: the shapes of what the crew writes on its board."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict


class Request(TypedDict):
    """The task, in a person's words."""

    task: str


class Goal(TypedDict):
    """What is to be built."""

    title: str
    statement: str
    acceptance: Sequence[str]


class Task(TypedDict):
    """A part of the program."""

    title: str
    brief: str
    files: Sequence[str]
    depends_on: Sequence[str]
    priority: int


class Design(TypedDict):
    """How it is built."""

    edition: int
    """Counts the designs that were proposed, from 1."""
    summary: str
    tasks: Sequence[str]
    parts: Mapping[str, Task]
    """The tasks in full, by name: what is handed out once the design is accepted."""


class Opinion(TypedDict):
    """What an agent thinks of a proposed design."""

    edition: int
    choice: Literal["accept", "reject", "abstain"]
    reason: str
    confidence: float
    """How sure it is of its vote and its estimate, from 0 to 1."""
    hours: float
    """What building the program takes, as it estimates."""


class Submission(TypedDict):
    """An attempt at a task."""

    attempt: int
    files: Sequence[str]
    note: str


class Suite(TypedDict):
    """The tests of a task."""

    edition: int
    files: Sequence[str]
    note: str


class FailedTest(TypedDict):
    """A test that did not pass."""

    test: str
    text: str


class Outcome(TypedDict):
    """What became of tests that ran."""

    ok: bool
    passed: int
    failed: int
    failures: Sequence[FailedTest]
    timed_out: bool
    out_of_memory: bool
    seconds: float


class Result(Outcome):
    """What came of an attempt under an edition of its tests."""

    attempt: int
    edition: int


class Objection(TypedDict):
    """Why an edition of the tests is wrong about an attempt."""

    attempt: int
    edition: int
    objection: str


class Report(Outcome):
    """What came of all tests on the whole program."""

    round: int
    attempts: dict[str, int]


class Review(TypedDict):
    """What is to be done better than in an attempt."""

    round: int
    attempt: int
    remark: str


class Remark(TypedDict):
    """What is to be done better, and where."""

    task: str
    remark: str


class Verdict(TypedDict):
    """Whether the program is accepted."""

    accepted: bool
    final: bool
    """Whether nothing more is going to be done."""
    reason: str
    round: int


class Usage(TypedDict):
    """What one reply of a model took."""

    turn: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None


class Presence(TypedDict):
    """That an agent is up."""

    role: str
    model: str
    process: int
