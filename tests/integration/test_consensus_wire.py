"""Consensus over the wire: one effect per vote however it comes, many voters at once, and what a watch tells of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import grpc.aio
import pytest
from google.protobuf.message import Message

from lavagna.v1 import boards_pb2, consensus_pb2, entries_pb2, watch_pb2
from lavagna_server.clocks import ManualClock
from tests.desks import running
from tests.integration.conftest import OpenStore
from tests.integration.requests import BOARD
from tests.wire import Outcome, Wire, connected

CODE = grpc.StatusCode
CONSENSUS = "/lavagna.v1.Consensus/"
COMMIT = "/lavagna.v1.Entries/Commit"
WATCH = "/lavagna.v1.Watch/Watch"
CREW = [f"v{number:02d}" for number in range(32)]
ACCEPT, REJECT = consensus_pb2.CHOICE_ACCEPT, consensus_pb2.CHOICE_REJECT
KIND = entries_pb2


@pytest.fixture
async def wire(open_store: OpenStore, clock: ManualClock) -> AsyncIterator[Wire]:
    """A server on each store, where five decide on `design`, 32 on `vote`, and claims about `effort` are merged."""
    async with running(open_store(), clock) as engine, connected(engine) as wire:
        await quorum(wire, "design", ["ada", "bob", "cyd", "dee", "eve"], approvals=3)
        await quorum(wire, "vote", CREW, approvals=20)
        merging = boards_pb2.Region(path="effort", policy=boards_pb2.POLICY_WEIGHTED, owner="ceo")
        await set_region(wire, merging)
        yield wire


async def set_region(wire: Wire, region: boards_pb2.Region) -> None:
    request = boards_pb2.SetRegionRequest(board=BOARD, region=region)
    outcome = await wire.call("/lavagna.v1.Boards/SetRegion", request, agent="root")
    assert outcome.code is CODE.OK, outcome.message


async def quorum(wire: Wire, path: str, voters: Sequence[str], *, approvals: float) -> None:
    """A region in which so many of the voters decide."""
    terms = boards_pb2.Electorate(
        voters=[boards_pb2.Voters(name=name) for name in voters], approvals=approvals
    )
    region = boards_pb2.Region(path=path, policy=boards_pb2.POLICY_QUORUM, electorate=terms)
    await set_region(wire, region)


def change(key: str, json: str = "1", **more: Any) -> entries_pb2.Change:
    put = entries_pb2.Put(value=entries_pb2.Value(json=json))
    return entries_pb2.Change(key=key, put=put, **more)


async def told(wire: Wire, method: str, request: Message, agent: str) -> Outcome:
    return await wire.call(CONSENSUS + method, request, agent=agent)


async def proposed(wire: Wire, key: str, agent: str, json: str = "1") -> consensus_pb2.Proposal:
    request = consensus_pb2.ProposeRequest(board=BOARD, change=change(key, json))
    outcome = await told(wire, "Propose", request, agent)
    assert outcome.code is CODE.OK, outcome.message
    proposal: consensus_pb2.Proposal = outcome.response.proposal
    return proposal


def ballot(
    on: consensus_pb2.Proposal,
    choice: consensus_pb2.Choice.ValueType = ACCEPT,
    request_id: str = "",
) -> consensus_pb2.VoteRequest:
    """A vote on what was seen."""
    return consensus_pb2.VoteRequest(
        board=BOARD,
        request_id=request_id,
        proposal_key=on.key,
        choice=choice,
        content_hash=on.content_hash,
        base_version=on.base_version,
    )


async def standing(wire: Wire, key: str) -> consensus_pb2.Proposal:
    """A proposal as it stands now."""
    request = consensus_pb2.GetProposalRequest(board=BOARD, proposal_key=key)
    proposal: consensus_pb2.Proposal = (
        await told(wire, "GetProposal", request, "root")
    ).response.proposal
    return proposal


async def vote(
    wire: Wire, proposal: consensus_pb2.Proposal, agent: str, request_id: str, *, anew: bool
) -> Outcome:
    """A vote, on the test's own connection or on a new one."""
    if not anew:
        return await told(wire, "Vote", ballot(proposal, request_id=request_id), agent)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{wire.server.port}") as channel:
        other = Wire(wire.engine, wire.server, channel, wire.registry)
        return await told(other, "Vote", ballot(proposal, request_id=request_id), agent)


