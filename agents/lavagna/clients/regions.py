"""Regions: the client that keeps them."""

from __future__ import annotations

import json

from lavagna.calls import Caller
from lavagna.checks import (
    INT32_MAX,
    checked_choice,
    checked_count,
    checked_text,
    checked_texts,
    checked_type,
)
from lavagna.names import child_name
from lavagna.regions import Policy, Region, Retention
from lavagna.times import duration, seconds_of
from lavagna.v1 import boards_pb2 as wire
from lavagna.values import json_text

_POLICIES = {Policy.GUARDED: wire.POLICY_GUARDED, Policy.LATEST: wire.POLICY_LATEST}
_POLICY_OF = {
    wire.POLICY_UNSPECIFIED: Policy.GUARDED,
    wire.POLICY_GUARDED: Policy.GUARDED,
    wire.POLICY_LATEST: Policy.LATEST,
}


class Regions:
    """The regions of one board."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.stubs.boards

    async def set(self, region: Region) -> Region:
        """Creates or replaces the region at its path.

        Raises:
            Conflict: The region has a version, and it is not the current one.
            Invalid: The path or the schema is malformed.
        """
        request = wire.SetRegionRequest(
            board=self._caller.board_name, region=_region_message(region)
        )
        answer = await self._caller.mutate(self._stub.SetRegion, request)
        return region_of(answer.region)

    async def get(self, path: str) -> Region:
        """The region at this path."""
        request = wire.GetRegionRequest(name=self._name(path))
        answer = await self._caller.ask(self._stub.GetRegion, request)
        return region_of(answer.region)

    async def list(self) -> tuple[Region, ...]:
        """The regions that the caller may read, by path."""
        request = wire.ListRegionsRequest(board=self._caller.board_name)
        answer = await self._caller.ask(self._stub.ListRegions, request)
        return tuple(region_of(message) for message in answer.regions)

    async def delete(self, path: str) -> None:
        """Deletes the region; its entries stay, under the rules of the region around it."""
        request = wire.DeleteRegionRequest(name=self._name(path))
        await self._caller.mutate(self._stub.DeleteRegion, request)

    def _name(self, path: str) -> str:
        return child_name(self._caller.board, "regions", checked_text(path, field="path"))


def _region_message(region: Region) -> wire.Region:
    checked_type(region, Region, field="region")
    message = wire.Region(
        path=checked_text(region.path, field="region.path"),
        owner=checked_text(region.owner, field="region.owner"),
        readers=checked_texts(region.readers, field="region.readers"),
        writers=checked_texts(region.writers, field="region.writers"),
        policy=checked_choice(region.policy, _POLICIES, field="region.policy"),
        version=checked_count(region.version, field="region.version"),
    )
    if region.schema is not None:
        message.schema_json = json_text(region.schema, field="region.schema")
    if region.retention is not None:
        message.retention.CopyFrom(_retention_message(region.retention))
    return message


def _retention_message(retention: Retention) -> wire.Retention:
    checked_type(retention, Retention, field="region.retention")
    message = wire.Retention(
        versions_max=checked_count(
            retention.versions_max, field="region.retention.versions_max", most=INT32_MAX
        )
    )
    if retention.age_seconds is not None:
        age = duration(retention.age_seconds, field="region.retention.age_seconds")
        message.age.CopyFrom(age)
    return message


def region_of(message: wire.Region) -> Region:
    """The region that the wire holds."""
    kept = message.retention
    retention = Retention(
        age_seconds=seconds_of(kept.age) if kept.HasField("age") else None,
        versions_max=kept.versions_max,
    )
    return Region(
        path=message.path,
        owner=message.owner,
        readers=tuple(message.readers),
        writers=tuple(message.writers),
        policy=_POLICY_OF.get(message.policy, Policy.UNKNOWN),
        schema=json.loads(message.schema_json) if message.schema_json else None,
        retention=retention if message.HasField("retention") else None,
        version=message.version,
        oldest_revision=message.oldest_revision,
    )
