"""Regions: the client that keeps them."""

from __future__ import annotations

from lavagna.calls import Caller
from lavagna.checks import checked_text
from lavagna.clients.region_codec import region_message, region_of
from lavagna.names import child_name
from lavagna.regions import Region
from lavagna.v1 import boards_pb2 as wire


class Regions:
    """The regions of one board."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.stubs.boards

    async def set(self, region: Region) -> Region:
        """Creates or replaces the region at its path.

        Raises:
            Conflict: The region has a version, and it is not the current one.
            Invalid: The path or the schema is malformed, or the policy lacks what it needs.
        """
        request = wire.SetRegionRequest(
            board=self._caller.board_name, region=region_message(region)
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
