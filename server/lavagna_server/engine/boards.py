"""Boards and regions: the use cases of keeping them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from lavagna_server.domain.agents import SERVER_WIDE, Caller, Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import Commit, Occasion, Space, SpaceName, later
from lavagna_server.domain.errors import (
    AlreadyExists,
    Exhausted,
    FutureRevision,
    NotFound,
    PermissionDenied,
    RoleRequired,
    StaleRecord,
)
from lavagna_server.domain.regions import Region
from lavagna_server.engine.bell import EVERYBODY
from lavagna_server.engine.calls import Call
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.once import once
from lavagna_server.engine.reading import visible_space
from lavagna_server.engine.workspace import Workspace
from lavagna_server.ports.languages import Schemas
from lavagna_server.ports.store import Subtree

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Compaction:
    """History that was given up: where the log stands after it."""

    space: Space
    at: datetime


def check_admin(caller: Caller) -> None:
    """Raises `RoleRequired` unless the caller is an administrator."""
    if caller.role is not Role.ADMIN:
        raise RoleRequired(agent=caller.agent, role=caller.role.name.lower(), needs="admin")


class Boards:
    """Keeps boards."""

    def __init__(self, ground: Ground) -> None:
        self._writer, self._catalog, self._readers = ground.writer, ground.catalog, ground.readers

    async def create(self, call: Call[Board, R], draft: Board) -> R:
        """Creates a board. Raises `AlreadyExists`."""
        check_admin(call.caller)

        def operation(work: Workspace) -> Board:
            if draft.name in work.catalog.boards:
                raise AlreadyExists(f"boards/{draft.name}")
            board = replace(draft, epoch=new_epoch(), version=1, created_at=work.now)
            work.save(board)
            return board

        return await once(self._writer, call, operation)

    async def get(self, caller: Caller) -> tuple[Board, Space]:
        """The caller's board, and where its shared space stands."""
        name = SpaceName(caller.board)
        space = await self._readers.run(
            lambda snapshot: visible_space(snapshot, self._catalog, caller, name)
        )
        return self._catalog.board(caller.board).board, space

    async def list(self, caller: Caller, *, after: str, size: int) -> Sequence[Board]:
        """A page of the boards that the caller belongs to: all for the server's own agents, else its one."""
        boards = [each.board for each in list(self._catalog.boards.values())]
        if caller.board != SERVER_WIDE:
            boards = [board for board in boards if board.name == caller.board]
        return sorted(
            (board for board in boards if board.name > after), key=lambda board: board.name
        )[:size]

    async def update(
        self, call: Call[Board, R], change: Callable[[Board], Board], *, expected_version: int
    ) -> R:
        """Changes a board's settings; `change` gives the new ones from the current ones."""
        check_admin(call.caller)

        def operation(work: Workspace) -> Board:
            current = work.board(call.caller.board).board
            if expected_version and expected_version != current.version:
                raise StaleRecord(
                    f"boards/{current.name}", expected=expected_version, current=current.version
                )
            changed = change(current)
            if changed == current:
                return current
            changed = replace(changed, version=current.version + 1)
            work.save(changed)
            work.woken.add((current.name, EVERYBODY))
            return changed

        return await once(self._writer, call, operation)

    async def delete(self, call: Call[None, R]) -> R:
        """Deletes the caller's board with everything on it, for good."""
        check_admin(call.caller)

        def operation(work: Workspace) -> None:
            board = work.board(call.caller.board).board
            work.erase_board(board)

        return await once(self._writer, call, operation)

    async def compact(self, call: Call[Compaction, R], space: SpaceName, revision: int) -> R:
        """Gives up the history before a revision, as a commit of its own; 0 means before the newest.

        Raises:
            FutureRevision: The revision has not happened.
            RoleRequired: The shared space is compacted by administrators; a private one by its owner.
        """
        if not space.owner:
            check_admin(call.caller)

        def operation(work: Workspace) -> Compaction:
            if space.owner not in ("", call.caller.agent):
                raise NotFound(f"space {space}")
            known = work.space(space)
            if revision > known.head:
                raise FutureRevision(revision=revision, newest=known.head)
            horizon = revision or known.head
            if horizon > known.oldest:
                compact(work, known, horizon, author=call.caller.agent)
            return Compaction(work.space(space), work.now)

        return await once(self._writer, call, operation)


def compact(work: Workspace, space: Space, horizon: int, *, author: str) -> None:
    """Gives up what no read of the space at `horizon` or later needs, and logs that (S3)."""
    work.transaction.compact(space.name, Subtree(), horizon)
    work.put_space(replace(space, oldest=horizon))
    note_compaction(work, space.name, Subtree(), horizon, author=author)


