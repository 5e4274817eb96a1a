"""A plain model of a region in which the crew votes, owns or claims: what the contract says, in dictionaries, one commit after another.

Everybody weighs one. Times are seconds since the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

from lavagna_server.domain.consensus.polls import Choice, Outcome
from lavagna_server.domain.merging import MergeRules, Testimony, merged
from lavagna_server.domain.regions import Electorate, Policy, Region, Voters
from lavagna_server.domain.values import Json
from tests.desks import BOARD, json_value

PATH = "design"
KEYS = ("design/a", "design/b")
DEADLINE_SECONDS = 10
A_DAY = 86_400
CREW = ("ada", "bob", "cyd")
"""Who votes; the first of them is the owner, where there is one, and the last has a veto, where there is one."""


@dataclass(frozen=True)
class Law:
    """How the region decides at a time."""

    policy: Policy
    voters: tuple[str, ...] = ()
    approvals: int = 2
    veto: str = ""
    lasts: int = DEADLINE_SECONDS

    @property
    def region(self) -> Region:
        """The region that says so."""
        terms = Electorate(
            tuple(Voters(name, veto=name == self.veto) for name in self.voters),
            approvals=self.approvals if self.approvals != 2 else 0.0,
            deadline=timedelta(seconds=self.lasts),
        )
        owner = CREW[0] if self.policy is Policy.OWNER else ""
        return Region(BOARD, PATH, owner=owner, policy=self.policy, electorate=terms)

    def asks_others(self, agent: str) -> bool:
        """Whether a write waits for votes."""
        return self.policy is Policy.QUORUM or (
            self.policy is Policy.OWNER and agent != self.voters[0]
        )


LAWS = {
    "majority": Law(Policy.QUORUM, CREW),
    "veto": Law(Policy.QUORUM, CREW, veto="cyd"),
    "anyone": Law(Policy.QUORUM, CREW, approvals=1),
    "owner": Law(Policy.OWNER, CREW[:1], approvals=1, lasts=A_DAY),
    "merged": Law(Policy.WEIGHTED),
    "latest": Law(Policy.LATEST),
}


@dataclass(frozen=True)
class Note:
    """An entry as it stands; its value is None once it has ended."""

    version: int
    value: Json
    confidence: float | None = None
    ends_at: float | None = None
    exists: bool = True


@dataclass(frozen=True)
class Word:
    """A claim."""

    version: int
    value: Json
    confidence: float | None
    ends_at: float | None = None
    exists: bool = True


@dataclass
class Motion:
    """A proposal."""

    target: str
    base: int
    author: str
    value: Json
    deletes: bool
    law: Law
    ends_at: float
    ttl: int | None
    ballots: dict[str, Choice] = field(default_factory=dict[str, Choice])
    outcome: Outcome = Outcome.OPEN
    decided_at: int = 0

    def verdict(self, *, is_over: bool) -> Outcome:
        """How the heads count."""
        said = [self.ballots.get(name) for name in self.law.voters]
        ayes, noes, silent = (said.count(each) for each in (Choice.ACCEPT, Choice.REJECT, None))
        holder = self.law.veto
        if holder and self.ballots.get(holder) is Choice.REJECT:
            return Outcome.REJECTED
        if ayes >= self.law.approvals:
            waits = holder and holder not in self.ballots and not is_over
            return Outcome.OPEN if waits else Outcome.ACCEPTED
        if ayes + silent < self.law.approvals:
            return Outcome.UNDECIDED if not silent and ayes == noes else Outcome.REJECTED
        return Outcome.UNDECIDED if is_over else Outcome.OPEN


VOTED = frozenset({Policy.OWNER, Policy.QUORUM})
Told: TypeAlias = "tuple[dict[str, object], dict[str, object], dict[str, object]]"
"""Of one revision: the entries, the proposals and the claims that there are."""


@dataclass
class Model:
    """The region, and how it was at every revision."""

    law: Law = LAWS["majority"]
    now: float = 0
    notes: dict[str, Note] = field(default_factory=dict[str, Note])
    motions: dict[str, Motion] = field(default_factory=dict[str, Motion])
    words: dict[tuple[str, str], Word] = field(default_factory=dict[tuple[str, str], Word])
    told: list[Told] = field(default_factory=lambda: [({}, {}, {})])
    _versions: dict[str, int] = field(default_factory=dict[str, int])
    """Of the entries before the present commit."""

    @property
    def head(self) -> int:
        """The newest revision."""
        return len(self.told) - 1

    def exists(self, key: str) -> bool:
        """Whether there is an entry."""
        return key in self.notes and self.notes[key].exists

    def version(self, key: str) -> int:
        """Of the newest version, ends included."""
        return self.notes[key].version if key in self.notes else 0

    def write(
        self, agent: str, key: str, value: Json, confidence: float | None, ttl: int | None,
        *, deletes: bool,
    ) -> None:  # fmt: skip
        """A write that is not refused."""
        ends_at = None if ttl is None or deletes else self.now + ttl
        if self.law.policy is Policy.WEIGHTED:
            self._claim(agent, key, value, confidence, ends_at, deletes=deletes)
        elif self.law.asks_others(agent):
            motion = Motion(
                key, self.version(key), agent, value, deletes, self.law,
                self.now + self.law.lasts, ttl,
            )  # fmt: skip
            self.motions[f"{key}/{self.head + 1:012d}-000"] = motion
            if agent in self.law.voters:
                self._ballot(motion, agent, Choice.ACCEPT)
        else:
            self._put(key, None if deletes else value, confidence, ends_at, exists=not deletes)
        self._commit()

    def vote(self, key: str, agent: str, choice: Choice) -> None:
        """A ballot that is not refused."""
        self._ballot(self.motions[key], agent, choice)
        self._commit()

    def withdraw(self, key: str) -> None:
        """A proposal's author takes it back."""
        self._close(self.motions[key], Outcome.WITHDRAWN)
        self._commit()

    def pass_time(self, seconds: int) -> None:
        """What ends at one moment ends in one commit."""
        until = self.now + seconds
        while moments := [moment for moment in self._moments() if moment <= until]:
            self.now = min(moments)
            self._end_what_is_due()
            self._commit()
        self.now = until

    def _moments(self) -> list[float]:
        lives: list[Note | Word] = [*self.notes.values(), *self.words.values()]
        lives = [each for each in lives if each.exists]
        ends = [each.ends_at for each in lives if each.ends_at is not None]
        return ends + [each.ends_at for each in self._open()]

    def _open(self) -> list[Motion]:
        return [each for _, each in sorted(self.motions.items()) if each.outcome is Outcome.OPEN]

    def _end_what_is_due(self) -> None:
        for key, note in self.notes.items():
            if note.exists and note.ends_at == self.now:
                self.notes[key] = Note(note.version + 1, None, exists=False)
        due = [each for each in self._open() if each.ends_at == self.now]
        ended = [
            key for key, word in self.words.items() if word.exists and word.ends_at == self.now
        ]
        before = {key: note.version for key, note in self.notes.items()}
        for motion in due:
            self._close(motion, motion.verdict(is_over=True))
        for name in ended:
            self.words[name] = Word(self.words[name].version + 1, None, None, exists=False)
        for target in {key for key, _ in ended}:
            if self.version(target) == before.get(target, 0):  # no decision came before
                self._merge(target)

    def _claim(
        self, agent: str, key: str, value: Json, confidence: float | None, ends_at: float | None,
        *, deletes: bool,
    ) -> None:  # fmt: skip
        version = self.words[key, agent].version + 1 if (key, agent) in self.words else 1
        self.words[key, agent] = (
            Word(version, None, None, exists=False)
            if deletes
            else Word(version, value, confidence, ends_at)
        )
        self._merge(key)

    def _merge(self, key: str) -> None:
        """The entry is what all live claims come to, counted anew."""
        if self.law.policy is not Policy.WEIGHTED:
            return
        live = [
            Testimony(agent, json_value(word.value), confidence, confidence)
            for (about, agent), word in self.words.items()
            if about == key and word.exists
            for confidence in [1.0 if word.confidence is None else word.confidence]
        ]
        result = merged(live, MergeRules())
        if result is not None:
            self._put(key, result.value.decoded(), result.confidence, None, exists=True)
        elif self.exists(key):
            self._put(key, None, None, None, exists=False)

    def _ballot(self, motion: Motion, agent: str, choice: Choice) -> None:
        motion.ballots[agent] = choice
        verdict = motion.verdict(is_over=False)
        if verdict is not Outcome.OPEN or self._is_off(motion):
            self._close(motion, verdict)

    def _is_off(self, motion: Motion) -> bool:
        """Whether its base moved, or nobody is asked there any more."""
        return self.version(motion.target) != motion.base or self.law.policy not in VOTED

    def _close(self, motion: Motion, outcome: Outcome) -> None:
        if outcome is not Outcome.WITHDRAWN and self._is_off(motion):
            outcome = Outcome.SUPERSEDED
        motion.outcome, motion.decided_at = outcome, self.head + 1
        if outcome is Outcome.ACCEPTED:
            ends_at = None if motion.ttl is None or motion.deletes else self.now + motion.ttl
            value = None if motion.deletes else motion.value
            self._put(motion.target, value, None, ends_at, exists=not motion.deletes)

    def _put(
        self, key: str, value: Json, confidence: float | None, ends_at: float | None,
        *, exists: bool,
    ) -> None:  # fmt: skip
        version = self._versions.get(key, 0) + 1  # one for each commit
        self.notes[key] = Note(version, value, confidence, ends_at, exists)

    def _commit(self) -> None:
        if self.law.policy in VOTED:
            for motion in self._open():
                version = self.version(motion.target)
                if version not in (motion.base, self._versions.get(motion.target, 0)):
                    self._close(motion, Outcome.SUPERSEDED)
        self._versions = {key: note.version for key, note in self.notes.items()}
        entries: dict[str, object] = {
            key: (note.version, note.value, note.confidence)
            for key, note in self.notes.items()
            if note.exists
        }
        proposals: dict[str, object] = {
            key: (each.outcome, each.decided_at, dict(each.ballots))
            for key, each in self.motions.items()
        }
        claims: dict[str, object] = {
            f"{key}/@{agent}": (word.version, word.value, word.confidence)
            for (key, agent), word in self.words.items()
            if word.exists
        }
        self.told.append((entries, proposals, claims))
