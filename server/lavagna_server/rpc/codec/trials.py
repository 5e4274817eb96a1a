"""Lists and trials of triggers."""

from __future__ import annotations

from collections.abc import Sequence

from lavagna.v1 import triggers_pb2
from lavagna_server.domain.agents import Caller
from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import normal_key
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.triggers import Trigger, TriggerId, check_trigger_name
from lavagna_server.engine.triggers import Evaluation, Trial
from lavagna_server.rpc.codec.enums import VERDICTS
from lavagna_server.rpc.codec.pages import page_token, place_of
from lavagna_server.rpc.codec.spaces import header
from lavagna_server.rpc.codec.triggers import trigger_from_wire, trigger_to_wire

TRIAL_NAME = "trial"
"""What a trigger is called that is tried without being set."""


def triggers_place(request: triggers_pb2.ListTriggersRequest, caller: Caller) -> TriggerId | None:
    """After which trigger a page begins."""
    place = place_of(request.page_token, request, caller, parts=2)
    if place is None:
        return None
    owner, name = place
    return TriggerId(SpaceName(caller.board, owner), name)


def triggers_response(
    page: Sequence[Trigger],
    request: triggers_pb2.ListTriggersRequest,
    caller: Caller,
    *,
    size: int,
    limits: Limits,
) -> triggers_pb2.ListTriggersResponse:
    """A page of triggers; a full one may go on."""
    response = triggers_pb2.ListTriggersResponse()
    left = limits.page_bytes_max
    for index, trigger in enumerate(page):
        message = trigger_to_wire(trigger)
        left -= message.ByteSize()
        if left < 0 and index:
            break
        response.triggers.append(message)
    given = len(response.triggers)
    if given and (given < len(page) or given == size):
        last = page[given - 1].id
        response.next_page_token = page_token(request, caller, last.space.owner, last.name)
    return response


def subject_from_wire(
    request: triggers_pb2.TryTriggerRequest, caller: Caller, *, limits: Limits
) -> Trigger | TriggerId:
    """The trigger to try: one that is set in the shared space, or one that is not set."""
    match request.WhichOneof("subject"):
        case "trigger":
            return trigger_from_wire(request.trigger, TRIAL_NAME, caller, limits=limits)
        case "trigger_id":
            name = check_trigger_name(request.trigger_id, field="trigger_id")
            return TriggerId(SpaceName(caller.board), name)
        case _:
            raise Invalid("trigger", "give the trigger to try, or the id of one that is set")


def tried_key(request: triggers_pb2.TryTriggerRequest, *, limits: Limits) -> str:
    """The one key to look at; empty means all."""
    return normal_key(request.key, field="key", limits=limits) if request.key else ""


def try_response(trial: Trial) -> triggers_pb2.TryTriggerResponse:
    """What a trigger would do."""
    return triggers_pb2.TryTriggerResponse(
        header=header(trial.space, trial.at, revision=trial.revision),
        would_fire=trial.would_fire,
        evaluations=[_evaluation(each) for each in trial.evaluations],
    )


def _evaluation(each: Evaluation) -> triggers_pb2.Evaluation:
    return triggers_pb2.Evaluation(
        key=each.key,
        bind=each.bind,
        verdict=VERDICTS.to_wire(each.verdict),
        rating=each.rating,
        reason=each.reason,
        read_keys=each.read_keys,
    )
