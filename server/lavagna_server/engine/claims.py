"""Claims: what agents hold to be true about a key, and what turned out to be true of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.consensus.claims import of_claim
from lavagna_server.domain.consensus.resolving import Truth, is_right, resolved, taught, truthful
from lavagna_server.domain.consensus.settling import Step
from lavagna_server.domain.decisions import pen_for
from lavagna_server.domain.entries import (
    Change,
    Entry,
    EntryId,
    Kind,
    Occasion,
    Operation,
    Request,
    Space,
    SpaceName,
)
from lavagna_server.domain.errors import NotFound, NotMerged, PermissionDenied
from lavagna_server.domain.keys import below
from lavagna_server.domain.regions import Policy, Region
from lavagna_server.engine.calls import Call
from lavagna_server.engine.commits import Log, cause_of, touches
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.once import once
from lavagna_server.engine.reading import ReadPoint
from lavagna_server.engine.reads import EntriesRead, Reads
from lavagna_server.engine.workspace import Workspace

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim, and what all claims about its key come to."""

    space: Space
    at: datetime
    claim: Entry
    merged: Entry | None
    """None when no claim is left."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is true about a key, and whose claims were right."""

    space: Space
    at: datetime
    entry: Entry
    right: tuple[str, ...]
    wrong: tuple[str, ...]


class Claims:
    """Keeps claims, and learns from what became of them."""

    def __init__(self, ground: Ground, log: Log, reads: Reads) -> None:
        self._writer, self._log, self._reads = ground.writer, log, reads

    async def claim(self, call: Call[Claimed, R], request: Request, *, token: str) -> R:
        """States what the caller holds to be true about a key.

        Raises:
            NotMerged: Claims are not merged there.
            NotAWriter, StaleVersion, Invalid: As for any commit.
        """

        def operation(work: Workspace) -> Claimed:
            key = request.changes[0].id.key
            _merging_region(work, call.caller, key)
            cause = cause_of(work, call.caller, token, SpaceName(call.caller.board))
            self._log.write(work, call.caller, request, cause)
            return _fresh(work, request.space, key, call.caller.agent)

        return await once(self._writer, call, operation, touches=touches(request))

    async def withdraw(self, call: Call[Claimed, R], key: str, *, token: str) -> R:
        """Ends the caller's claim about a key; the entry follows. That is anybody's to do with its own, whom nothing else may be told.

        Raises:
            NotFound: There is none.
            NotMerged: Claims are not merged there.
        """
        name = SpaceName(call.caller.board)
        change = Change(EntryId(Kind.NOTE, key), Operation.DELETE)

        def operation(work: Workspace) -> Claimed:
            is_told = _check_withdrawable(work, call.caller, key)
            request = Request(name, (change,), request_id=call.request_id)
            self._log.write(
                work,
                call.caller,
                request,
                cause_of(work, call.caller, token, SpaceName(call.caller.board)),
            )
            done = _fresh(work, name, key, call.caller.agent)
            return done if is_told else replace(done, merged=None)

        return await once(self._writer, call, operation)

    async def list(
        self, caller: Caller, key: str, *, point: ReadPoint, after: EntryId | None, size: int
    ) -> EntriesRead:
        """A page of the live claims about a key, by agent."""
        return await self._reads.list(
            caller,
            SpaceName(caller.board),
            frozenset({Kind.CLAIM}),
            below(key),
            tags=frozenset(),
            point=point,
            after=after,
            size=size,
            keys_only=False,
        )

    async def resolve(self, call: Call[Resolved, R], truth: Truth, *, token: str) -> R:
        """Says what is true about a key: the claims about it end, and their agents' calibrations learn.

        Raises:
            NotFound: There are no claims about it.
            NotMerged: Claims are not merged there.
            PermissionDenied: The caller does not own the region.
            Invalid: The region's schema refuses the value.
        """
        caller, name = call.caller, SpaceName(call.caller.board)

        def operation(work: Workspace) -> Resolved:
            region = _merging_region(work, caller, truth.key)
            if not (region.is_owner(caller) or caller.role is Role.ADMIN):
                raise PermissionDenied(
                    f"{caller.agent} may not say what is true about {truth.key}: "
                    "that takes the region's owner or an administrator"
                )
            state = self._log.state(work, name)
            if region.schema_json:
                state.check_schema(region, truth.value, "value")
            claims = sorted(state.below(Kind.CLAIM, truth.key), key=lambda each: each.key)
            if not claims:
                raise NotFound(f"claims about {truth.key}")
            cause = cause_of(work, caller, token, name)
            pen = pen_for(state.space, caller.agent, work.now, cause)
            verdicts = {claim.author: is_right(claim.value, truth) for claim in claims}
            steps: list[Step] = [
                (claim, resolved(claim, verdicts[claim.author], pen)) for claim in claims
            ]
            note = state.newest(EntryId(Kind.NOTE, truth.key))
            steps.append((note, truthful(note, truth, verdicts, pen)))
            for claim in claims:
                work.save(
                    taught(state.standings, claim, region.path, is_right=verdicts[claim.author])
                )
            self._log.conclude(
                work,
                name,
                steps,
                author=caller.agent,
                occasion=Occasion.WRITE,
                cause=cause,
                request_id=call.request_id,
            )
            right = tuple(agent for agent, was_right in verdicts.items() if was_right)
            wrong = tuple(agent for agent, was_right in verdicts.items() if not was_right)
            return Resolved(work.space(name), work.now, steps[-1][1], right, wrong)

        return await once(self._writer, call, operation)


def _merging_region(work: Workspace, caller: Caller, key: str) -> Region:
    """The region in which claims about a key are merged."""
    name = SpaceName(caller.board)
    region = work.board(caller.board).regions_of(name).of(key)
    if region is not None and not region.may_read(caller):
        raise NotFound(key)
    if region is None or region.policy is not Policy.WEIGHTED:
        raise NotMerged(key, policy=(region.policy if region else Policy.GUARDED).value)
    return region


def _check_withdrawable(work: Workspace, caller: Caller, key: str) -> bool:
    """Checks that there may be a claim of the caller's own to end; whether the caller may know what becomes of the entry.

    Raises:
        NotFound: The caller may not know whether claims are merged there.
        NotMerged: They are not.
    """
    region = work.board(caller.board).regions_of(SpaceName(caller.board)).of(key)
    is_told = region is None or region.may_read(caller)
    own = work.newest(SpaceName(caller.board), of_claim(key, caller.agent))
    is_merged = region is not None and region.policy is Policy.WEIGHTED
    if not is_told and not (is_merged and own is not None and own.exists):
        raise NotFound(key)
    if not is_merged:
        raise NotMerged(key, policy=(region.policy if region else Policy.GUARDED).value)
    return is_told


def _fresh(work: Workspace, name: SpaceName, key: str, agent: str) -> Claimed:
    claim = work.newest(name, of_claim(key, agent))
    assert claim is not None
    merged = work.newest(name, EntryId(Kind.NOTE, key))
    if merged is not None and not merged.exists:
        merged = None
    return Claimed(work.space(name), work.now, claim, merged)
