"""export: a space's whole history as a file."""

import os
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from lavagna import Board
from lavagna_cli import exportlines, outfiles, progress
from lavagna_cli.arguments import OverwriteFile
from lavagna_cli.command import SERVER, command
from lavagna_cli.exportlines import Header
from lavagna_cli.invocation import Invocation

app = typer.Typer()


@command(
    app,
    panel=SERVER,
    example="""
    lavagna export main.jsonl
    lavagna export --private | gzip > mine.jsonl.gz
    """,
)
async def export(
    invocation: Invocation,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A new file; standard output if - or left out."),
    ] = None,
    *,
    overwrite: OverwriteFile = False,
) -> None:
    """Write a space's history as JSON lines: a header, the oldest state, every commit, an end.

    Values are kept byte for byte. A file is complete or not there.
    """
    lines = 0
    if file is not None and str(file) == "-":
        file = None
    with _sink(file, overwrite=overwrite) as sink:
        async with invocation.board() as board:
            async for line in _lines(invocation, board):
                sink.write(line)
                lines += 1
        sink.write(exportlines.end_line(lines))
    if file is not None:
        invocation.screen.done(
            {"file": str(file), "lines": lines + 1},
            bare=str(file),
            remark=f"Exported {board.name} to {file}, {lines + 1} lines",
        )


async def _lines(invocation: Invocation, board: Board) -> AsyncIterator[bytes]:
    parts = board.export()
    first = await anext(parts, None)
    welcome = await board.agents.hello()
    last_revision = first.last_revision if first else 0
    yield exportlines.header_line(
        Header(
            board=board.name,
            space=invocation.space,
            epoch=first.epoch if first else welcome.epoch,
            revision=last_revision,
            exported_at=datetime.now(UTC),
        )
    )
    with progress.bar(invocation.screen, "Exporting", total=last_revision) as report:
        part = first
        while part is not None:
            for entry in part.state:
                yield exportlines.state_line(entry)
            for commit in part.commits:
                yield exportlines.commit_line(commit)
                report(commit.revision)
            part = await anext(parts, None)


@contextmanager
def _sink(file: Path | None, *, overwrite: bool) -> Generator[BinaryIO]:
    """Standard output, or a file that takes its name only when it is whole."""
    if file is None:
        yield sys.stdout.buffer
    elif file.exists() and not (file.is_file() or file.is_dir()):
        with file.open("wb") as sink:  # a pipe or a device, where nothing is replaced
            yield sink
    else:
        with outfiles.made(file, overwrite=overwrite) as unfinished, unfinished.open("wb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