@pytest.mark.field_report("F26")
@pytest.mark.guarantee("C1")
@pytest.mark.guarantee("S6")
@pytest.mark.parametrize("anew", [False, True])
async def test_a_vote_that_is_tried_again_counts_once_and_is_answered_the_same(
    wire: Wire, anew: bool
) -> None:
    proposal = await proposed(wire, "design", "ada")
    first = await vote(wire, proposal, "bob", "once", anew=False)
    again = await vote(wire, proposal, "bob", "once", anew=anew)
    await vote(wire, proposal, "cyd", "third", anew=False)
    late = await vote(wire, proposal, "bob", "once", anew=anew)

    assert first.response.proposal.outcome == consensus_pb2.OUTCOME_OPEN
    assert first.response == again.response == late.response
    assert [(each.agent, each.version) for each in (await standing(wire, proposal.key)).ballots] == [
        ("ada", 1), ("bob", 1), ("cyd", 1),
    ]  # fmt: skip


@pytest.mark.field_report("F26")
@pytest.mark.guarantee("C1")
@pytest.mark.parametrize("anew", [False, True])
async def test_a_vote_with_a_new_request_id_takes_the_place_of_the_earlier_and_adds_nothing(
    wire: Wire, anew: bool
) -> None:
    proposal = await proposed(wire, "design", "ada")
    for number in range(5):
        outcome = await vote(wire, proposal, "bob", f"try {number}", anew=anew)
        assert outcome.response.proposal.outcome == consensus_pb2.OUTCOME_OPEN

    assert [(each.agent, each.version) for each in (await standing(wire, proposal.key)).ballots] == [
        ("ada", 1), ("bob", 5),
    ]  # fmt: skip


@pytest.mark.field_report("F26")
@pytest.mark.guarantee("C1")
@pytest.mark.parametrize("request_id", ["the same", ""])
async def test_one_voter_on_many_connections_at_once_has_one_vote(
    wire: Wire, request_id: str
) -> None:
    proposal = await proposed(wire, "design", "ada")
    outcomes = await asyncio.gather(
        *(vote(wire, proposal, "bob", request_id, anew=True) for _ in range(8))
    )

    assert {each.code for each in outcomes} == {CODE.OK}
    if request_id:
        assert len({each.response.SerializeToString() for each in outcomes}) == 1
    after = await standing(wire, proposal.key)
    assert after.outcome == consensus_pb2.OUTCOME_OPEN
    assert [(each.agent, each.version) for each in after.ballots] == [
        ("ada", 1), ("bob", 1 if request_id else 8),
    ]  # fmt: skip


@pytest.mark.guarantee("S6")
async def test_one_request_id_cannot_say_two_things(wire: Wire) -> None:
    proposal = await proposed(wire, "design", "ada")
    await vote(wire, proposal, "bob", "id", anew=False)
    other = await told(wire, "Vote", ballot(proposal, REJECT, "id"), "bob")

    assert (other.code, other.reason) == (CODE.INVALID_ARGUMENT, "REQUEST_ID_REUSED")


@pytest.mark.guarantee("S6")
async def test_proposing_claiming_and_withdrawing_again_are_answered_the_same(wire: Wire) -> None:
    requests: Sequence[tuple[str, Message]] = [
        (
            "Propose",
            consensus_pb2.ProposeRequest(board=BOARD, request_id="p", change=change("design")),
        ),
        (
            "Claim",
            consensus_pb2.ClaimRequest(board=BOARD, request_id="c", change=change("effort")),
        ),
        (
            "Withdraw",
            consensus_pb2.WithdrawRequest(board=BOARD, request_id="w", claimed_key="effort"),
        ),
    ]
    for method, request in requests:
        first = await told(wire, method, request, "ada")
        again = await told(wire, method, request, "ada")
        assert first.code is CODE.OK, first.message
        assert first.response == again.response
    space = await wire.call(
        "/lavagna.v1.Entries/List", entries_pb2.ListRequest(board=BOARD), agent="ada"
    )
    assert space.response.header.revision == 3


