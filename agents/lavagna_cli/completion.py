"""Completion of keys and proposals: asks the board while the user types, and gives up quickly and silently."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

import typer

from lavagna import Board, Entry, LavagnaError, Outcome, Proposal, Retry
from lavagna_cli import options
from lavagna_cli.invocation import Invocation
from lavagna_cli.options import Format, Options
from lavagna_cli.screen import Screen

_PATIENCE_SECONDS = 1.0
_KEYS_MAX = 100
_ONE_TRY = Retry(attempts_max=1)
_Keyed: TypeAlias = Entry | Proposal


def keys(ctx: typer.Context, incomplete: str) -> list[str]:
    """The first keys that begin with what was typed; none when the board does not answer soon."""
    parent = incomplete.rpartition("/")[0]
    pattern = f"{parent}/**" if parent else ""
    return _found(ctx, incomplete, lambda board: board.entries(pattern, keys_only=True))


def open_proposals(ctx: typer.Context, incomplete: str) -> list[str]:
    """The same for the keys of the proposals that wait for votes."""
    return _found(ctx, incomplete, lambda board: board.proposals.list(outcomes=[Outcome.OPEN]))


def _found(
    ctx: typer.Context, incomplete: str, look: Callable[[Board], AsyncIterator[_Keyed]]
) -> list[str]:
    try:
        return asyncio.run(_keys(_said(ctx), incomplete, look))
    except (LavagnaError, TimeoutError, OSError, typer.BadParameter):
        return []


async def _keys(
    said: Options, incomplete: str, look: Callable[[Board], AsyncIterator[_Keyed]]
) -> list[str]:
    found: list[str] = []
    invocation = Invocation(said, said, Screen(Format.TEXT))
    async with asyncio.timeout(_PATIENCE_SECONDS), invocation.board(_ONE_TRY) as board:
        async for each in look(board):
            if each.key.startswith(incomplete):
                found.append(each.key)
            if len(found) == _KEYS_MAX:
                break
    return found


def _said(ctx: typer.Context) -> Options:
    """The shared options of the half-typed command line."""
    inner, outer = (
        Options(**{name: value for name, value in context.params.items() if name in options.NAMES})
        for context in (ctx, ctx.find_root())
    )
    return inner.over(outer).over(options.from_environment())
