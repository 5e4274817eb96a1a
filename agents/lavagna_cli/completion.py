"""Completion of keys: asks the board while the user types, and gives up quickly and silently."""

import asyncio

import typer

from lavagna import LavagnaError, Retry
from lavagna_cli import options
from lavagna_cli.invocation import Invocation
from lavagna_cli.options import Format, Options
from lavagna_cli.screen import Screen

_PATIENCE_SECONDS = 1.0
_KEYS_MAX = 100
_ONE_TRY = Retry(attempts_max=1)


def keys(ctx: typer.Context, incomplete: str) -> list[str]:
    """The first keys that begin with what was typed; none when the board does not answer soon."""
    try:
        return asyncio.run(_keys(_said(ctx), incomplete))
    except (LavagnaError, TimeoutError, OSError, typer.BadParameter):
        return []


async def _keys(said: Options, incomplete: str) -> list[str]:
    parent = incomplete.rpartition("/")[0]
    found: list[str] = []
    invocation = Invocation(said, said, Screen(Format.TEXT))
    async with asyncio.timeout(_PATIENCE_SECONDS), invocation.board(_ONE_TRY) as board:
        async for entry in board.entries(f"{parent}/**" if parent else "", keys_only=True):
            if entry.key.startswith(incomplete):
                found.append(entry.key)
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
