"""The engine driven by chance through proposals, votes, claims, withdrawals, expiries, deadlines and changes of policy, against a plain model."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.consensus.polls import Choice, Outcome, poll_of
from lavagna_server.domain.entries import ChangeType, Commit, Entry, EntryId, Kind
from lavagna_server.domain.errors import (
    BoardError,
    ContentMismatch,
    NotAVoter,
    NotFound,
    NotMerged,
    PermissionDenied,
    PollClosed,
)
from lavagna_server.domain.keys import EVERYTHING
from lavagna_server.domain.regions import Policy
from lavagna_server.engine.consensus import Proposal, Vote
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.ports.store import Store
from lavagna_server.storage.ephemeral import EphemeralStore
from lavagna_server.storage.sqlite import SqliteStore
from tests.claimants import claimant
from tests.desks import Desk, delete, put, running
from tests.properties.poll_model import CREW, KEYS, LAWS, Model, Motion, Told

AGENTS = st.sampled_from([*CREW, "eve"])
VALUES = st.sampled_from([1, 2, 5, 2.5, "x", [1], None])
CONFIDENCES = st.sampled_from([None, None, 0.25, 0.9, 1.0])
TTLS = st.sampled_from([None, None, 3, 7, 10])


class PollMachine(RuleBasedStateMachine):
    """One region of one board."""

    durable = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.store: Store = self.open_store()
        self.model = Model()
        self.start()
        self.follow("majority")

    def open_store(self) -> Store:
        """The store under test."""
        return SqliteStore.open(Path(self.folder.name)) if self.durable else EphemeralStore()

    def run(self, work: Any) -> Any:
        """Runs a coroutine to its end."""
        return self.loop.run_until_complete(work)

    def start(self) -> None:
        """Starts an engine on the store."""
        self.context = running(self.store, self.clock)
        self.engine = self.run(self.context.__aenter__())
        self.root = Desk(self.engine, "root", Role.ADMIN)

    def teardown(self) -> None:
        check_log(self.run(self.root.commits()), self.model.motions)
        self.run(self.context.__aexit__(None, None, None))
        self.loop.close()
        self.folder.cleanup()

    @rule(name=st.sampled_from(sorted(LAWS)))
    def follow(self, name: str) -> None:
        """An administrator changes how the region decides."""
        self.model.law = LAWS[name]
        region = self.model.law.region
        self.run(self.engine.regions.set(self.root.call(), region, expected_version=0))

    @rule(
        agent=AGENTS, key=st.sampled_from(KEYS), value=VALUES, confidence=CONFIDENCES, ttl=TTLS
    )  # fmt: skip
    def write(
        self, agent: str, key: str, value: object, confidence: float | None, ttl: int | None
    ) -> None:
        """Becomes a value, a proposal or a claim."""
        if self.model.law.policy is not Policy.WEIGHTED:
            confidence = None
        lives = None if ttl is None else timedelta(seconds=ttl)
        change = put(key, value, overwrite=True, confidence=confidence, ttl=lives)
        self.run(self.desk(agent).commit(change))
        self.model.write(agent, key, value, confidence, ttl, deletes=False)  # type: ignore[arg-type]

    @rule(agent=AGENTS, key=st.sampled_from(KEYS))
    def remove(self, agent: str, key: str) -> None:
        """Becomes an end, a proposal to end it, or the end of a claim."""
        model = self.model
        if model.law.policy is Policy.WEIGHTED:
            exists = (key, agent) in model.words and model.words[key, agent].exists
        else:
            exists = model.exists(key)
        work = self.desk(agent).commit(delete(key))
        if not exists:
            self.refused(NotFound, work)
            return
        self.run(work)
        model.write(agent, key, None, None, None, deletes=True)

    @precondition(lambda self: self.model.motions)
    @rule(data=st.data(), agent=AGENTS, choice=st.sampled_from(Choice), stale=st.booleans())
    def vote(self, data: st.DataObject, agent: str, choice: Choice, stale: bool) -> None:
        """Casts or changes a ballot, on what is open or decided, as somebody who may or may not."""
        key, motion = self.some_motion(data)
        poll = poll_of(self.proposal(key).newest)
        seen = "0" * 64 if stale else poll.content_hash
        vote = Vote(key, choice, None, "", seen, motion.base)
        work = self.engine.consensus.vote(self.desk(agent).call(), vote, token="")
        if agent not in motion.law.voters:
            self.refused(NotAVoter, work)
        elif motion.outcome is not Outcome.OPEN:
            self.refused(PollClosed, work)
        elif stale:
            self.refused(ContentMismatch, work)
        else:
            self.run(work)
            self.model.vote(key, agent, choice)

    @precondition(lambda self: self.model.motions)
    @rule(data=st.data(), agent=AGENTS)
    def withdraw(self, data: st.DataObject, agent: str) -> None:
        """Takes a proposal back."""
        key, motion = self.some_motion(data)
        call = self.desk(agent).call()
        work = self.engine.consensus.withdraw(call, key, reason="", token="")
        if agent != motion.author:
            self.refused(PermissionDenied, work)
        elif motion.outcome is not Outcome.OPEN:
            self.refused(PollClosed, work)
        else:
            self.run(work)
            self.model.withdraw(key)

    @rule(agent=AGENTS, key=st.sampled_from(KEYS))
    def take_a_claim_back(self, agent: str, key: str) -> None:
        """Withdraws a claim, where claims are merged."""
        work = claimant(self.engine, agent).withdraw(key)
        if self.model.law.policy is not Policy.WEIGHTED:
            self.refused(NotMerged, work)
        elif (key, agent) not in self.model.words or not self.model.words[key, agent].exists:
            self.refused(NotFound, work)
        else:
            self.run(work)
            self.model.write(agent, key, None, None, None, deletes=True)

    @rule(seconds=st.sampled_from([1, 2, 3, 7, 10, 20]))
    def let_time_pass(self, seconds: int) -> None:
        """Deadlines come, values and claims expire."""
        self.run(self.clock.advance(seconds))
        self.model.pass_time(seconds)

    @precondition(lambda self: self.durable and self.model.head > 0)
    @rule()
    def restart(self) -> None:
        """A new engine on the same store."""
        self.run(self.context.__aexit__(None, None, None))
        self.store = self.open_store()
        self.start()

    @precondition(lambda self: self.model.head > 0)
    @rule(data=st.data())
    def read_as_of_a_revision(self, data: st.DataObject) -> None:
        """An older revision reads as it did then, whatever has happened and been decided since."""
        revision = data.draw(st.integers(1, self.model.head))
        assert self.told(revision) == self.model.told[revision]

    @invariant()
    def everything_is_as_the_model_says(self) -> None:
        """Entries, proposals with their ballots, and claims, at the newest revision."""
        assert self.told(0) == self.model.told[-1]

    def some_motion(self, data: st.DataObject) -> tuple[str, Motion]:
        """Any proposal, more often one that is open."""
        motions = self.model.motions
        is_open = [key for key in motions if motions[key].outcome is Outcome.OPEN]
        key = data.draw(st.sampled_from([*motions, *is_open * 3]))
        return key, motions[key]

    def desk(self, agent: str) -> Desk:
        """An agent at work."""
        return Desk(self.engine, agent, Role.AGENT)

    def refused(self, error: type[BoardError], work: Any) -> None:
        """The call is refused; the invariant shows that it left nothing behind."""
        with pytest.raises(error):
            self.run(work)

    def proposal(self, key: str) -> Proposal:
        """A proposal as it stands."""
        found: Proposal = self.run(
            self.engine.consensus.get(self.root.caller, key, ReadPoint())
        ).proposal
        return found

    def told(self, revision: int) -> Told:
        """What the engine tells of a revision."""
        point = ReadPoint(revision)
        read = self.run(
            self.engine.consensus.list(
                self.root.caller,
                EVERYTHING,
                outcomes=frozenset(),
                voter="",
                point=point,
                after=None,
                size=1_000,
            )
        )
        if not revision:
            assert read.revision == self.model.head
        return (
            {each.key: as_told(each) for each in self.listed(Kind.NOTE, point)},
            {each.newest.key: poll_as_told(each) for each in read.proposals},
            {each.key: as_told(each) for each in self.listed(Kind.CLAIM, point)},
        )

    def listed(self, kind: Kind, point: ReadPoint) -> tuple[Entry, ...]:
        """The entries of a kind."""
        read = self.run(
            self.engine.reads.list(
                self.root.caller,
                self.root.shared,
                frozenset({kind}),
                EVERYTHING,
                tags=frozenset(),
                point=point,
                after=None,
                size=1_000,
                keys_only=False,
            )
        )
        entries: tuple[Entry, ...] = read.entries
        return entries


def as_told(entry: Entry) -> tuple[int, Any, float | None]:
    """An entry as the model knows it."""
    assert entry.value is not None
    return entry.version, entry.value.decoded(), entry.confidence


def poll_as_told(proposal: Proposal) -> tuple[Outcome, int, dict[str, Choice]]:
    """A proposal as the model knows it."""
    poll = poll_of(proposal.newest)
    said = {each.voter: each.choice for each in poll.ballots}
    if poll.outcome is Outcome.OPEN:
        for each in proposal.ballots:
            assert each.value is not None
            said[each.author] = Choice(each.value.decoded()["choice"])
    return poll.outcome, 0 if proposal.newest.exists else proposal.newest.revision, said


def check_log(log: list[Commit], motions: Mapping[str, Motion]) -> None:
    """Revisions and versions run without a gap; each proposal has at most one decision, with its effect beside it, and nothing after it."""
    versions = Counter[EntryId]()
    decided: dict[str, int] = {}
    for revision, commit in enumerate(log, 1):
        assert commit.revision == revision
        for entry in commit.entries:
            versions[entry.id] += 1
            assert (entry.version, entry.revision) == (versions[entry.id], revision)
            if entry.kind is Kind.BALLOT:
                assert entry.key.rpartition("/")[0] not in decided
        for entry in commit.entries:
            if entry.kind is Kind.PROPOSAL and entry.change is ChangeType.DECIDED:
                assert entry.key not in decided
                decided[entry.key] = revision
                check_effect(commit, entry)
    assert decided == {key: each.decided_at for key, each in motions.items() if each.decided_at}


def check_effect(commit: Commit, decision: Entry) -> None:
    """An acceptance changed its entry in the same commit, and nothing else did by its name."""
    poll = poll_of(decision)
    effects = [
        (each.key, each.version)
        for each in commit.entries
        if each.kind is Kind.NOTE
        and each.basis
        and json.loads(each.basis).get("decision", {}).get("proposal") == decision.key
    ]
    is_accepted = poll.outcome is Outcome.ACCEPTED
    assert effects == ([(poll.target, poll.base_version + 1)] if is_accepted else [])


class DurablePollMachine(PollMachine):
    """The same on SQLite, with restarts."""

    durable = True


TestPollsInMemory = pytest.mark.guarantee("C1")(PollMachine.TestCase)
TestPollsOnSqlite = pytest.mark.guarantee("C2")(DurablePollMachine.TestCase)
_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
TestPollsInMemory.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=_CHECKS
)
TestPollsOnSqlite.settings = settings(
    max_examples=20, stateful_step_count=40, deadline=None, suppress_health_check=_CHECKS
)
