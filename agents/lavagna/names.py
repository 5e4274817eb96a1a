"""Resource names: what the wire calls a board, and what is on it.

The SDK speaks of things by the last part of their names, since a Board knows its board.
"""

from __future__ import annotations


def board_name(board: str) -> str:
    """`boards/{board}`."""
    return f"boards/{board}"


def child_name(board: str, collection: str, child: str) -> str:
    """`boards/{board}/{collection}/{child}`."""
    return f"boards/{board}/{collection}/{child}"


def last_part(name: str) -> str:
    """The last part of a resource name; empty for an empty name."""
    return name.rpartition("/")[2]
