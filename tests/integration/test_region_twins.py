"""A region that may not be read shows in nothing but revisions: the same calls, on a server with secrets in it and on its twin without."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from lavagna.v1 import (
    activations_pb2,
    boards_pb2,
    consensus_pb2,
    entries_pb2,
    errors_pb2,
    triggers_pb2,
    watch_pb2,
)
from lavagna_server.clocks import ManualClock
from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.leases import LeaseToken
from tests.integration.requests import BOARD, REQUESTS
from tests.integration.twins import (
    ACQUIRE,
    CODE,
    COMMIT,
    COMPLETE,
    MARKER,
    SET_TRIGGER,
    Crew,
    Twins,
    twin_servers,
)
from tests.wire import METHODS, Outcome

SET_REGION = "/lavagna.v1.Boards/SetRegion"
FAIL = "/lavagna.v1.Activations/Fail"
CONSENSUS = "/lavagna.v1.Consensus/"

REVISIONS = frozenset(
    {
        "revision",
        "oldest_revision",
        "fired_revision",
        "completed_revision",
        "decided_revision",
        "covers",
    }
)
"""What counts everything in the space, and so tells that something happened."""
MADE_OF_THEM = frozenset({"epoch", "token", "next_page_token"})
NUMBERED = re.compile(r"((?:activations?[/ ]|revision |newest is |readable is |/(?=\d{12}-)))\d+")

TRIGGERS = {
    "on-task": triggers_pb2.Trigger(rating="1", own_writes=True),
    "hidden": triggers_pb2.Trigger(own_writes=True, rating="size(entry.key)"),
    "broken": triggers_pb2.Trigger(own_writes=True, when="entry.value.missing == 1"),
    "peeking": triggers_pb2.Trigger(own_writes=True, reads=["secret/**"], when="size(board) > 0"),
    "pooled": triggers_pb2.Trigger(own_writes=True),
}
PATTERNS = {
    "on-task": "tasks/{task}",
    "hidden": "secret/**",
    "broken": "secret/**",
    "peeking": "tasks/{task}",
    "pooled": "pool/{pool}/**",
}
KEYS = (
    "secret/a", "secret/none", f"secret/{MARKER}0", "inbox/a", "inbox/none", "pool/1/secret",
    "polls/a", "polls/none", "worth/a", "worth/none",
)  # fmt: skip
PROPOSALS = tuple(f"polls/{key}-000" for key in ("open/000000000018", "a/000000000019", "none"))
"""The hidden proposals, one of which waits for bob's vote, and one that there is not."""
BALLOTS = tuple(f"{proposal}/@alice" for proposal in PROPOSALS)
CLAIMS = ("worth/a/@alice", "worth/none/@alice")


async def done(crew: Crew, method: str, who: str, request: Message) -> Any:
    """The response of a call that succeeds."""
    outcome = await crew.call(method, who, request)
    assert outcome.code is CODE.OK, outcome.message
    return outcome.response


async def share(crew: Crew) -> None:
    """What both servers have: regions that alice alone may read, one of which bob may write to, and triggers that look into them."""
    hidden = {"secret": ["alice"], "inbox": ["alice", "bob"], "pool/1/secret": ["alice"]}
    hidden |= {"polls": ["alice", "bob"], "polls/open": ["alice"], "worth": ["alice", "bob"]}
    for path, writers in hidden.items():
        # An open poll needs a second voter, and only who may read is asked.
        readers = ["alice", "dora"] if path == "polls/open" else ["alice"]
        region = boards_pb2.Region(path=path, readers=readers, writers=writers)
        if path == "secret":
            region.retention.versions_max = 1
        await set_region(crew, region)
    await set_region(crew, boards_pb2.Region(path="design"))
    await set_region(crew, boards_pb2.Region(path="effort"))
    for name, draft in TRIGGERS.items():
        setting = triggers_pb2.SetTriggerRequest(board=BOARD, trigger_id=name, trigger=draft)
        setting.trigger.on.add(pattern=PATTERNS[name])
        await done(crew, SET_TRIGGER, "alice", setting)
    await crew.commit("alice", "plan", "one")
    await crew.commit("alice", "tasks/1", "ready")
    await crew.commit("alice", "design", "a log")
    await crew.commit("alice", "effort", "a week")


async def set_region(crew: Crew, region: boards_pb2.Region) -> None:
    """Sets a region; what is voted on and what is merged goes by its name."""
    if region.path.startswith(("polls", "design")):
        region.policy = boards_pb2.POLICY_QUORUM
        voters = [boards_pb2.Voters(name=name) for name in ("alice", "bob", "dora")]
        approvals = 1 if region.path == "polls" else 2
        region.electorate.CopyFrom(boards_pb2.Electorate(voters=voters, approvals=approvals))
    elif region.path in {"worth", "effort"}:
        region.policy = boards_pb2.POLICY_WEIGHTED
    request = boards_pb2.SetRegionRequest(board=BOARD, region=region)
    await done(crew, SET_REGION, "alice", request)


