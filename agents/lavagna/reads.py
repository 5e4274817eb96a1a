"""Reads: what a view of a board can be asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from lavagna.chain import joined
from lavagna.checks import checked_count, checked_flag, checked_text, checked_texts
from lavagna.commits import Exported, commit_of
from lavagna.entries import Difference, Entry, Kind, difference_of, entry_of, kind_number
from lavagna.errors import NotFound
from lavagna.paging import pages
from lavagna.v1 import boards_pb2, entries_pb2, watch_pb2
from lavagna.views import View


class Reads:
    """Asks for entries of one space; every read sees what this connection has seen before."""

    def __init__(self, view: View) -> None:
        self._view = view

    async def get(self, key: str, *, at: int | None = None, kind: Kind = Kind.NOTE) -> Entry:
        """The entry of that kind, now or as of a revision.

        Raises:
            NotFound: There is none, or the caller may not read it.
            Compacted: The revision was given up.
        """
        request = entries_pb2.GetRequest(
            board=self._view.caller.board_name,
            space=self._view.space_number,
            kind=kind_number(kind),
            key=checked_text(key, field="key"),
        )
        try:
            answer = await self._view.read(self._view.caller.stubs.entries.Get, request, at=at)
        except NotFound:
            if at is None and kind == Kind.NOTE:
                self._view.remember_version(key, None)
            raise
        entry = entry_of(answer.entry)
        if at is None:
            self._remember_read(entry, asked_for=key)
        return entry

    async def find(
        self, key: str, *, at: int | None = None, kind: Kind = Kind.NOTE
    ) -> Entry | None:
        """The entry, or None when there is none that the caller may read."""
        try:
            return await self.get(key, at=at, kind=kind)
        except NotFound:
            return None

    async def batch_get(
        self, keys: Sequence[str], *, at: int | None = None, kind: Kind = Kind.NOTE
    ) -> dict[str, Entry]:
        """The entries that exist, by their keys, all of one revision; at most 1,000."""
        request = entries_pb2.BatchGetRequest(
            board=self._view.caller.board_name,
            space=self._view.space_number,
            kind=kind_number(kind),
            keys=checked_texts(keys, field="keys"),
        )
        answer = await self._view.read(self._view.caller.stubs.entries.BatchGet, request, at=at)
        entries = {message.key: entry_of(message) for message in answer.entries}
        if at is None:
            for key in answer.missing_keys if kind == Kind.NOTE else ():
                self._view.remember_version(key, None)
            for entry in entries.values():
                self._view.remember(entry)
        return entries

    async def entries(
        self,
        pattern: str = "",
        *,
        tags: Sequence[str] = (),
        at: int | None = None,
        keys_only: bool = False,
        kind: Kind = Kind.NOTE,
    ) -> AsyncIterator[Entry]:
        """The entries that match, in key order, all of one revision; an empty pattern means all."""
        request = entries_pb2.ListRequest(
            board=self._view.caller.board_name,
            space=self._view.space_number,
            kind=kind_number(kind),
            pattern=checked_text(pattern, field="pattern"),
            tags=checked_texts(tags, field="tags"),
            keys_only=checked_flag(keys_only, field="keys_only"),
        )

        async def fetch(request: entries_pb2.ListRequest) -> entries_pb2.ListResponse:
            return await self._view.read(self._view.caller.stubs.entries.List, request, at=at)

        async for page in pages(fetch, request):
            for message in page.entries:
                entry = entry_of(message)
                if at is None:
                    self._view.remember(entry)
                yield entry

    async def history(self, key: str, *, kind: Kind = Kind.NOTE) -> AsyncIterator[Entry]:
        """The versions of an entry, newest first, deletions included."""
        request = entries_pb2.HistoryRequest(
            board=self._view.caller.board_name,
            space=self._view.space_number,
            kind=kind_number(kind),
            key=checked_text(key, field="key"),
        )

        async def fetch(request: entries_pb2.HistoryRequest) -> entries_pb2.HistoryResponse:
            return await self._view.caller.ask(self._view.caller.stubs.entries.History, request)

        async for page in pages(fetch, request):
            self._view.note(page.header)
            for message in page.versions:
                yield entry_of(message)

    async def diff(
        self,
        pattern: str,
        from_revision: int,
        to_revision: int = 0,
        *,
        kind: Kind = Kind.NOTE,
    ) -> tuple[Difference, ...]:
        """How the entries that match differ between two revisions.

        `from_revision` 0 is the empty board, `to_revision` 0 is the newest.
        """
        request = entries_pb2.DiffRequest(
            board=self._view.caller.board_name,
            space=self._view.space_number,
            kind=kind_number(kind),
            pattern=checked_text(pattern, field="pattern"),
            from_revision=checked_count(from_revision, field="from_revision"),
            to_revision=checked_count(to_revision, field="to_revision"),
        )
        answer = await self._view.caller.ask(self._view.caller.stubs.entries.Diff, request)
        self._view.note(answer.header)
        return tuple(difference_of(message) for message in answer.differences)

    async def export(self, after: int = 0) -> AsyncIterator[Exported]:
        """The commits of the space after a revision; 0 starts with the oldest readable state."""
        request = boards_pb2.ExportRequest(
            board=self._view.caller.board_name,
            space=self._view.space_number,
            after_revision=checked_count(after, field="after"),
        )
        stream = self._view.caller.stream(self._view.caller.stubs.boards.Export, request)
        parts: list[watch_pb2.Commit] = []
        try:
            while (part := await stream.read()) is not None:
                commits = [
                    whole for each in part.commits if (whole := joined(parts, each)) is not None
                ]
                yield Exported(
                    epoch=part.header.epoch,
                    last_revision=part.header.revision,
                    state=tuple(entry_of(message) for message in part.state),
                    commits=tuple(commit_of(each, self._view.space) for each in commits),
                )
        finally:
            stream.close()

    def _remember_read(self, entry: Entry, *, asked_for: str) -> None:
        """Remembers the entry under its normal form and under the key that the caller wrote."""
        self._view.remember(entry)
        self._view.remember(replace(entry, key=asked_for))
