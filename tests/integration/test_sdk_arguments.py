"""Arguments: every method of the SDK refuses what an argument cannot be, by the argument's name and before anything is sent."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from typing import Any, cast

import pytest

import lavagna
from lavagna import (
    Board,
    Invalid,
    Outcome,
    Proposal,
    Put,
    Region,
    Standing,
    Tls,
    Trigger,
    Work,
    blocking,
)
from lavagna.clients import (
    Activations,
    Boards,
    Claims,
    Members,
    Proposals,
    Regions,
    Triggers,
)

sdk: Any = lavagna
"""The SDK as programs without types use it."""

PROPOSAL = Proposal(
    key="plan/000000000001-000",
    target="plan",
    base_version=0,
    deletes=False,
    value=1,
    content_hash="0" * 64,
    author="bob",
    proposed_at=datetime(2026, 1, 1, tzinfo=UTC),
    deadline_at=None,
    electors=(),
    threshold=1.0,
    strict=False,
    groups_min=0,
    outcome=Outcome.OPEN,
    reason="",
    ballots=(),
    decided_by="",
    decided_revision=0,
)

GOOD: dict[str, Any] = {
    "activation_id": "1",
    "agent_id": "ada",
    "board_id": "main",
    "change": str,
    "choice": "accept",
    "changes": [Put("k", 1)],
    "from_revision": 1,
    "key": "k",
    "keys": ["k"],
    "merge": {},
    "name": "ada",
    "path": "plan",
    "pattern": "plan/**",
    "prefix": "log",
    "proposal": PROPOSAL,
    "reason": "why",
    "region": Region("plan"),
    "standing": Standing("ada"),
    "subject": PROPOSAL,
    "token": "t",
    "tokens": ["t"],
    "trigger": Trigger("t", on=["k"]),
    "trigger_id": "t",
    "value": 1,
    "version": 1,
    "when": "true",
}
"""What is given for the other arguments that a method needs."""

TEXT = (5, b"x", object(), ["x"], "\ud800")
COUNT = ("x", 1.5, True, -1, 2**80, b"1", [1])
LENGTH = ("x", True, -1, float("nan"), b"1", [1])
TEXTS = ("abc", 5, [5], b"abc")

WRONG: dict[str, tuple[Any, ...]] = {
    "str": TEXT,
    "str | None": TEXT,
    "int": COUNT,
    "int | None": COUNT,
    "bool": ("x", 1, [True]),
    "float": ("x", True, float("nan"), b"1", None),
    "float | None": ("x", True, float("nan"), b"1"),
    "Seconds": LENGTH,
    "Seconds | None": LENGTH,
    "Sequence[str]": TEXTS,
    "datetime | None": ("tomorrow", 5),
    "Value": (object(), float("nan"), {1: "a"}, {"a": [{None: 1}]}, {"a": b"x"}, {"a": {1, 2}}),
    "Callable[[Value], Value]": (5, "x"),
    "Change": ("x", [Put("k", 1)], None),
    "Sequence[Change]": (5, ["x"], "x"),
    "Sequence[Condition]": (5, ["x"], [Put("k", 1)]),
    "Sequence[ActivationState]": (5, ["bogus"], [5]),
    "Sequence[Outcome]": (5, ["bogus"], ["unknown"], [5]),
    "Choice": ("bogus", "unknown", 5, True),
    "Kind": ("bogus", "unknown", 5),
    "Proposal": ("plan/000000000001-000", None),
    "Proposal | str": (5, None, "\ud800"),
    "Role": ("bogus", 5),
    "Space": ("bogus", 5),
    "Region": ("x", None),
    "Standing": ("x", None),
    "Trigger": ("x", None),
    "str | Trigger": (5, None),
    "str | Target": (5, None),
}
"""What an argument of a type is not, by the annotation; an annotation that is not here fails."""

WHOLE = frozenset({"rating_min"})
"""Numbers that may be negative."""

CLIENTS: dict[type, Callable[[Board], Any]] = {
    Board: lambda board: board,
    Triggers: lambda board: board.triggers,
    Activations: lambda board: board.activations,
    Members: lambda board: board.agents,
    Regions: lambda board: board.regions,
    Proposals: lambda board: board.proposals,
    Claims: lambda board: board.claims,
    Boards: lambda board: board.boards,
}


def methods() -> Iterator[tuple[type, str, inspect.Parameter]]:
    for owner in CLIENTS:
        for name, function in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_"):
                for parameter in list(inspect.signature(function).parameters.values())[1:]:
                    yield owner, name, parameter


CASES = [
    pytest.param(owner, name, parameter, id=f"{owner.__name__}.{name}({parameter.name})")
    for owner, name, parameter in methods()
]


@pytest.fixture
async def board() -> AsyncGenerator[Board]:
    """A board of no server, so that what is sent fails in another way."""
    async with lavagna.connect("localhost:1", agent="ada", retry=sdk.Retry(attempts_max=1)) as each:
        yield each


async def called(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Calls a method with these arguments and waits for what it comes to."""
    positional = [
        given.pop(parameter.name)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.VAR_POSITIONAL and parameter.name in given
    ]
    outcome = function(*positional, **given)
    if isinstance(outcome, AsyncIterator):
        await anext(cast("AsyncIterator[object]", outcome))
    elif inspect.isawaitable(outcome):
        await outcome


