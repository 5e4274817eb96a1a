"""Boards: the client that keeps the boards of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator

from lavagna.boards import BoardSettings
from lavagna.calls import Caller
from lavagna.checks import INT32_MAX, INT64_MAX, checked_count, checked_text, checked_whole
from lavagna.names import board_name, last_part
from lavagna.paging import pages
from lavagna.times import time_of
from lavagna.v1 import boards_pb2 as wire


class Boards:
    """The boards of one server."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.stubs.boards

    async def create(
        self,
        board_id: str,
        *,
        display_name: str = "",
        cascade_max: int = 0,
        rating_min: int | None = None,
    ) -> BoardSettings:
        """Creates a board; server administrators only.

        Raises:
            AlreadyExists: There is a board of that name.
        """
        board = wire.Board(
            display_name=checked_text(display_name, field="display_name"),
            cascade_max=_cascade_max(cascade_max),
            rating_min=None if rating_min is None else _rating_min(rating_min),
        )
        request = wire.CreateBoardRequest(
            board_id=checked_text(board_id, field="board_id"), board=board
        )
        answer = await self._caller.mutate(self._stub.CreateBoard, request)
        return settings_of(answer.board)

    async def get(self, board_id: str) -> BoardSettings:
        """The board."""
        request = wire.GetBoardRequest(name=_name(board_id))
        answer = await self._caller.ask(self._stub.GetBoard, request)
        return settings_of(answer.board)

    async def list(self) -> AsyncIterator[BoardSettings]:
        """The boards that the caller belongs to, by name."""

        async def fetch(request: wire.ListBoardsRequest) -> wire.ListBoardsResponse:
            return await self._caller.ask(self._stub.ListBoards, request)

        async for page in pages(fetch, wire.ListBoardsRequest()):
            for message in page.boards:
                yield settings_of(message)

    async def update(
        self,
        board_id: str,
        *,
        display_name: str | None = None,
        cascade_max: int | None = None,
        rating_min: int | None = None,
        version: int = 0,
    ) -> BoardSettings:
        """Changes what is given; a version, when given, must be the current one.

        Raises:
            Conflict: The board's settings are not at that version.
        """
        request = wire.UpdateBoardRequest()
        request.board.name = _name(board_id)
        request.board.version = checked_count(version, field="version")
        if display_name is not None:
            request.board.display_name = checked_text(display_name, field="display_name")
            request.update_mask.paths.append("display_name")
        if cascade_max is not None:
            request.board.cascade_max = _cascade_max(cascade_max)
            request.update_mask.paths.append("cascade_max")
        if rating_min is not None:
            request.board.rating_min = _rating_min(rating_min)
            request.update_mask.paths.append("rating_min")
        answer = await self._caller.mutate(self._stub.UpdateBoard, request)
        return settings_of(answer.board)

    async def delete(self, board_id: str) -> None:
        """Deletes a board and everything on it, for good."""
        request = wire.DeleteBoardRequest(name=_name(board_id))
        await self._caller.mutate(self._stub.DeleteBoard, request)


def _name(board_id: str) -> str:
    return board_name(checked_text(board_id, field="board_id"))


def _cascade_max(count: int) -> int:
    return checked_count(count, field="cascade_max", most=INT32_MAX)


def _rating_min(rating: int) -> int:
    return checked_whole(rating, field="rating_min", least=-INT64_MAX, most=INT64_MAX)


def settings_of(message: wire.Board) -> BoardSettings:
    """The board that the wire holds."""
    return BoardSettings(
        id=last_part(message.name),
        display_name=message.display_name,
        epoch=message.epoch,
        cascade_max=message.cascade_max,
        rating_min=message.rating_min if message.HasField("rating_min") else None,
        version=message.version,
        created_at=time_of(message.create_time),
    )
