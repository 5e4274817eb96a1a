"""The servicer of `lavagna.v1.Entries`."""

from __future__ import annotations

from lavagna.v1.entries_pb2 import (
    BatchGetRequest,
    BatchGetResponse,
    CommitRequest,
    CommitResponse,
    DiffRequest,
    DiffResponse,
    GetRequest,
    GetResponse,
    HistoryRequest,
    HistoryResponse,
    ListRequest,
    ListResponse,
    RevertRequest,
    RevertResponse,
)
from lavagna_server.domain.keys import parse_pattern
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.identity import Session
from lavagna_server.rpc.calls import Calls
from lavagna_server.rpc.codec import commits, reads
from lavagna_server.rpc.codec.changes import expected_version_from_wire, tags_from_wire
from lavagna_server.rpc.codec.checks import check_count, not_negative, page_size, required
from lavagna_server.rpc.codec.entries import entry_id, written_id
from lavagna_server.rpc.codec.enums import KINDS
from lavagna_server.rpc.codec.spaces import space_from_wire


class Entries:
    """Reads and writes the entries of a space."""

    def __init__(self, engine: Engine, calls: Calls) -> None:
        self._commits, self._reads, self._limits = engine.commits, engine.reads, engine.limits
        self._calls = calls

    async def Commit(self, request: CommitRequest, session: Session) -> CommitResponse:
        caller = session.caller
        space = space_from_wire(request.space, caller)
        required(
            bool(request.changes or request.else_changes),
            field="changes",
            rule="say what to change",
        )
        wanted = commits.request_from_wire(request, space, limits=self._limits)
        call = self._calls.mutation(caller, request, commits.commit_response, CommitResponse)
        return await self._commits.commit(call, wanted, token=request.activation_token)

    async def Get(self, request: GetRequest, session: Session) -> GetResponse:
        caller = session.caller
        space = space_from_wire(request.space, caller)
        wanted = entry_id(request.kind, request.key, limits=self._limits)
        read = await self._reads.get(caller, space, wanted, reads.read_point(request))
        return reads.get_response(read)

    async def BatchGet(self, request: BatchGetRequest, session: Session) -> BatchGetResponse:
        caller = session.caller
        space = space_from_wire(request.space, caller)
        wanted = reads.wanted_entries(request, limits=self._limits)
        read = await self._reads.batch_get(caller, space, wanted, reads.read_point(request))
        return reads.batch_response(read, wanted, limits=self._limits)

    async def List(self, request: ListRequest, session: Session) -> ListResponse:
        caller, limits = session.caller, self._limits
        check_count(request.tags, limits.tags_max, field="tags", limit="tags_max")
        point, after = reads.list_place(request, caller)
        read = await self._reads.list(
            caller,
            space_from_wire(request.space, caller),
            frozenset({KINDS.from_wire(request.kind, field="kind")}),
            parse_pattern(request.pattern, field="pattern", limits=limits),
            tags=frozenset(tags_from_wire(request.tags, field="tags", limits=limits)),
            point=point,
            after=after,
            size=page_size(request.page_size, limits=limits),
            keys_only=request.keys_only,
        )
        return reads.list_response(read, request, caller)

    async def History(self, request: HistoryRequest, session: Session) -> HistoryResponse:
        caller, limits = session.caller, self._limits
        epoch, below_version = reads.history_place(request, caller)
        read = await self._reads.history(
            caller,
            space_from_wire(request.space, caller),
            entry_id(request.kind, request.key, limits=limits),
            below_version=below_version,
            size=page_size(request.page_size, limits=limits),
            epoch=epoch,
        )
        return reads.history_response(read, request, caller)

    async def Diff(self, request: DiffRequest, session: Session) -> DiffResponse:
        found = await self._reads.diff(
            session.caller,
            space_from_wire(request.space, session.caller),
            KINDS.from_wire(request.kind, field="kind"),
            parse_pattern(request.pattern, field="pattern", limits=self._limits),
            from_revision=not_negative(request.from_revision, field="from_revision"),
            to_revision=not_negative(request.to_revision, field="to_revision"),
        )
        return reads.diff_response(found)

    async def Revert(self, request: RevertRequest, session: Session) -> RevertResponse:
        caller = session.caller
        space = space_from_wire(request.space, caller)
        entry = written_id(request.kind, request.key, limits=self._limits)
        required(
            request.version > 0, field="version", rule="give the version to write again, 1 or more"
        )
        expected = expected_version_from_wire(request)
        call = self._calls.mutation(caller, request, commits.revert_response, RevertResponse)
        return await self._commits.revert(
            call,
            space,
            entry,
            version=request.version,
            expected_version=expected,
            overwrite=request.overwrite,
            token=request.activation_token,
        )
