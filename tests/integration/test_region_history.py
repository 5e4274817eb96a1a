"""What a region's retention gave up stays given up, and takes nobody else's history with it."""

from __future__ import annotations

import pytest

from lavagna_server.clocks import ManualClock
from lavagna_server.domain.agents import Role
from lavagna_server.domain.entries import Occasion
from lavagna_server.domain.errors import Compacted, RoleRequired
from lavagna_server.domain.regions import Region, Retention
from lavagna_server.engine.engine import Engine
from tests.desks import Desk, json_value

pytestmark = [pytest.mark.guarantee("S3"), pytest.mark.guarantee("S4")]
NEWEST_ONLY = Retention(versions_max=1)


@pytest.fixture
async def admin(engine: Engine) -> Desk:
    """An administrator who writes what everyone reads, and gives mallory a region."""
    admin = Desk(engine, "ada", Role.ADMIN)
    await admin.region("m", owner="mallory")
    await admin.put("plan", "first")
    await admin.put("plan", "second")
    return admin


@pytest.fixture
def mallory(engine: Engine) -> Desk:
    """An agent who owns a region and nothing else."""
    return Desk(engine, "mallory", Role.AGENT)


async def forget(desk: Desk, clock: ManualClock, path: str) -> Region:
    """Gives up all history of a region but its newest versions."""
    await desk.region(path, owner="mallory", retention=NEWEST_ONLY)
    for number in range(3):
        await desk.put(f"{path}/note", number)
    await clock.advance(60)
    return await desk.engine.regions.get(desk.caller, path)


async def remove(desk: Desk, path: str) -> None:
    """Deletes a region."""
    await desk.engine.regions.delete(desk.call(), path)


async def test_the_owner_of_a_region_cannot_take_the_whole_boards_history_away(
    admin: Desk, mallory: Desk, clock: ManualClock
) -> None:
    region = await forget(mallory, clock, "m")
    before = await admin.commits()

    with pytest.raises(RoleRequired):
        await remove(mallory, "m")

    assert await admin.engine.regions.get(admin.caller, "m") == region
    assert await admin.commits() == before
    assert (await admin.get("plan", at=1)).value == json_value("first")


async def test_an_administrator_deletes_such_a_region_and_what_was_given_up_stays_so(
    admin: Desk, mallory: Desk, clock: ManualClock
) -> None:
    region = await forget(mallory, clock, "m")

    await remove(admin, "m")

    last = (await admin.commits())[-1]
    assert (last.occasion, last.compacted_to) == (Occasion.COMPACTION, region.oldest)
    with pytest.raises(Compacted):
        await admin.get("m/note", at=region.oldest - 1)


async def test_an_owner_deletes_a_region_that_gave_up_no_more_than_the_one_around_it(
    admin: Desk, mallory: Desk, clock: ManualClock
) -> None:
    await forget(mallory, clock, "m")
    inner = await mallory.region("m/inner", owner="mallory")
    before = await admin.commits()

    await remove(mallory, "m/inner")

    assert inner.oldest > 0
    assert await admin.commits() == before
    assert (await admin.get("plan", at=1)).value == json_value("first")


async def test_a_region_without_retention_goes_without_a_trace(admin: Desk, mallory: Desk) -> None:
    before = await admin.commits()

    await remove(mallory, "m")

    assert await admin.commits() == before
    assert await admin.engine.regions.list(admin.caller) == []


async def test_a_new_region_inside_a_retained_one_cannot_be_read_where_that_one_cannot(
    admin: Desk, mallory: Desk, clock: ManualClock
) -> None:
    outer = await forget(mallory, clock, "m")
    await admin.region("m", owner="mallory", readers=("mallory",), retention=NEWEST_ONLY)
    await admin.region("m/note", owner="bob", readers=("bob",))
    bob = Desk(admin.engine, "bob", Role.AGENT)

    with pytest.raises(Compacted) as refused:
        await bob.get("m/note", at=outer.oldest - 1)

    assert refused.value.oldest == outer.oldest
    assert (await bob.get("m/note", at=outer.oldest)).value == json_value(2)
