"""What would be left on the disk if the server were killed at each point that a deciding ballot, and a claim, passes: all of it or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from lavagna.v1 import boards_pb2, consensus_pb2, entries_pb2
from lavagna_server.clocks import ManualClock
from lavagna_server.domain.entries import Commit, Kind
from lavagna_server.engine.engine import EngineOptions
from lavagna_server.faults import POINTS
from lavagna_server.storage.sqlite import SqliteStore
from tests.desks import Desk, running
from tests.integration.requests import BOARD
from tests.wire import Wire, connected

pytestmark = pytest.mark.faults

CONSENSUS = "/lavagna.v1.Consensus/"
OPTIONS = EngineOptions(secret=b"of these tests")
Act: TypeAlias = "Callable[[Wire], Awaitable[Any]]"


class Instants:
    """Takes a copy of the database's files at each point of the write path: what a kill at that moment would leave."""

    def __init__(self, data_dir: Path, copies: Path) -> None:
        self._data_dir, self._copies = data_dir, copies
        self.is_looking = False

    def at(self, point: str) -> None:
        if self.is_looking and not (self._copies / point).exists():
            (self._copies / point).mkdir(parents=True)
            for name in ("board.db", "board.db-wal"):
                shutil.copy2(self._data_dir / name, self._copies / point / name)


async def prepared(wire: Wire) -> consensus_pb2.Proposal:
    """Ada's proposal, which one more vote accepts, and a claim of hers, which one more changes the merge of."""
    voters = [boards_pb2.Voters(name=name) for name in ("ada", "bob", "cyd")]
    terms = boards_pb2.Electorate(voters=voters)
    for region in (
        boards_pb2.Region(path="design", policy=boards_pb2.POLICY_QUORUM, electorate=terms),
        boards_pb2.Region(path="effort", policy=boards_pb2.POLICY_WEIGHTED),
    ):
        request = boards_pb2.SetRegionRequest(board=BOARD, region=region)
        await wire.call("/lavagna.v1.Boards/SetRegion", request, agent="root")
    await claim(wire, "ada", "3")
    put = entries_pb2.Put(value=entries_pb2.Value(json='"log"'))
    proposing = consensus_pb2.ProposeRequest(
        board=BOARD, change=entries_pb2.Change(key="design", put=put)
    )
    outcome = await wire.call(CONSENSUS + "Propose", proposing, agent="ada")
    proposal: consensus_pb2.Proposal = outcome.response.proposal
    return proposal


async def claim(wire: Wire, agent: str, json: str) -> Any:
    """A claim about the effort, the same request each time."""
    put = entries_pb2.Put(value=entries_pb2.Value(json=json))
    request = consensus_pb2.ClaimRequest(
        board=BOARD, request_id="one", change=entries_pb2.Change(key="effort", put=put)
    )
    return (await wire.call(CONSENSUS + "Claim", request, agent=agent)).response


def voting(proposal: consensus_pb2.Proposal) -> Act:
    """Bob's deciding vote, the same request each time."""
    request = consensus_pb2.VoteRequest(
        board=BOARD,
        request_id="one",
        proposal_key=proposal.key,
        choice=consensus_pb2.CHOICE_ACCEPT,
        content_hash=proposal.content_hash,
    )

    async def vote(wire: Wire) -> Any:
        return (await wire.call(CONSENSUS + "Vote", request, agent="bob")).response

    return vote


def claiming(proposal: consensus_pb2.Proposal) -> Act:
    """Bob's claim, the same request each time."""
    del proposal

    async def said(wire: Wire) -> Any:
        return await claim(wire, "bob", "5")

    return said


CHANGES: Mapping[Callable[[consensus_pb2.Proposal], Act], list[Kind]] = {
    voting: [Kind.BALLOT, Kind.PROPOSAL, Kind.NOTE],
    claiming: [Kind.CLAIM, Kind.NOTE],
}


@pytest.mark.guarantee("C1")
@pytest.mark.guarantee("C4")
@pytest.mark.guarantee("S6")
@pytest.mark.parametrize("acting", CHANGES, ids=lambda each: each.__name__)
async def test_a_kill_at_any_point_leaves_all_that_follows_or_nothing_and_a_retry_ends_the_same(
    tmp_path: Path, acting: Callable[[consensus_pb2.Proposal], Act]
) -> None:
    data_dir, copies = tmp_path / "data", tmp_path / "copies"
    instants, clock = Instants(data_dir, copies), ManualClock()
    store = SqliteStore.open(data_dir)
    async with (
        running(store, clock, options=OPTIONS, faults=instants) as engine,
        connected(engine) as wire,
    ):
        act = acting(await prepared(wire))
        instants.is_looking = True
        response = await act(wire)
        await Desk(engine, "ada").put("later", 1)  # only then has the last point been passed
        instants.is_looking = False
        final = (await Desk(engine, "ada").commits())[:3]

    assert sorted(POINTS) == sorted(path.name for path in copies.iterdir())
    for point in POINTS:
        is_stored = POINTS.index(point) >= POINTS.index("after_sync")
        left, again, after = await revived(copies / point, act)
        assert [each.kind for each in left.entries] == (CHANGES[acting] if is_stored else []), point
        assert again == response
        assert [each.entries for each in after] == [each.entries for each in final], point


async def revived(data_dir: Path, act: Act) -> tuple[Commit, Any, list[Commit]]:
    """The third commit as it was found, what the same request is answered, and the log after that."""
    store = SqliteStore.open(data_dir)
    async with (
        running(store, ManualClock(), options=OPTIONS) as engine,
        connected(engine) as wire,
    ):
        desk = Desk(engine, "ada")
        found = list(await desk.commits())
        again = await act(wire)
        after = list(await desk.commits())
    nothing = Commit(desk.shared, 3, after[-1].committed_at, "", after[-1].occasion, ())
    return found[2] if len(found) > 2 else nothing, again, after
