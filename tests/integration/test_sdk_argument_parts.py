"""Arguments of several parts: each part is what it has to be, or is refused by its own name."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

import lavagna
from lavagna import Board, Invalid

sdk: Any = lavagna
"""The SDK as programs without types use it."""


@pytest.fixture
async def board() -> AsyncGenerator[Board]:
    """A board of no server, so that what is sent fails in another way."""
    async with lavagna.connect("localhost:1", agent="ada", retry=sdk.Retry(attempts_max=1)) as each:
        yield each


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (sdk.Put("k", 1, expected_version="x"), "expected_version"),
        (sdk.Put("k", 1, tags="abc"), "tags"),
        (sdk.Patch("k", {}, overwrite="yes"), "overwrite"),
        (sdk.Append(5, 1), "prefix"),
        (sdk.Append("log", 1, confidence="high"), "confidence"),
        (sdk.Delete(None), "key"),
    ],
)
async def test_a_part_of_a_change_is_refused_by_its_name(
    board: Board, change: Any, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await board.commit(sdk.Put("first", 1), change)
    assert refused.value.violations[0].field == f"changes[1].{field}"


@pytest.mark.parametrize(
    ("trigger", "field"),
    [
        (sdk.Trigger(5), "trigger.id"),
        (sdk.Trigger("t", on="plan/*"), "trigger.on"),
        (sdk.Trigger("t", on=[5]), "trigger.on"),
        (sdk.Trigger("t", on=[sdk.Source("a", changes=["made"])]), "trigger.on.changes"),
        (sdk.Trigger("t", when=True), "trigger.when"),
        (sdk.Trigger("t", mode="sometimes"), "trigger.mode"),
        (sdk.Trigger("t", schedule="0 9 * * *"), "schedule"),
        (sdk.Trigger("t", schedule=sdk.Schedule(at="9:00")), "schedule.at"),
        (sdk.Trigger("t", limits=sdk.Limits(attempts_max="5")), "limits.attempts_max"),
        (sdk.Trigger("t", limits=sdk.Limits(attempts_max=2**31)), "limits.attempts_max"),
        (sdk.Trigger("t", limits=sdk.Limits(lease_seconds="5")), "limits.lease_seconds"),
    ],
)
async def test_a_part_of_a_trigger_is_refused_by_its_name(
    board: Board, trigger: Any, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await board.triggers.set(trigger)
    assert refused.value.violations[0].field == field


@pytest.mark.parametrize(
    ("region", "field"),
    [
        (sdk.Region(5), "region.path"),
        (sdk.Region("a", readers="ada"), "region.readers"),
        (sdk.Region("a", policy="none"), "region.policy"),
        (sdk.Region("a", retention=5), "region.retention"),
        (
            sdk.Region("a", retention=sdk.Retention(versions_max=-1)),
            "region.retention.versions_max",
        ),
        (sdk.Region("a", schema={1: 2}), "region.schema"),
        (sdk.Region("a", electorate=["ada"]), "region.electorate"),
        (sdk.Region("a", electorate=sdk.Electorate("ada")), "region.electorate.voters"),
        (sdk.Region("a", electorate=sdk.Electorate(["ada", 5])), "region.electorate.voters[1]"),
        (
            sdk.Region("a", electorate=sdk.Electorate([sdk.Voters("ada", weight="1")])),
            "region.electorate.voters[0].weight",
        ),
        (
            sdk.Region("a", electorate=sdk.Electorate([sdk.Voters("ada", weight=0)])),
            "region.electorate.voters[0].weight",
        ),
        (
            sdk.Region("a", electorate=sdk.Electorate([sdk.Voters("ada", veto=1)])),
            "region.electorate.voters[0].veto",
        ),
        (
            sdk.Region("a", electorate=sdk.Electorate(approvals="2")),
            "region.electorate.approvals",
        ),
        (
            sdk.Region("a", electorate=sdk.Electorate(groups_min=-1)),
            "region.electorate.groups_min",
        ),
        (
            sdk.Region("a", electorate=sdk.Electorate(deadline_seconds=-1)),
            "region.electorate.deadline_seconds",
        ),
        (sdk.Region("a", merging="median"), "region.merging"),
        (sdk.Region("a", merging=sdk.Merging(number=5)), "region.merging.number"),
        (sdk.Region("a", merging=sdk.Merging(fields=["a"])), "region.merging.fields"),
        (sdk.Region("a", merging=sdk.Merging(fields={"a": 1})), "region.merging.fields[a]"),
        (sdk.Region("a", merging=sdk.Merging(threshold="half")), "region.merging.threshold"),
        (sdk.Region("a", merging=sdk.Merging(reconcilers="ada")), "region.merging.reconcilers"),
    ],
)
async def test_a_part_of_a_region_is_refused_by_its_name(
    board: Board, region: Any, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await board.regions.set(region)
    assert refused.value.violations[0].field == field


@pytest.mark.parametrize(
    ("standing", "field"),
    [
        (sdk.Standing(5), "standing.agent"),
        (sdk.Standing("ada", trust="full"), "standing.trust"),
        (sdk.Standing("ada", group=None), "standing.group"),
        (sdk.Standing("ada", version=-1), "standing.version"),
    ],
)
async def test_a_part_of_a_standing_is_refused_by_its_name(
    board: Board, standing: Any, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await board.agents.set_standing(standing)
    assert refused.value.violations[0].field == field
