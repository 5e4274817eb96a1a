"""The servicer of `lavagna.v1.Boards`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from lavagna.v1.boards_pb2 import (
    CompactRequest,
    CompactResponse,
    CreateBoardRequest,
    CreateBoardResponse,
    DeleteBoardRequest,
    DeleteBoardResponse,
    DeleteRegionRequest,
    DeleteRegionResponse,
    ExportRequest,
    ExportResponse,
    GetBoardRequest,
    GetBoardResponse,
    GetRegionRequest,
    GetRegionResponse,
    ListBoardsRequest,
    ListBoardsResponse,
    ListRegionsRequest,
    ListRegionsResponse,
    SetRegionRequest,
    SetRegionResponse,
    UpdateBoardRequest,
    UpdateBoardResponse,
)
from lavagna_server.domain.errors import ShuttingDown
from lavagna_server.domain.names import parse_board, parse_region
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.identity import Session
from lavagna_server.rpc.calls import Calls
from lavagna_server.rpc.codec import boards, regions
from lavagna_server.rpc.codec.checks import not_negative, page_size
from lavagna_server.rpc.codec.spaces import header, space_from_wire
from lavagna_server.rpc.codec.watch import export_response


class Boards:
    """Keeps boards and their regions."""

    def __init__(self, engine: Engine, calls: Calls, closing: asyncio.Event) -> None:
        self._boards, self._regions, self._reads = engine.boards, engine.regions, engine.reads
        self._quotas, self._limits, self._clock = engine.quotas, engine.limits, engine.clock
        self._calls, self._closing = calls, closing

    async def CreateBoard(
        self, request: CreateBoardRequest, session: Session
    ) -> CreateBoardResponse:
        draft = boards.new_board(request)
        call = self._calls.mutation(
            session.caller,
            request,
            boards.create_response,
            CreateBoardResponse,
        )
        return await self._boards.create(call, draft)

    async def GetBoard(self, request: GetBoardRequest, session: Session) -> GetBoardResponse:
        parse_board(request.name, field="name")
        board, space = await self._boards.get(session.caller)
        return GetBoardResponse(
            header=header(space, self._clock.now()), board=boards.board_to_wire(board)
        )

    async def ListBoards(self, request: ListBoardsRequest, session: Session) -> ListBoardsResponse:
        size = page_size(request.page_size, limits=self._limits)
        after = boards.boards_place(request, session.caller)
        page = await self._boards.list(session.caller, after=after, size=size)
        return boards.boards_response(page, request, session.caller, size=size)

    async def UpdateBoard(
        self, request: UpdateBoardRequest, session: Session
    ) -> UpdateBoardResponse:
        parse_board(request.board.name, field="board.name")
        change = boards.board_change(request)
        call = self._calls.mutation(
            session.caller,
            request,
            boards.update_response,
            UpdateBoardResponse,
        )
        return await self._boards.update(call, change, expected_version=request.board.version)

    async def DeleteBoard(
        self, request: DeleteBoardRequest, session: Session
    ) -> DeleteBoardResponse:
        parse_board(request.name, field="name")
        call = self._calls.mutation(
            session.caller, request, boards.delete_response, DeleteBoardResponse
        )
        return await self._boards.delete(call)

    async def Compact(self, request: CompactRequest, session: Session) -> CompactResponse:
        space = space_from_wire(request.space, session.caller)
        revision = not_negative(request.revision, field="revision")

        call = self._calls.mutation(
            session.caller, request, boards.compact_response, CompactResponse
        )
        return await self._boards.compact(call, space, revision)

    async def Export(
        self, request: ExportRequest, session: Session
    ) -> AsyncGenerator[ExportResponse, None]:
        space = space_from_wire(request.space, session.caller)
        after = not_negative(request.after_revision, field="after_revision")
        with self._quotas.stream(session.caller):
            async with aclosing(self._reads.export(session.caller, space, after)) as parts:
                async for part in parts:
                    if self._closing.is_set():
                        raise ShuttingDown
                    yield export_response(part)

    async def SetRegion(self, request: SetRegionRequest, session: Session) -> SetRegionResponse:
        draft = regions.region_from_wire(request, session.caller.board, limits=self._limits)
        call = self._calls.mutation(
            session.caller,
            request,
            regions.set_response,
            SetRegionResponse,
        )
        return await self._regions.set(call, draft, expected_version=draft.version)

    async def GetRegion(self, request: GetRegionRequest, session: Session) -> GetRegionResponse:
        _, path = parse_region(request.name, field="name", limits=self._limits)
        region = await self._regions.get(session.caller, path)
        return GetRegionResponse(region=regions.region_to_wire(region))

    async def ListRegions(
        self, request: ListRegionsRequest, session: Session
    ) -> ListRegionsResponse:
        return regions.regions_response(await self._regions.list(session.caller))

    async def DeleteRegion(
        self, request: DeleteRegionRequest, session: Session
    ) -> DeleteRegionResponse:
        _, path = parse_region(request.name, field="name", limits=self._limits)
        call = self._calls.mutation(
            session.caller, request, regions.delete_response, DeleteRegionResponse
        )
        return await self._regions.delete(call, path)