@pytest.mark.parametrize(("owner", "name", "parameter"), CASES)
async def test_what_an_argument_cannot_be_is_refused_by_its_name(
    board: Board, owner: type, name: str, parameter: inspect.Parameter
) -> None:
    method = getattr(CLIENTS[owner](board), name)
    needed = {
        each.name: GOOD[each.name]
        for each in inspect.signature(method).parameters.values()
        if each.default is each.empty and each.kind is not each.VAR_POSITIONAL
    }
    for wrong in WRONG[str(parameter.annotation)]:
        if parameter.name in WHOLE and wrong == -1:
            continue
        with pytest.raises(Invalid) as refused:
            await called(method, {**needed, parameter.name: wrong})
        assert parameter.name in refused.value.violations[0].field, wrong
        assert parameter.name in str(refused.value)


async def test_a_claim_is_withdrawn_without_a_reason(board: Board) -> None:
    with pytest.raises(Invalid, match="reason: a claim is withdrawn without one"):
        await board.withdraw("effort", reason="I changed my mind")


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: sdk.Agent(5), "name"),
        (lambda: sdk.Agent("a", teams="dev"), "teams"),
        (lambda: sdk.Agent("a", token=b"t"), "token"),
        (lambda: sdk.Agent("a", concurrency=0), "concurrency"),
        (lambda: sdk.Agent("a", grace_seconds="10"), "grace_seconds"),
        (lambda: sdk.Agent("a").on(5), "trigger.on"),
        (lambda: sdk.Agent("a").on("k", when=5), "trigger.when"),
        (lambda: sdk.Agent("a").on("k", rating=1.5), "rating"),
        (lambda: sdk.Agent("a").on("k", reads="plan/*"), "trigger.reads"),
        (lambda: sdk.Agent("a").on("k", mode="due"), "mode"),
        (lambda: sdk.Agent("a").on("k", space="mine"), "space"),
        (lambda: sdk.Agent("a").on("k", limits=5), "limits"),
        (lambda: sdk.Agent("a").on("k", changes="created"), "changes"),
        (lambda: sdk.Agent("a").votes_on(5), "patterns"),
        (lambda: sdk.Agent("a").votes_on("k", when=5), "trigger.when"),
        (lambda: sdk.Agent("a").due(), "cron"),
        (lambda: sdk.Agent("a").due(cron=5), "schedule.cron"),
        (lambda: sdk.Agent("a").due(at="9:00"), "schedule.at"),
        (lambda: sdk.Retry(attempts_max=0), "attempts_max"),
        (lambda: sdk.Retry(first_seconds=-1), "first_seconds"),
        (lambda: sdk.Tls(roots="ca.pem"), "roots"),
        (lambda: sdk.Tls(roots=b"ca.pem"), "roots"),
        (lambda: sdk.Tls(certificate=b"-----BEGIN CERTIFICATE-----"), "key"),
        (lambda: Tls.from_files(roots="/no/ca.pem"), "roots"),
    ],
)
def test_what_an_object_cannot_be_made_of_is_refused_by_its_name(
    make: Callable[[], object], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        make()
    assert refused.value.violations[0].field == field


@pytest.mark.parametrize("name", ["target", "agent", "board", "token", "tls", "session", "retry"])
async def test_what_a_connection_cannot_be_made_of_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        async with sdk.connect(**{name: 5}):
            raise AssertionError("it connected")
    assert refused.value.violations[0].field == name


async def test_a_target_and_a_condition_that_are_none_are_refused(board: Board) -> None:
    with pytest.raises(
        Invalid, match=r"targets\.kinds: expected one of note, proposal, ballot, claim, not 'story'"
    ):
        board.watch(sdk.Target("k", kinds=["story"]))
    with pytest.raises(Invalid, match=r"conditions\[0\]\.version: expected a whole number"):
        await board.commit(sdk.Put("k", 1), conditions=[sdk.VersionIs("k", "1")])


def test_a_secret_in_the_wrong_place_is_not_shown() -> None:
    with pytest.raises(Invalid, match=r"token: expected text, not bytes$"):
        sdk.Agent("ada", token=b"s3cret")


def plain(work: Work) -> None:
    """A function that nothing can await."""


class Worker:
    """A callable that can be awaited."""

    __name__ = "worker"

    async def __call__(self, work: Work) -> None:
        """Does nothing."""


@pytest.mark.parametrize("waking", [sdk.Agent("a").on("k"), sdk.Agent("a").due(cron="* * * * *")])
def test_a_function_that_cannot_be_awaited_is_refused_where_it_is_decorated(waking: Any) -> None:
    with pytest.raises(TypeError, match="plain is not a coroutine function; write `async def"):
        waking(plain)
    with pytest.raises(TypeError, match="is not a coroutine function"):
        waking(5)
    worker = Worker()
    assert waking(worker) is worker


def test_a_decorator_without_its_patterns_is_refused() -> None:
    with pytest.raises(Invalid, match=r"trigger\.on: expected a str or a Source, not function"):
        sdk.Agent("a").on(plain)


def test_the_blocking_update_wants_a_plain_function() -> None:
    async def change(value: Any) -> Any:
        return value

    with (
        blocking.connect("localhost:1", agent="ada") as board,
        pytest.raises(Invalid, match="change: expected a plain function"),
    ):
        board.update("k", change)
