"""The scene: what the launcher knows of the crew, from the board alone."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lavagna import Activation, ActivationState, ChangeType, Commit, Entry, Kind, Occasion
from lavagna_crew import keys
from lavagna_crew.demo.agreement import Agreement
from lavagna_crew.demo.story import deed, told

HAPPENINGS_KEPT_MAX = 200


@dataclass(frozen=True, slots=True)
class Happening:
    """Something to tell."""

    seconds: float
    """Since the launch."""
    who: str
    text: str
    wakes: bool = False
    """Whether somebody began to work, and nothing has changed yet."""


@dataclass(slots=True)
class Scene:
    """Who is there, who is awake, what changed, what waits."""

    members: Sequence[str] = ()
    """Who belongs to the crew."""
    clock: Callable[[], float] = time.monotonic
    awake: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What each agent that works is doing."""
    waiting: list[str] = field(default_factory=list[str])
    """What is on the agenda and nobody has begun."""
    newest: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """The newest values that are JSON, by key."""
    agreement: Agreement = field(default_factory=Agreement)
    """What the crew votes on, and what it estimates."""
    revision: int = 0
    at_rest: bool = False
    """Whether the board has come to rest since its last change, and nothing waits for votes."""
    failed_runs: int = 0
    """How often the tests of an attempt failed."""
    reachable: bool = True
    happenings: deque[Happening] = field(
        default_factory=lambda: deque[Happening](maxlen=HAPPENINGS_KEPT_MAX)
    )
    _start: float = 0.0
    _seen: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])

    def __post_init__(self) -> None:
        self._start = self.clock()

    @property
    def seconds(self) -> float:
        """How long the launch is ago."""
        return self.clock() - self._start

    def is_up(self, member: str) -> bool:
        """Whether a member has joined the board."""
        return keys.presence(member) in self.newest

    @property
    def complete(self) -> bool:
        """Whether everybody has."""
        return all(map(self.is_up, self.members))

    @property
    def verdict(self) -> Mapping[str, Any] | None:
        """The CEO's newest word."""
        return self.newest.get(keys.VERDICT)

    @property
    def decided(self) -> bool:
        """Whether the CEO's word is final."""
        return self.verdict is not None and bool(self.verdict["final"])

    def tell(self, who: str, text: str, *, wakes: bool = False) -> Happening:
        """Notes something that happened."""
        happening = Happening(self.seconds, who, text, wakes)
        self.happenings.append(happening)
        return happening

    def take(self, commit: Commit) -> Iterator[Happening]:
        """Takes a commit in, and gives what is to be told of it."""
        self.revision = commit.revision
        opens = any(entry.change is ChangeType.PROPOSED for entry in commit.entries)
        for entry in commit.entries:
            self._note(entry)
            self.agreement.take(entry)
            # Whoever proposes votes for it in the same commit, which goes without saying.
            if not (opens and entry.kind is Kind.BALLOT) and (text := told(entry)):
                yield self.tell(_teller(commit, entry), text)
        if is_quiet := commit.occasion is Occasion.QUIESCENCE:
            votes = "; a vote goes on" if self.agreement.is_open else ""
            yield self.tell("board", f"is at rest: nothing waits, nobody works{votes}")
        self.at_rest = is_quiet and not self.agreement.is_open

    def look(self, activations: Iterable[Activation]) -> Iterator[Happening]:
        """Takes in what is on the agenda now, and gives who woke."""
        self.awake, self.waiting = {}, []
        for activation in sorted(activations, key=lambda one: one.fired_revision):
            doing = deed(activation)
            if activation.state is ActivationState.WAITING:
                self.waiting.append(doing)
            elif activation.state is ActivationState.LEASED:
                self.awake.setdefault(activation.holder, []).append(doing)
                claim = (activation.id, activation.fence)
                if claim not in self._seen:
                    self._seen.add(claim)
                    yield self.tell(activation.holder, doing, wakes=True)

    def going_on(self) -> str:
        """What goes on while nothing changes."""
        if not self.reachable:
            return "the server is away"
        if not self.complete:
            up = [member for member in self.members if self.is_up(member)]
            return f"{len(up)} of {len(self.members)} agents are up" if up else "everybody starts"
        deeds = [f"{who} {', '.join(deeds)}" for who, deeds in self.awake.items()]
        return f"still: {'; '.join(deeds)}" if deeds else "nobody is awake"

    def blocked(self) -> Iterator[str]:
        """Tasks that wait for others to pass their tests."""
        for key, task in self.newest.items():
            name = key.removeprefix("tasks/")
            if name == key or keys.submission(name) in self.newest:
                continue
            missing = [other for other in task["depends_on"] if not self._passes(other)]
            if missing:
                yield f"{name} waits for {', '.join(missing)}"

    def _passes(self, task: str) -> bool:
        return bool(self.newest.get(keys.result(task), {}).get("ok"))

    def _note(self, entry: Entry) -> None:
        # A merge of claims is no record; the agreement knows it.
        if entry.kind is not Kind.NOTE or entry.key == keys.ESTIMATE:
            return
        if entry.exists and entry.json_text is not None:
            self.newest[entry.key] = entry.value
            self.failed_runs += entry.key.startswith("results/") and not entry.value["ok"]


def _teller(commit: Commit, entry: Entry) -> str:
    """Whose deed an entry is; what votes come to is nobody's alone."""
    return "board" if entry.change is ChangeType.DECIDED else commit.author