async def hide(crew: Crew) -> None:
    """What only one server has: entries, ends, work and its failures where nobody but alice may read."""
    for key in ("secret/a", "secret/b", "inbox/a", "pool/1/secret"):
        for number in range(3):
            await crew.commit("alice", key, f"{MARKER}{number}")
    await crew.commit("alice", f"secret/{MARKER}0", MARKER)
    for key in ("polls/open", "polls/a", "worth/a"):
        await crew.commit("alice", key, MARKER)
    delete = entries_pb2.Change(key="secret/b", delete=entries_pb2.Delete(), overwrite=True)
    await done(crew, COMMIT, "alice", entries_pb2.CommitRequest(board=BOARD, changes=[delete]))
    acquire = activations_pb2.AcquireRequest(board=BOARD, count_max=100, trigger_ids=["hidden"])
    leases = (await done(crew, ACQUIRE, "alice", acquire)).leases
    assert len(leases) == 2
    await done(
        crew,
        COMPLETE,
        "alice",
        activations_pb2.CompleteRequest(board=BOARD, activation_token=leases[0].token),
    )
    failing = activations_pb2.FailRequest(
        board=BOARD, activation_token=leases[1].token, reason=MARKER, retry_after=Duration()
    )
    await done(crew, FAIL, "alice", failing)


async def go_on(crew: Crew) -> None:
    """What happens on both servers afterwards."""
    assert isinstance(crew.wire.engine.clock, ManualClock)
    await crew.wire.engine.clock.advance(60)
    await crew.commit("alice", "pool/1/open", "ready")


@pytest.fixture
async def twins() -> AsyncIterator[Twins]:
    """Two servers on which the same happened, but for what alice does where she alone may read on the first."""
    async with twin_servers(share, hide, go_on) as servers:
        yield servers


def changes(key: str) -> Iterator[entries_pb2.Change]:
    """All that can be tried on a key."""
    put = entries_pb2.Put(value=entries_pb2.Value(text="x"))
    yield entries_pb2.Change(key=key, put=put)
    yield entries_pb2.Change(key=key, put=put, overwrite=True)
    for version in (0, 1, 3):
        yield entries_pb2.Change(key=key, put=put, expected_version=version)
    yield entries_pb2.Change(key=key, patch=entries_pb2.Patch(merge_json="{}"), overwrite=True)
    yield entries_pb2.Change(key=key, delete=entries_pb2.Delete(), overwrite=True)
    yield entries_pb2.Change(key=key, append=entries_pb2.Append(value=put.value))


def commits(key: str) -> Iterator[Message]:
    """Changes and conditions on a key, alone and with something else to do."""
    fallback = entries_pb2.Change(key="open", put=entries_pb2.Put(), overwrite=True)
    fallback.put.value.text = "else"
    for change in changes(key):
        yield entries_pb2.CommitRequest(board=BOARD, changes=[change])
    for condition in (
        entries_pb2.Condition(key=key, exists=True),
        entries_pb2.Condition(key=key, exists=False),
        entries_pb2.Condition(key=key, version=3),
        entries_pb2.Condition(key=key, unchanged_since=4),
    ):
        for otherwise in ([], [fallback]):
            yield entries_pb2.CommitRequest(
                board=BOARD, conditions=[condition], changes=[fallback], else_changes=otherwise
            )


def attempts(method: str) -> Iterator[Message]:
    """Ways to call a method that a curious agent would try."""
    given: Any = REQUESTS[method]
    yield given
    if method == COMMIT:
        for key in KEYS:
            yield from commits(key)
    if method == SET_TRIGGER or method.endswith("/TryTrigger"):
        for source, reads in (("**", ""), ("secret/**", ""), ("tasks/{task}", "secret/**")):
            request = type(given)(board=BOARD, trigger_id="another")
            request.trigger.on.add(pattern=source)
            request.trigger.reads.extend([reads] if reads else [])
            request.trigger.when = "size(board) == 0"
            yield request
    if method in {CONSENSUS + "Propose", CONSENSUS + "Claim"}:
        for key in KEYS:
            for change in changes(key):
                yield type(given)(board=BOARD, change=change)
    yield from varied(given)


