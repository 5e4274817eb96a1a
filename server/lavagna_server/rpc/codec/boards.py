"""Boards as resources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lavagna.v1 import boards_pb2
from lavagna_server.domain.agents import Caller
from lavagna_server.domain.boards import CASCADE_DEFAULT, Board, check_board_name
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.names import board_name
from lavagna_server.engine.boards import Compaction
from lavagna_server.rpc.codec.checks import check_label, not_negative, required, within
from lavagna_server.rpc.codec.pages import page_token, place_of
from lavagna_server.rpc.codec.spaces import header
from lavagna_server.rpc.codec.times import optional_moment

CASCADE_MAX = 1_000_000
DISPLAY_CHARACTERS_MAX = 128
RATING_LEAST = -(2**63)
CHANGEABLE = ("display_name", "cascade_max", "rating_min")


def board_to_wire(board: Board) -> boards_pb2.Board:
    """The board as a message."""
    return boards_pb2.Board(
        name=board_name(board.name),
        display_name=board.display_name,
        epoch=board.epoch,
        cascade_max=board.cascade_max,
        rating_min=None if board.rating_min == RATING_LEAST else board.rating_min,
        version=board.version,
        create_time=optional_moment(board.created_at),
    )


def board_from_wire(message: boards_pb2.Board, name: str) -> Board:
    """The settings that a caller wants for a board; the epoch is the server's to give."""
    return Board(
        name,
        epoch="",
        display_name=check_label(
            message.display_name, field="board.display_name", characters_max=DISPLAY_CHARACTERS_MAX
        ),
        cascade_max=within(
            message.cascade_max, 1, CASCADE_MAX, field="board.cascade_max", default=CASCADE_DEFAULT
        ),
        rating_min=message.rating_min if message.HasField("rating_min") else RATING_LEAST,
        version=not_negative(message.version, field="board.version"),
    )


def new_board(request: boards_pb2.CreateBoardRequest) -> Board:
    """The board that a caller wants to create."""
    return board_from_wire(request.board, check_board_name(request.board_id, field="board_id"))


def board_change(request: boards_pb2.UpdateBoardRequest) -> Callable[[Board], Board]:
    """What makes the wanted board of the current one: changes the fields of the mask, or all that are set.

    Raises:
        Invalid: A field is wrong, the mask names one that cannot be changed, or there is nothing to change.
    """
    names = _changed_fields(request)
    wanted = board_from_wire(request.board, "")

    def change(board: Board) -> Board:
        return replace(
            board,
            display_name=wanted.display_name if "display_name" in names else board.display_name,
            cascade_max=wanted.cascade_max if "cascade_max" in names else board.cascade_max,
            rating_min=wanted.rating_min if "rating_min" in names else board.rating_min,
        )

    return change


def _changed_fields(request: boards_pb2.UpdateBoardRequest) -> frozenset[str]:
    """The names of the fields to change.

    Raises:
        Invalid: The mask names a field that cannot be changed, or there is nothing to change.
    """
    required(request.HasField("board"), field="board")
    for index, path in enumerate(request.update_mask.paths):
        if path not in CHANGEABLE:
            raise Invalid(
                f"update_mask.paths[{index}]", f"only {', '.join(CHANGEABLE)} can be changed"
            )
    if request.update_mask.paths:
        return frozenset(request.update_mask.paths)
    given = {field.name for field, _ in request.board.ListFields()}.intersection(CHANGEABLE)
    required(
        bool(given), field="update_mask", rule=f"nothing to change: set {', '.join(CHANGEABLE)}"
    )
    return frozenset(given)


def boards_place(request: boards_pb2.ListBoardsRequest, caller: Caller) -> str:
    """After which board a page begins."""
    place = place_of(request.page_token, request, caller, parts=1)
    return "" if place is None else place[0]


def boards_response(
    page: Sequence[Board], request: boards_pb2.ListBoardsRequest, caller: Caller, *, size: int
) -> boards_pb2.ListBoardsResponse:
    """A page of boards; a full one may go on."""
    more = len(page) == size
    return boards_pb2.ListBoardsResponse(
        boards=[board_to_wire(board) for board in page],
        next_page_token=page_token(request, caller, page[-1].name) if more else "",
    )


def create_response(board: Board) -> boards_pb2.CreateBoardResponse:
    """The new board."""
    return boards_pb2.CreateBoardResponse(board=board_to_wire(board))


def update_response(board: Board) -> boards_pb2.UpdateBoardResponse:
    """The board as it now is."""
    return boards_pb2.UpdateBoardResponse(board=board_to_wire(board))


def delete_response(_: None) -> boards_pb2.DeleteBoardResponse:
    """The board is gone."""
    return boards_pb2.DeleteBoardResponse()


def compact_response(done: Compaction) -> boards_pb2.CompactResponse:
    """Where the log stands after its history was given up."""
    return boards_pb2.CompactResponse(header=header(done.space, done.at))
