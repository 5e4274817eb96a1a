"""A server that is killed at every point of the write path, under load, again and again on the same data.

What this proves is the order of things, not the disk: a killed process loses what it had not yet handed to the system, and nothing that it had.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import pytest

from lavagna import Activation, ActivationState, Commit, Entry
from lavagna_server.domain import entries as stored
from lavagna_server.domain.chain import chain_digest, content_digest
from lavagna_server.faults import POINTS
from lavagna_server.storage.sqlite import SqliteStore
from tests.faults.deaths import GROUPS_MAX, deaths, died
from tests.faults.lives import KILLED, Hatchery, Server
from tests.faults.load import WORKER, Ledger, under_load
from tests.faults.witness import revisions_after, witnessing

KILLS = int(os.environ.get("KILLS", "100"))
"""How often a server is killed."""
RESUMED = 10
"""How many of the watch's tokens are taken up again at the end."""

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]


@dataclass
class Aftermath:
    """What the clients were told, and what is there in the end."""

    ledger: Ledger
    ends: list[int] = field(default_factory=list[int])
    """How each life ended."""
    watched: list[Commit] = field(default_factory=list[Commit])
    """What one watch gave, which was open all the time."""
    tokens: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Where that watch stood at each death: its token, and the newest revision that it had given."""
    resumed: list[tuple[int, list[int]]] = field(default_factory=list[tuple[int, list[int]]])
    """For some of the tokens: the newest revision given before, and what a new watch gives."""
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    activations: list[Activation] = field(default_factory=list[Activation])
    log: Sequence[stored.Commit] = ()
    """The log itself, as the last server left it."""


@pytest.fixture(scope="module")
async def aftermath(
    hatchery: Hatchery, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Aftermath]:
    """What is left of a board whose server was killed many times under load."""
    server = Server(hatchery, tmp_path_factory.mktemp("killed") / "board")
    try:
        yield await mistreated(server)
    finally:
        await server.kill()


async def mistreated(server: Server) -> Aftermath:
    """Has a server killed again and again under load, and takes in what is left."""
    aftermath = Aftermath(Ledger())
    life = await server.start()
    async with server.connect("watcher") as board, witnessing(board) as witness:
        async with under_load(server, aftermath.ledger) as load:
            await load.progress(GROUPS_MAX)
            aftermath.ends.append(await life.kill())
            for point, groups in deaths(KILLS - 1, seed=8_128):
                aftermath.ends.append(await died(server, load, point, groups))
                if witness.token:
                    aftermath.tokens.append((witness.token, witness.revisions[-1]))
            life = await server.start()
        newest = max(aftermath.ledger.written)
        await witness.until(newest)
        aftermath.watched = witness.commits
        for token, given in aftermath.tokens[:: max(1, len(aftermath.tokens) // RESUMED)]:
            aftermath.resumed.append((given, await revisions_after(server, token, newest)))
        aftermath.entries = {entry.key: entry async for entry in board.entries()}
        aftermath.activations = [one async for one in board.activations.list()]
    assert await life.stop() == 0
    aftermath.log = stored_log(server)
    return aftermath


def stored_log(server: Server) -> Sequence[stored.Commit]:
    """The whole log, read without a server."""
    store = SqliteStore.open(server.data_dir)
    with store.snapshot() as snapshot:
        log = snapshot.commits(
            stored.SpaceName("main"), after=0, limit=1_000_000, bytes_max=1 << 40
        )
    store.close()
    return log


def test_every_life_ended_by_kill_under_load(aftermath: Aftermath) -> None:
    assert aftermath.ends == [KILLED] * KILLS
    assert len(aftermath.ledger.written) > KILLS
    assert set(POINTS) < {point for point, _ in deaths(KILLS - 1, seed=8_128)}


@pytest.mark.guarantee("S2")
def test_no_acknowledged_write_is_lost(aftermath: Aftermath) -> None:
    log = {commit.revision: commit for commit in aftermath.log}

    for revision, versions in aftermath.ledger.written.items():
        assert {entry.key: entry.version for entry in log[revision].entries} == versions


@pytest.mark.guarantee("S6")
def test_no_write_takes_effect_twice(aftermath: Aftermath) -> None:
    ledger, entries = aftermath.ledger, aftermath.entries
    written = {commit.revision for commit in aftermath.log if commit.author}

    assert written == ledger.written.keys()
    assert entries["counter"].value == entries["counter"].version == ledger.increments
    appended = {key: each.value for key, each in entries.items() if key.startswith("log/")}
    assert appended == ledger.appended
    assert len(set(appended.values())) == len(appended)


@pytest.mark.guarantee("S1")
def test_revisions_and_versions_run_without_a_gap(aftermath: Aftermath) -> None:
    assert [commit.revision for commit in aftermath.log] == list(range(1, len(aftermath.log) + 1))
    versions = Counter[str]()
    for commit in aftermath.log:
        for entry in commit.entries:
            versions[entry.key] += 1
            assert entry.version == versions[entry.key]


@pytest.mark.guarantee("S1")
def test_a_commit_is_there_whole_or_not_at_all(aftermath: Aftermath) -> None:
    pairs = [commit for commit in aftermath.log if commit.author.startswith("pairer-")]

    assert pairs
    for commit in pairs:
        left, right = commit.entries
        assert (left.value, left.version) == (right.value, right.version)


@pytest.mark.guarantee("S3")
def test_the_hash_chain_of_the_log_is_intact(aftermath: Aftermath) -> None:
    previous = b""
    for commit in aftermath.log:
        assert commit.content_digest == content_digest(commit.entries)
        assert commit.digest == chain_digest(commit, commit.content_digest, previous)
        previous = commit.digest


@pytest.mark.guarantee("W1")
@pytest.mark.guarantee("W2")
@pytest.mark.guarantee("W3")
@pytest.mark.guarantee("W4")
def test_a_watch_that_stays_open_gives_every_revision_once_and_whole(aftermath: Aftermath) -> None:
    assert len(aftermath.watched) >= max(aftermath.ledger.written)
    for seen, commit in zip(aftermath.watched, aftermath.log, strict=False):
        assert (seen.revision, seen.author) == (commit.revision, commit.author)
        assert [(each.key, each.version) for each in seen.entries] == [
            (each.key, each.version) for each in commit.entries
        ]


@pytest.mark.guarantee("W5")
def test_a_token_from_before_any_kill_still_resumes(aftermath: Aftermath) -> None:
    assert len(aftermath.resumed) >= min(RESUMED, KILLS // 2)
    for newest_given, revisions in aftermath.resumed:
        assert revisions[0] <= newest_given + 1
        assert revisions == list(range(revisions[0], revisions[-1] + 1))


@pytest.mark.guarantee("A1")
@pytest.mark.guarantee("A3")
def test_every_task_is_offered_once_and_done_once(aftermath: Aftermath) -> None:
    tasks = sorted(key for key in aftermath.entries if key.startswith("tasks/"))
    completed = {one.key: one for one in aftermath.activations}

    assert tasks
    assert sorted(one.key for one in aftermath.activations) == tasks
    assert {one.state for one in completed.values()} == {ActivationState.COMPLETED}
    for key in tasks:
        done = aftermath.entries[key.replace("tasks/", "done/")]
        assert (done.version, done.author) == (1, WORKER)
        assert done.revision == completed[key].completed_revision