def varied(given: Any) -> Iterator[Message]:
    """A request with one field aimed at what is hidden."""
    fields = given.DESCRIPTOR.fields_by_name
    names = [f"activations/{number}" for number in range(1, 9)]
    names += [f"triggers/{name}" for name in TRIGGERS] + ["regions/secret", "regions/inbox"]
    lease = str(LeaseToken(SpaceName("main"), 4, 1, "n"))
    variants: dict[str, tuple[Any, ...]] = {
        "name": tuple(f"boards/main/{rest}" for rest in names),
        "key": (*KEYS, *PROPOSALS),
        "proposal_key": PROPOSALS,
        "claimed_key": KEYS,
        "awaiting_me": (True,),
        "pattern": ("secret/**", "**", "inbox/*", "pool/{pool}/*", "polls/**", "worth/a/*"),
        "trigger_id": tuple(TRIGGERS),
        "at_revision": (1,),
        "page_size": (1, 2),
        "activation_token": (lease,),
    }
    for name, values in variants.items():
        for value in values if name in fields else ():
            request: Any = type(given)()
            request.CopyFrom(given)
            setattr(request, name, value)
            yield request
    yield from of_other_kinds(given)
    repeated: dict[str, list[Any]] = {
        "keys": list(KEYS),
        "tokens": [lease],
        "targets": [watch_pb2.WatchTarget(pattern="secret/**")],
    }
    for name in repeated.keys() & fields.keys():
        yield type(given)(board=BOARD, **{name: repeated[name]})
    if "region" in fields:
        for path in ("secret", "secret/a", "inbox/x"):
            yield type(given)(board=BOARD, region=boards_pb2.Region(path=path, readers=["bob"]))


def of_other_kinds(given: Any) -> Iterator[Message]:
    """A request aimed at what the server alone makes."""
    fields = given.DESCRIPTOR.fields_by_name
    if "kind" in fields and "key" in fields:
        for kind, keys in (
            (entries_pb2.KIND_PROPOSAL, PROPOSALS),
            (entries_pb2.KIND_BALLOT, BALLOTS),
            (entries_pb2.KIND_CLAIM, CLAIMS),
        ):
            for key in keys:
                request = type(given)()
                request.CopyFrom(given)
                request.kind, request.key = kind, key
                yield request
    if "kind" in fields and "pattern" in fields:
        for kind in (entries_pb2.KIND_PROPOSAL, entries_pb2.KIND_BALLOT, entries_pb2.KIND_CLAIM):
            request = type(given)()
            request.CopyFrom(given)
            request.kind = kind
            yield request


def blurred(message: Any) -> Any:
    """A message without what counts everything in the space, and without the moments at which all work had ended."""
    for field, value in message.ListFields():
        if field.name in REVISIONS | MADE_OF_THEM:
            message.ClearField(field.name)
        elif field.name == "commits":
            told = [
                each for each in value if each.entries or each.occasion == watch_pb2.OCCASION_WRITE
            ]
            message.ClearField("commits")
            message.commits.extend(blurred(each) for each in told)
        elif isinstance(value, str):
            setattr(message, field.name, NUMBERED.sub(r"\1#", value))
        elif isinstance(value, Message):
            blurred(value)
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for each in value:
                blurred(each)
    return message


def seen(outcome: Outcome) -> tuple[Any, ...]:
    """All that a caller can see of a call, but for what `blurred` leaves out."""
    numbers = {
        name: NUMBERED.sub(r"\1#", text)
        for name, text in outcome.info.metadata.items()
        if name not in {"revision", "newest", "oldest", "activation"}
    }
    conflict = outcome.detail(errors_pb2.ConflictDetail)
    told = [str(blurred(response)) for response in outcome.responses]
    message = NUMBERED.sub(r"\1#", outcome.message)
    return outcome.code, message, outcome.reason, numbers, conflict and str(blurred(conflict)), told


@pytest.mark.guarantee("S8")
@pytest.mark.field_report("F16")
@pytest.mark.parametrize("method", METHODS)
async def test_no_call_tells_of_a_region_that_may_not_be_read(twins: Twins, method: str) -> None:
    for who in ("bob", "olga", "ada", "otto"):
        for request in attempts(method):
            outcomes = await asyncio.gather(
                *(attempt(crew, method, who, request) for crew in twins)
            )
            with_secret, without = (seen(outcome) for outcome in outcomes)

            assert with_secret == without, (who, request)
            if MARKER not in str(request):
                assert MARKER not in repr(with_secret)


async def attempt(crew: Crew, method: str, who: str, request: Message) -> Outcome:
    """What becomes of a call; of a stream its first message is looked at."""
    return await crew.wire.call(method, request, token=crew.tokens[who])


@pytest.mark.guarantee("S8")
async def test_the_one_who_may_read_the_region_sees_all_of_it(twins: Twins) -> None:
    for method, field in (
        ("/lavagna.v1.Entries/List", "entries"),
        ("/lavagna.v1.Activations/ListActivations", "activations"),
    ):
        counts = [
            [len(getattr((await attempt(crew, method, who, REQUESTS[method])).response, field))
             for who in ("alice", "ada")]
            for crew in twins
        ]  # fmt: skip
        assert counts[0][0] > counts[1][0]
        assert counts[0][1] == counts[1][1]
    listing = consensus_pb2.ListProposalsRequest(board=BOARD, pattern="polls/**")
    told = await done(twins[0], CONSENSUS + "ListProposals", "alice", listing)
    assert [each.key for each in told.proposals] == sorted(PROPOSALS[:2])
