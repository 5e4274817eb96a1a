"""Views: one space of a board, as one caller works on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import grpc.aio

from lavagna.calls import Caller
from lavagna.checks import checked_revision
from lavagna.entries import Entry, Kind, Space, space_number
from lavagna.errors import FutureRevision
from lavagna.v1.boards_pb2 import GetBoardRequest
from lavagna.v1.entries_pb2 import ResponseHeader
from lavagna.v1.entries_pb2 import Space as WireSpace


class _Read(Protocol):
    at_revision: int
    min_revision: int


class _Answer(Protocol):
    @property
    def header(self) -> ResponseHeader: ...


Read = TypeVar("Read", bound=_Read)
Answer = TypeVar("Answer", bound=_Answer)


class Seen:
    """The versions that one piece of work has seen, so that it writes over nothing else."""

    def __init__(self) -> None:
        self._versions: dict[tuple[Space, str], int | None] = {}

    def note(self, space: Space, key: str, version: int | None) -> None:
        """Remembers the newest version of a key; None when there is no such entry."""
        self._versions[space, key] = version

    def version(self, space: Space, key: str) -> int | None:
        """The version seen last; None when none was, or when there was no entry."""
        return self._versions.get((space, key))


@dataclass(frozen=True)
class View:
    """One space of a board, as one caller works on it."""

    caller: Caller
    space: Space = Space.SHARED
    activation_token: str = ""
    """The lease that every write proves; empty for writes from outside an activation."""
    seen: Seen | None = None
    """Where the versions that were read are remembered, if anywhere."""

    @property
    def space_number(self) -> WireSpace.ValueType:
        """The space as the wire has it."""
        return space_number(self.space)

    async def read(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Read, Answer],
        request: Read,
        *,
        at: int | None,
    ) -> Answer:
        """Reads at a revision, or at one no older than what this connection has seen (S5).

        Raises:
            LavagnaError: The family says what to do next.
        """
        if at is not None:
            request.at_revision = checked_revision(at, field="at")
        else:
            request.min_revision = self.caller.revisions.newest(self.caller.log(self.space))
        try:
            answer = await self.caller.ask(method, request)
        except FutureRevision:
            if at is not None or not await self._epoch_changed():
                raise
            request.min_revision = 0
            answer = await self.caller.ask(method, request)
        self.note(answer.header)
        return answer

    def note(self, header: ResponseHeader) -> None:
        """Takes in the header of a response about this space."""
        self.caller.note(self.space, header)

    def remember(self, entry: Entry) -> None:
        """Remembers that this is the newest version of the entry, if it is one that is written."""
        if entry.kind is Kind.NOTE:
            self.remember_version(entry.key, entry.version if entry.exists else None)

    def remember_version(self, key: str, version: int | None) -> None:
        """Remembers the newest version of a key's note; None when there is none."""
        if self.seen is not None:
            self.seen.note(self.space, key, version)

    async def _epoch_changed(self) -> bool:
        """Whether the revisions seen so far mean nothing any more; forgets them if so."""
        before = self.caller.revisions.epoch
        request = GetBoardRequest(name=self.caller.board_name)
        answer = await self.caller.ask(self.caller.stubs.boards.GetBoard, request)
        self.caller.note(Space.SHARED, answer.header)
        return answer.header.epoch != before