@pytest.mark.guarantee("C1")
@pytest.mark.guarantee("W2")
@pytest.mark.guarantee("W3")
async def test_thirty_two_voters_at_once_come_to_one_decision_that_every_watch_tells_once(
    wire: Wire,
) -> None:
    proposal = await proposed(wire, "vote", CREW[0])
    request = watch_pb2.WatchRequest(board=BOARD, initial_state=True)
    live = asyncio.create_task(until_decided(wire, request))
    await wire.inside(WATCH)
    outcomes = await at_once(wire, proposal)

    codes = Counter(each.code for each in outcomes)
    assert codes == {CODE.OK: 19, CODE.FAILED_PRECONDITION: 12}
    assert {each.reason for each in outcomes if each.code is not CODE.OK} == {"POLL_CLOSED"}
    deciding = [
        each.response
        for each in outcomes
        if each.code is CODE.OK and each.response.proposal.outcome == consensus_pb2.OUTCOME_ACCEPTED
    ]
    (decided,) = deciding
    assert decided.header.revision == decided.proposal.decided_revision == 20

    state, commits = await live
    check_story(proposal.key, state, commits)
    replayed = await until_decided(wire, watch_pb2.WatchRequest(board=BOARD, after_revision=0))
    check_story(proposal.key, *replayed)
    late = await told(wire, "Vote", ballot(proposal, REJECT), CREW[31])
    assert late.reason == "POLL_CLOSED"
    pull = watch_pb2.PullRequest(board=BOARD, initial_state=True)
    fresh = await wire.call("/lavagna.v1.Watch/Pull", pull, agent="root")
    states = [entry for response in fresh.response.responses for entry in response.state]
    assert {(each.kind, each.key) for each in states} == {
        (KIND.KIND_NOTE, "vote"),
        *((KIND.KIND_BALLOT, f"{proposal.key}/@{each.agent}") for each in decided.proposal.ballots),
    }


async def at_once(wire: Wire, proposal: consensus_pb2.Proposal) -> list[Outcome]:
    """All but the author vote, each through a connection of its own, none before all are connected."""
    async with AsyncExitStack() as stack:
        options = [("grpc.use_local_subchannel_pool", 1)]
        others: list[Wire] = []
        for _ in CREW[1:]:
            channel = await stack.enter_async_context(
                grpc.aio.insecure_channel(f"127.0.0.1:{wire.server.port}", options=options)
            )
            await channel.channel_ready()
            others.append(Wire(wire.engine, wire.server, channel, wire.registry))
        return await asyncio.gather(
            *(
                told(other, "Vote", ballot(proposal), voter)
                for other, voter in zip(others, CREW[1:], strict=True)
            )
        )


async def until_decided(
    wire: Wire, request: watch_pb2.WatchRequest
) -> tuple[list[entries_pb2.Entry], list[watch_pb2.Commit]]:
    """What one watch gives, up to the decision."""
    stream = wire.channel.unary_stream(
        WATCH,
        request_serializer=watch_pb2.WatchRequest.SerializeToString,
        response_deserializer=watch_pb2.WatchResponse.FromString,
    )
    state: list[entries_pb2.Entry] = []
    commits: list[watch_pb2.Commit] = []
    call = stream(request, metadata=(("lavagna-agent", "root"),), timeout=30)
    async for response in call:
        state += response.state
        commits += response.commits
        if any(
            entry.change_type == KIND.CHANGE_TYPE_DECIDED
            for commit in response.commits
            for entry in commit.entries
        ):
            break
    call.cancel()
    return state, commits


def check_story(
    key: str, state: Sequence[entries_pb2.Entry], commits: Sequence[watch_pb2.Commit]
) -> None:
    """The proposal, twenty ballots and one decision with its effect, each once and in order."""
    seen = [(entry.kind, entry.key, entry.version) for entry in state]
    for commit in commits:
        seen += [(entry.kind, entry.key, entry.version) for entry in commit.entries]
    assert len(seen) == len(set(seen))
    kinds = Counter(kind for kind, _, _ in seen)
    assert kinds == {KIND.KIND_PROPOSAL: 2, KIND.KIND_BALLOT: 20, KIND.KIND_NOTE: 1}
    last = commits[-1]
    assert (last.revision, len(last.entries)) == (20, 3)
    assert {(entry.kind, entry.key) for entry in last.entries} == {
        (KIND.KIND_BALLOT, f"{key}/@{last.author}"),
        (KIND.KIND_PROPOSAL, key),
        (KIND.KIND_NOTE, "vote"),
    }
    numbers = [commit.revision for commit in commits]
    assert numbers == list(range(numbers[0], 21))


