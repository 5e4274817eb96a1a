"""Resource names: how boards and what is on them are named on the wire.

The one module that takes names apart and puts them together. Whether something of that name exists is not its concern.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lavagna_server.domain.agenda import ActivationId
from lavagna_server.domain.agents import SERVER_WIDE, check_name
from lavagna_server.domain.boards import check_board_name
from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import Key, normal_key
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.triggers import TriggerId, check_trigger_name

_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


def board_name(board: str) -> str:
    """`boards/{board}`."""
    return f"boards/{board}"


def region_name(board: str, path: str) -> str:
    """`boards/{board}/regions/{path}`."""
    return f"boards/{board}/regions/{path}"


def agent_name(board: str, agent: str) -> str:
    """`boards/{board}/agents/{agent}`."""
    return f"boards/{board}/agents/{agent}"


def trigger_name(trigger: TriggerId) -> str:
    """`{space}/triggers/{trigger}`, below the board or, in a private space, below its agent."""
    return f"{_parent(trigger.space)}/triggers/{trigger.name}"


def activation_name(activation: ActivationId) -> str:
    """`{space}/activations/{number}`, below the board or, in a private space, below its agent."""
    return f"{_parent(activation.space)}/activations/{activation.number}"


def parse_board(text: str, *, field: str, server_wide: bool = False) -> str:
    """The board that `boards/{board}` names; `boards/-` only where `server_wide`.

    Raises:
        Invalid: The text is not a board's name.
    """
    return _board(text, field, server_wide)


def board_of(text: str, *, field: str, server_wide: bool = False) -> str:
    """The board to which the resource of any name belongs.

    Raises:
        Invalid: The text does not begin with a board's name.
    """
    collection, _, rest = text.partition("/")
    return _board(f"{collection}/{rest.partition('/')[0]}", field, server_wide)


def parse_region(text: str, *, field: str, limits: Limits) -> tuple[str, Key]:
    """The board and the path that `boards/{board}/regions/{path}` names.

    Raises:
        Invalid: The text is not a region's name.
    """
    match text.split("/", 3):
        case ["boards", board, "regions", path]:
            key = normal_key(path, field=field, limits=limits)
            return check_board_name(board, field=field), key
        case _:
            raise Invalid(field, "a region's name is boards/{board}/regions/{path}")


def parse_agent(text: str, *, field: str) -> tuple[str, str]:
    """The board (or `-`) and the agent that `boards/{board}/agents/{agent}` names.

    Raises:
        Invalid: The text is not an agent's name.
    """
    match text.split("/"):
        case ["boards", board, "agents", agent]:
            check_name(agent, field=field)
            return _board(f"boards/{board}", field, True), agent
        case _:
            raise Invalid(field, "an agent's name is boards/{board}/agents/{agent}")


def parse_trigger(text: str, *, field: str) -> TriggerId:
    """The trigger that a name means, and thereby its space.

    Raises:
        Invalid: The text is not a trigger's name.
    """
    match text.split("/"):
        case ["boards", *parent, "triggers", trigger]:
            name = check_trigger_name(trigger, field=field)
            return TriggerId(_space(parent, field, "trigger"), name)
        case _:
            raise Invalid(field, _rule("trigger"))


def parse_activation(text: str, *, field: str) -> ActivationId:
    """The activation that a name means, and thereby its space.

    Raises:
        Invalid: The text is not an activation's name.
    """
    match text.split("/"):
        case ["boards", *parent, "activations", digits] if _NUMBER.fullmatch(digits):
            return ActivationId(_space(parent, field, "activation"), int(digits))
        case _:
            raise Invalid(field, _rule("activation"))


def _parent(space: SpaceName) -> str:
    return agent_name(*space) if space.owner else board_name(space.board)


def _space(parent: list[str], field: str, kind: str) -> SpaceName:
    match parent:
        case [board]:
            return SpaceName(check_board_name(board, field=field))
        case [board, "agents", agent]:
            return SpaceName(check_board_name(board, field=field), check_name(agent, field=field))
        case _:
            raise Invalid(field, _rule(kind))


def _rule(kind: str) -> str:
    article = "an" if kind[0] in "aeiou" else "a"
    return (
        f"the name of {article} {kind} is boards/{{board}}/{kind}s/{{{kind}}}, "
        f"with /agents/{{agent}} after the board when it looks at a private space"
    )


@lru_cache(maxsize=1_024)
def _board(text: str, field: str, server_wide: bool) -> str:
    collection, _, board = text.partition("/")
    if collection != "boards":
        raise Invalid(field, "give the board as boards/{board}")
    if server_wide and board == SERVER_WIDE:
        return board
    return check_board_name(board, field=field)