def note_compaction(
    work: Workspace, name: SpaceName, subtree: Subtree, horizon: int, *, author: str
) -> None:
    """Logs that history is given up, as a commit of its own."""
    space = work.space(name)
    commit = Commit(
        name,
        space.head + 1,
        later(space, work.now),
        author,
        Occasion.COMPACTION,
        (),
        compacted_to=horizon,
        compacted_path=subtree.path,
    )
    work.append(commit)


def new_epoch() -> str:
    """A name for a board's life, that no other life has."""
    return secrets.token_hex(8)


class RegionRules:
    """Keeps the regions of a board."""

    def __init__(self, ground: Ground, schemas: Schemas) -> None:
        self._writer, self._catalog = ground.writer, ground.catalog
        self._schemas, self._limits = schemas, ground.limits

    async def set(self, call: Call[Region, R], draft: Region, *, expected_version: int) -> R:
        """Creates or replaces a region. Administrators, and the owner of the region that is there or around it.

        Raises:
            PermissionDenied: The caller is neither.
            StaleRecord: It is not at the expected version.
            Invalid: Its schema is wrong.
            Exhausted: The board has too many regions.
        """
        draft.check("region")
        if draft.schema_json:
            self._schemas.schema(draft.schema_json, field="region.schema_json")

        def operation(work: Workspace) -> Region:
            regions = work.board(call.caller.board).regions_of(SpaceName(call.caller.board))
            known = regions.at(draft.path)
            _check_rules(call.caller, regions.of(draft.path), draft.path)
            current = known.version if known else 0
            if expected_version and expected_version != current:
                raise StaleRecord(
                    f"region {draft.path}", expected=expected_version, current=current
                )
            if known is None and len(regions) >= self._limits.regions_max:
                raise Exhausted(
                    "regions_max", maximum=self._limits.regions_max, subject=call.caller.board
                )
            # What retention gave up stays given up, whichever region rules it from now on.
            ruling = regions.of(draft.path)
            region = replace(draft, version=current, oldest=ruling.oldest if ruling else 0)
            if known is not None and region == known:
                return known
            region = replace(region, version=current + 1)
            work.save(region)
            return region

        return await once(self._writer, call, operation)

    async def get(self, caller: Caller, path: str) -> Region:
        """The region at a path that the caller may read."""
        region = self._catalog.board(caller.board).regions_of(SpaceName(caller.board)).at(path)
        if region is None or not region.may_read(caller):
            raise NotFound(f"region {path}")
        return region

    async def list(self, caller: Caller) -> Sequence[Region]:
        """The regions that the caller may read, by path."""
        regions = self._catalog.board(caller.board).regions_of(SpaceName(caller.board))
        return sorted(
            (region for region in regions if region.may_read(caller)),
            key=lambda region: region.path,
        )

    async def delete(self, call: Call[None, R], path: str) -> R:
        """Deletes a region; its entries stay, under the rules of the region around it.

        Raises:
            NotFound: There is none that the caller may read.
            PermissionDenied: The caller does not own it.
            RoleRequired: Retention gave up more in it than around it. The horizon that outlives it is the space's, and so an administrator's to move.
        """

        def operation(work: Workspace) -> None:
            region = self._deletable(work, call.caller, path)
            if region is None:
                raise NotFound(f"region {path}")
            work.remove(region)

        # First the space's horizon is made known, then the region's goes: no reader meets a world with neither (S4).
        await self._writer.perform(lambda work: self._give_up(work, call.caller, path))
        return await once(self._writer, call, operation)

    def _deletable(self, work: Workspace, caller: Caller, path: str) -> Region | None:
        region = work.board(caller.board).regions_of(SpaceName(caller.board)).at(path)
        if region is None or not (region.may_read(caller) or caller.role is Role.ADMIN):
            return None
        _check_rules(caller, region, path)
        return region

    def _give_up(self, work: Workspace, caller: Caller, path: str) -> None:
        """What retention gave up in a region that goes stays given up: in the space, which is an administrator's to say."""
        region = self._deletable(work, caller, path)
        if region is None:
            return
        regions = work.board(caller.board).regions_of(SpaceName(caller.board))
        space = work.space(SpaceName(region.board))
        around = regions.of(path.rpartition("/")[0])
        if region.oldest > max(space.oldest, around.oldest if around else 0):
            check_admin(caller)
            compact(work, space, region.oldest, author=caller.agent)


def _check_rules(caller: Caller, ruling: Region | None, path: str) -> None:
    if caller.role is Role.ADMIN or (ruling is not None and ruling.is_owner(caller)):
        return
    raise PermissionDenied(
        f"{caller.agent} may not set the rules of {path}: that takes its owner or an administrator"
    )
