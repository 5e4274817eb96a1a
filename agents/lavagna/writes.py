"""Writes: what a view of a board can be made to change.

Every write is a commit with a request id of its own, so however often it is sent, it has one
effect (S6). In a region where others have a say it becomes a proposal or a claim, and the result
is about that: its `kind` and `key` say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lavagna.changes import Append, Change, Delete, Patch, Put, change_message
from lavagna.checks import checked_count, checked_flag, checked_several, checked_text
from lavagna.conditions import Condition, condition_message
from lavagna.entries import Committed, Kind, Written, failed_of, written_of
from lavagna.times import Seconds
from lavagna.v1 import boards_pb2, entries_pb2
from lavagna.values import Value
from lavagna.views import View


class Writes:
    """Changes entries of one space."""

    def __init__(self, view: View) -> None:
        self._view = view

    async def put(
        self,
        key: str,
        value: Value,
        *,
        expected_version: int | None = None,
        overwrite: bool = False,
        tags: Sequence[str] = (),
        confidence: float | None = None,
        sources: Sequence[str] = (),
        ttl: Seconds | None = None,
    ) -> Written:
        """Stores a value.

        Creating is free. Outside regions that say otherwise, changing an entry needs the version
        that was seen, or `overwrite`; `update` does that for you.

        Raises:
            Conflict: The entry is not at the expected version; `current` is what is there.
            Refused: The entry exists, and neither a version nor `overwrite` was given.
        """
        return await self._one(
            Put(
                key,
                value,
                expected_version=expected_version,
                overwrite=overwrite,
                tags=tags,
                confidence=confidence,
                sources=sources,
                ttl=ttl,
            )
        )

    async def patch(
        self,
        key: str,
        merge: Value,
        *,
        expected_version: int | None = None,
        overwrite: bool = False,
        tags: Sequence[str] = (),
        confidence: float | None = None,
        sources: Sequence[str] = (),
        ttl: Seconds | None = None,
    ) -> Written:
        """Merges a JSON merge patch (RFC 7396) into an entry that holds JSON, or does not exist.

        Raises:
            Conflict: The entry is not at the expected version; `current` is what is there.
            Refused: The entry exists, and neither a version nor `overwrite` was given.
        """
        return await self._one(
            Patch(
                key,
                merge,
                expected_version=expected_version,
                overwrite=overwrite,
                tags=tags,
                confidence=confidence,
                sources=sources,
                ttl=ttl,
            )
        )

    async def append(
        self,
        prefix: str,
        value: Value,
        *,
        tags: Sequence[str] = (),
        confidence: float | None = None,
        sources: Sequence[str] = (),
        ttl: Seconds | None = None,
    ) -> Written:
        """Stores a value under a new key below the prefix; this never conflicts."""
        return await self._one(
            Append(prefix, value, tags=tags, confidence=confidence, sources=sources, ttl=ttl)
        )

    async def delete(
        self, key: str, *, expected_version: int | None = None, overwrite: bool = False
    ) -> Written:
        """Deletes the entry; its history stays, and its version goes on counting.

        Raises:
            Conflict: The entry is not at the expected version; `current` is what is there.
            NotFound: There is no such entry.
            Refused: Neither a version nor `overwrite` was given.
        """
        return await self._one(Delete(key, expected_version=expected_version, overwrite=overwrite))

    async def commit(
        self,
        *changes: Change,
        conditions: Sequence[Condition] = (),
        otherwise: Sequence[Change] = (),
        request_id: str = "",
    ) -> Committed:
        """Makes all of the changes at one revision, or none.

        When a condition does not hold, the otherwise-changes are made instead, if there are any.
        A program that may be run again names the request itself: under a name that took effect
        within 24 hours the same commit has no second effect and gets the first one's answer.

        Raises:
            Conflict: A condition or an expected version does not hold, and there are no
                otherwise-changes; `failed` says which and what is there.
        """
        request = entries_pb2.CommitRequest(
            board=self._view.caller.board_name,
            space=self._view.space_number,
            request_id=checked_text(request_id, field="request_id"),
            activation_token=self._view.activation_token,
            conditions=condition_messages(conditions),
            changes=change_messages(changes),
            else_changes=change_messages(otherwise, field="otherwise"),
        )
        answer = await self._view.caller.mutate(self._view.caller.stubs.entries.Commit, request)
        self._view.note(answer.header)
        committed = committed_of(answer)
        self._remember_written(committed.results)
        return committed

    async def revert(
        self,
        key: str,
        version: int,
        *,
        expected_version: int | None = None,
        overwrite: bool = False,
    ) -> Written:
        """Writes an older version of the entry again, as a new version.

        Raises:
            Conflict: The entry is not at the expected version; `current` is what is there.
            NotFound: There is no such entry or version.
        """
        request = entries_pb2.RevertRequest(
            board=self._view.caller.board_name,
            space=self._view.space_number,
            activation_token=self._view.activation_token,
            key=checked_text(key, field="key"),
            version=checked_count(version, field="version"),
            overwrite=checked_flag(overwrite, field="overwrite"),
        )
        if expected_version is not None:
            request.expected_version = checked_count(expected_version, field="expected_version")
        answer = await self._view.caller.mutate(self._view.caller.stubs.entries.Revert, request)
        self._view.note(answer.header)
        written = written_of(answer.result, revision=answer.header.revision)
        self._remember_written([written])
        return written

    async def compact(self, revision: int = 0) -> int:
        """Gives up the history before a revision (0: the newest); returns the oldest that stays."""
        request = boards_pb2.CompactRequest(
            board=self._view.caller.board_name,
            space=self._view.space_number,
            revision=checked_count(revision, field="revision"),
        )
        answer = await self._view.caller.mutate(self._view.caller.stubs.boards.Compact, request)
        self._view.note(answer.header)
        return answer.header.oldest_revision

    async def _one(self, change: Change) -> Written:
        return (await self.commit(change)).results[0]

    def _remember_written(self, written: Sequence[Written]) -> None:
        for each in written:
            # Of what was proposed or claimed the entry itself may not have come about.
            if each.kind is Kind.NOTE:
                self._view.remember_version(each.key, each.version if each.exists else None)


class _Outcome(Protocol):
    """What a Commit and a Complete both answer."""

    succeeded: bool

    @property
    def header(self) -> entries_pb2.ResponseHeader: ...
    @property
    def results(self) -> Sequence[entries_pb2.ChangeResult]: ...
    @property
    def failed_conditions(self) -> Sequence[entries_pb2.FailedCondition]: ...


def committed_of(answer: _Outcome) -> Committed:
    """What the wire says became of a commit."""
    revision = answer.header.revision
    return Committed(
        revision=revision,
        succeeded=answer.succeeded,
        results=tuple(written_of(each, revision=revision) for each in answer.results),
        failed=tuple(failed_of(each) for each in answer.failed_conditions),
    )


def change_messages(
    changes: Sequence[Change], *, field: str = "changes"
) -> list[entries_pb2.Change]:
    """The changes as the wire has them; an error names the one at fault."""
    several = checked_several(changes, field=field)
    return [change_message(each, field=f"{field}[{at}]") for at, each in enumerate(several)]


def condition_messages(conditions: Sequence[Condition]) -> list[entries_pb2.Condition]:
    """The conditions as the wire has them; an error names the one at fault."""
    several = checked_several(conditions, field="conditions")
    return [condition_message(each, field=f"conditions[{at}]") for at, each in enumerate(several)]