@pytest.mark.guarantee("W5")
async def test_a_watch_resumes_between_any_two_steps_of_a_decision(wire: Wire) -> None:
    pull = watch_pb2.PullRequest(
        board=BOARD, after_revision=0, targets=[watch_pb2.WatchTarget(pattern="design/**")]
    )
    proposal = await proposed(wire, "design", "ada")
    told_of: list[int] = []
    for agent in ("", "bob", "cyd"):
        if agent:
            await told(wire, "Vote", ballot(proposal), agent)
        answer = await wire.call("/lavagna.v1.Watch/Pull", pull, agent="root")
        responses = answer.response.responses
        told_of += [commit.revision for each in responses for commit in each.commits]
        pull = watch_pb2.PullRequest(board=BOARD, token=responses[-1].token, targets=pull.targets)

    assert told_of == [1, 2, 3]


@pytest.mark.guarantee("W4")
async def test_a_watch_of_one_kind_of_change_tells_when_something_is_proposed_and_decided(
    wire: Wire,
) -> None:
    proposal = await proposed(wire, "design", "ada")
    for agent in ("bob", "cyd"):
        await told(wire, "Vote", ballot(proposal), agent)
    target = watch_pb2.WatchTarget(
        pattern="design/*",
        kinds=[KIND.KIND_PROPOSAL],
        change_types=[KIND.CHANGE_TYPE_PROPOSED, KIND.CHANGE_TYPE_DECIDED],
    )
    pull = watch_pb2.PullRequest(board=BOARD, after_revision=0, targets=[target])
    answer = await wire.call("/lavagna.v1.Watch/Pull", pull, agent="root")
    commits = [commit for response in answer.response.responses for commit in response.commits]

    assert [
        (commit.revision, entry.change_type) for commit in commits for entry in commit.entries
    ] == [(1, KIND.CHANGE_TYPE_PROPOSED), (3, KIND.CHANGE_TYPE_DECIDED)]


async def test_wait_answers_when_the_decision_comes_and_gives_it(wire: Wire) -> None:
    proposal = await proposed(wire, "design", "ada")
    request = consensus_pb2.WaitProposalRequest(board=BOARD, proposal_key=proposal.key)
    request.wait.FromSeconds(30)
    waiting = [asyncio.create_task(told(wire, "WaitProposal", request, name)) for name in CREW[:3]]
    await wire.inside(CONSENSUS + "WaitProposal", 3)
    for agent in ("bob", "cyd"):
        await told(wire, "Vote", ballot(proposal), agent)

    for each in await asyncio.gather(*waiting):
        assert each.response.proposal.outcome == consensus_pb2.OUTCOME_ACCEPTED
        assert each.response.header.revision == 3


@pytest.mark.guarantee("C1")
@pytest.mark.guarantee("S7")
@pytest.mark.parametrize("policy", [boards_pb2.POLICY_QUORUM, boards_pb2.POLICY_LATEST])
async def test_nothing_that_the_server_alone_makes_can_be_written_or_reverted(
    wire: Wire, policy: boards_pb2.Policy.ValueType
) -> None:
    proposal = await proposed(wire, "design", "ada")
    await told(wire, "Vote", ballot(proposal), "bob")
    await told(wire, "Vote", ballot(proposal, REJECT), "bob")
    claim = consensus_pb2.ClaimRequest(board=BOARD, change=change("effort"))
    await told(wire, "Claim", claim, "ada")
    if policy != boards_pb2.POLICY_QUORUM:
        for path in ("design", "effort"):
            await set_region(wire, boards_pb2.Region(path=path, policy=policy))
    made = [
        (KIND.KIND_PROPOSAL, proposal.key),
        (KIND.KIND_BALLOT, f"{proposal.key}/@bob"),
        (KIND.KIND_CLAIM, "effort/@ada"),
    ]
    for kind, key in made:
        revert = entries_pb2.RevertRequest(
            board=BOARD, kind=kind, key=key, version=1, overwrite=True
        )
        commit = entries_pb2.CommitRequest(
            board=BOARD, changes=[change(key, kind=kind, overwrite=True)]
        )
        reverted = await wire.call("/lavagna.v1.Entries/Revert", revert, agent="bob")
        written = await wire.call(COMMIT, commit, agent="bob")
        assert (reverted.code, reverted.fields) == (CODE.INVALID_ARGUMENT, ["kind"])
        assert (written.code, written.fields) == (CODE.INVALID_ARGUMENT, ["changes[0].kind"])
    after = await standing(wire, proposal.key)
    assert [(each.agent, each.choice) for each in after.ballots] == [
        ("ada", ACCEPT), ("bob", REJECT),
    ]  # fmt: skip
