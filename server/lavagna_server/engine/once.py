"""One effect per request (S6): the rule that every mutation goes through."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from lavagna_server.domain.entries import EntryId, SpaceName
from lavagna_server.domain.errors import RequestReused
from lavagna_server.engine.calls import Call
from lavagna_server.engine.workspace import Workspace
from lavagna_server.engine.writer import Writer
from lavagna_server.ports.store import Effect

T = TypeVar("T")
R = TypeVar("R")


async def once(
    writer: Writer,
    call: Call[T, R],
    operation: Callable[[Workspace], T],
    *,
    touches: Collection[tuple[SpaceName, EntryId]] = (),
    is_effect: Callable[[T], bool] = lambda _: True,
) -> R:
    """Carries out an operation unless its request was seen before; then gives the original response.

    The effect is recorded in the operation's own transaction. An operation that raises has no effect and leaves no record, nor does one
    whose result `is_effect` does not take for one.

    Raises:
        RequestReused: The request id was used for other content.
    """
    caller = call.caller

    def run(work: Workspace) -> R:
        if not call.request_id:
            return call.respond(operation(work))
        seen = work.effect(caller.board, caller.agent, call.request_id)
        if seen is not None:
            if seen.fingerprint != call.fingerprint:
                raise RequestReused(call.request_id)
            return call.decode(seen.response)
        result = operation(work)
        response = call.respond(result)
        if is_effect(result):
            encoded = call.encode(response)
            effect = Effect(
                caller.board, caller.agent, call.request_id, call.fingerprint, encoded, work.now
            )
            work.put_effect(effect)
        return response

    return await writer.perform(run, touches=touches)
