"""Triggers, activations, agents, regions and boards: kept through the SDK on a real server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest

import lavagna
from lavagna import (
    ActivationState,
    Board,
    ChangeType,
    Kind,
    Limits,
    Mode,
    Policy,
    Put,
    Region,
    Retention,
    Role,
    Schedule,
    Source,
    Space,
    Trigger,
    Verdict,
    testing,
)
from lavagna.testing import LocalServer


@pytest.fixture
async def server() -> AsyncGenerator[LocalServer]:
    async with testing.start() as each:
        yield each


@pytest.fixture
async def board(server: LocalServer) -> AsyncGenerator[Board]:
    async with server.connect("ada") as each:
        yield each


async def test_a_trigger_comes_back_as_it_was_set(board: Board) -> None:
    trigger = Trigger(
        id="ada.build",
        on=(Source("tasks/{task}", (Kind.NOTE,), (ChangeType.CREATED,)),),
        reads=("plan/{task}", "design"),
        when="entry.value.status == 'ready'",
        rating="entry.value.priority",
        mode=Mode.EVERY,
        limits=Limits(
            lease_seconds=90,
            attempts_max=3,
            backoff_seconds=0.5,
            concurrency_max=7,
            binding_concurrency_max=2,
            cooldown_seconds=1.5,
            start_deadline_seconds=600,
            run_deadline_seconds=3600,
            causal_depth_max=5,
            firings_per_minute_max=60,
        ),
        own_writes=True,
    )
    stored = await board.triggers.set(trigger)
    got = await board.triggers.get("ada.build")
    for field in ("id", "on", "reads", "when", "rating", "mode", "limits", "own_writes", "space"):
        assert getattr(got, field) == getattr(trigger, field), field
    assert (stored.version, got.version, got.agent, got.team) == (1, 1, "ada", "")
    assert (await board.triggers.set(trigger)).version == 1


async def test_a_schedule_says_when_it_is_next_due(server: LocalServer, board: Board) -> None:
    at = server.clock.now() + timedelta(hours=30)
    once = await board.triggers.set(Trigger("once", mode=Mode.DUE, schedule=Schedule(at=at)))
    assert (once.schedule, once.next_due_at) == (Schedule(at=at), at)
    rule = Schedule(cron="30 9 * * *", time_zone="Europe/Rome")
    daily = await board.triggers.set(Trigger("daily", mode=Mode.DUE, schedule=rule))
    assert daily.schedule == rule
    assert daily.next_due_at == datetime(2026, 1, 1, 8, 30, tzinfo=UTC)


async def test_triggers_are_listed_suspended_resumed_and_deleted(board: Board) -> None:
    for name in ("b", "a"):
        await board.triggers.set(Trigger(name, on=["tasks/*"], own_writes=True))
    assert [trigger.id async for trigger in board.triggers.list()] == ["a", "b"]
    assert (await board.triggers.suspend("a")).suspended
    await board.put("tasks/1", "go")
    assert [each.trigger_id async for each in board.activations.list()] == ["b"]
    assert not (await board.triggers.resume("a")).suspended
    assert {each.trigger_id async for each in board.activations.list()} == {"a", "b"}
    await board.triggers.delete("a")
    with pytest.raises(lavagna.NotFound):
        await board.triggers.get("a")
    states = {each.trigger_id: each.state async for each in board.activations.list()}
    assert states == {"a": ActivationState.CANCELLED, "b": ActivationState.WAITING}


async def test_a_malformed_condition_is_refused_when_it_is_set(board: Board) -> None:
    with pytest.raises(lavagna.Invalid) as refused:
        await board.triggers.set(Trigger("t", on=["tasks/*"], when="entry.value ==="))
    assert [violation.field for violation in refused.value.violations] == ["trigger.when"]


async def test_a_trigger_can_be_tried_at_any_revision(board: Board) -> None:
    await board.put("tasks/1", {"status": "new"})
    await board.put("tasks/1", {"status": "ready"}, expected_version=1)
    tried = Trigger("", on=["tasks/{task}"], when="entry.value.status == 'ready'", rating="7")
    now, before = await board.triggers.try_(tried), await board.triggers.try_(tried, at=1)
    assert (now.would_fire, now.revision, before.would_fire, before.revision) == (True, 2, False, 1)
    (evaluation,) = now.evaluations
    assert (evaluation.key, evaluation.bind) == ("tasks/1", {"task": "1"})
    assert (evaluation.verdict, evaluation.rating, evaluation.reason) == (Verdict.TRUE, 7, "")
    assert before.evaluations[0].verdict is Verdict.FALSE
    assert [trigger async for trigger in board.triggers.list()] == []


async def test_work_is_acquired_kept_and_completed_by_hand(
    server: LocalServer, board: Board
) -> None:
    limits = Limits(lease_seconds=60)
    await board.triggers.set(Trigger("t", on=["tasks/{task}"], limits=limits, own_writes=True))
    assert await board.activations.acquire() == ()
    await board.put("tasks/1", "go")
    (lease,) = await board.activations.acquire(count=3, trigger_ids=["t"])
    assert lease.entry == await board.get("tasks/1")
    assert (lease.lease_seconds, lease.activation.bind) == (60, {"task": "1"})
    await server.clock.advance(30)
    (beat,) = await board.activations.heartbeat([lease.token])
    assert beat.expires_at == server.clock.now() + timedelta(seconds=60)
    committed = await board.activations.complete(lease.token, [Put("done", 1)])
    assert (committed.succeeded, committed.results[0].key) == (True, "done")
    (late,) = await board.activations.heartbeat([lease.token])
    assert late.expires_at is None
    assert late.lost_reason
    with pytest.raises(lavagna.LeaseLost):
        await board.activations.complete(lease.token, [Put("again", 1)])
    done = await board.activations.get(lease.activation.id)
    assert (done.state, done.completed_revision) == (ActivationState.COMPLETED, committed.revision)


async def test_work_is_held_released_cancelled_and_replayed(
    server: LocalServer, board: Board
) -> None:
    await board.triggers.set(Trigger("t", on=["tasks/*"], own_writes=True))
    await board.put("tasks/1", "go")
    (waiting,) = [each async for each in board.activations.list(trigger_id="t")]
    until = server.clock.now() + timedelta(hours=1)
    held = await board.activations.hold(waiting.id, until=until)
    assert (held.state, held.not_before) == (ActivationState.HELD, until)
    assert await board.activations.acquire() == ()
    released = await board.activations.release(activation_id=waiting.id)
    assert released.state is ActivationState.WAITING
    cancelled = await board.activations.cancel(waiting.id, "not needed")
    assert (cancelled.state, cancelled.reason) == (ActivationState.CANCELLED, "not needed")
    assert (await board.activations.replay(waiting.id)).state is ActivationState.WAITING


async def test_private_work_is_listed_in_its_space(board: Board) -> None:
    await board.triggers.set(Trigger("t", on=["thought"], space=Space.PRIVATE, own_writes=True))
    await board.private.put("thought", 1)
    assert [each async for each in board.activations.list()] == []
    private = [each async for each in board.activations.list(space=Space.PRIVATE)]
    assert [(each.key, each.space) for each in private] == [("thought", Space.PRIVATE)]


async def test_a_region_comes_back_as_it_was_set_and_rules_its_keys(board: Board) -> None:
    region = Region(
        path="plan",
        owner="ada",
        readers=("ada", "bob"),
        writers=("ada",),
        policy=Policy.LATEST,
        schema={"type": "integer"},
        retention=Retention(age_seconds=3600, versions_max=2),
    )
    await board.regions.set(region)
    got = await board.regions.get("plan")
    for field in ("path", "owner", "readers", "writers", "policy", "schema", "retention"):
        assert getattr(got, field) == getattr(region, field), field
    await board.put("plan/1", 1)
    assert (await board.put("plan/1", 2)).version == 2
    with pytest.raises(lavagna.Invalid):
        await board.put("plan/1", 1.5)
    with pytest.raises(lavagna.PermissionDenied):
        await board.as_agent("bob").put("plan/2", 1)
    assert await board.as_agent("eve").find("plan/1") is None
    assert [each.path for each in await board.regions.list()] == ["plan"]
    await board.regions.delete("plan")
    assert await board.regions.list() == ()


async def test_a_region_changed_meanwhile_is_a_conflict(board: Board) -> None:
    first = await board.regions.set(Region("plan"))
    await board.regions.set(Region("plan", owner="ada", version=first.version))
    with pytest.raises(lavagna.Conflict):
        await board.regions.set(Region("plan", owner="bob", version=first.version))


async def test_boards_are_made_changed_and_deleted(server: LocalServer, board: Board) -> None:
    made = await board.boards.create("second", display_name="Second", rating_min=3)
    assert (made.id, made.display_name, made.rating_min) == ("second", "Second", 3)
    with pytest.raises(lavagna.AlreadyExists):
        await board.boards.create("second")
    async with server.connect("ada", board="second") as second:
        assert (await second.put("k", 1)).revision == 1
        assert await board.find("k") is None
    changed = await board.boards.update("second", rating_min=0, version=made.version)
    assert (changed.rating_min, changed.display_name) == (0, "Second")
    with pytest.raises(lavagna.Conflict):
        await board.boards.update("second", display_name="x", version=made.version)
    assert [each.id async for each in board.boards.list()] == ["main", "second"]
    await board.boards.delete("second")
    with pytest.raises(lavagna.NotFound):
        await board.boards.get("second")


async def test_agents_are_known_by_what_they_said(board: Board) -> None:
    welcome = await board.agents.hello(session="laptop", teams=["builders"])
    assert (welcome.member.id, welcome.trusted, welcome.revision) == ("ada", True, 0)
    assert "/lavagna.v1.Entries/Commit" in welcome.methods
    assert welcome.member.role is Role.ADMIN  # trusted, as everyone is here
    member = await board.agents.get("ada")
    assert (member.session, member.teams, member.role) == ("laptop", ("builders",), Role.ADMIN)


async def test_a_registered_agent_comes_in_with_its_token_alone() -> None:
    async with testing.start() as server, server.connect("root") as board:
        registered = await board.agents.register("ada", role=Role.OBSERVER, teams=["t"])
        ada = board.as_agent("", token=registered.token)
        welcome = await ada.agents.hello()
        assert (welcome.member.id, welcome.member.role) == ("ada", Role.OBSERVER)
        with pytest.raises(lavagna.PermissionDenied):
            await ada.put("k", 1)
        rotated = await board.agents.rotate("ada")
        with pytest.raises(lavagna.Unauthenticated):
            await ada.find("k")
        ada = board.as_agent("", token=rotated)
        assert await ada.find("k") is None
        assert (await board.agents.revoke("ada")).revoked
        with pytest.raises(lavagna.Unauthenticated):
            await ada.find("k")


async def test_an_agent_of_the_whole_server_is_kept_apart_from_those_of_a_board(
    board: Board,
) -> None:
    registered = await board.agents.register("ops", role=Role.ADMIN, whole_server=True)
    assert registered.member.id == "ops"
    assert "ops" in [each.id async for each in board.agents.list(whole_server=True)]
    assert "ops" not in [each.id async for each in board.agents.list()]
    ops = board.as_agent("", token=registered.token)
    assert (await ops.boards.create("third")).id == "third"
