"""import: an export's history, committed again."""

from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from lavagna import Board, Conflict, LavagnaError
from lavagna.retry import PATIENT
from lavagna_cli import progress
from lavagna_cli.command import SERVER, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.replay import Batch, Replay, batches
from lavagna_cli.survey import Survey, lines_again, opened, surveyed

app = typer.Typer()


@command(
    app,
    name="import",
    panel=SERVER,
    example="""
    lavagna import main.jsonl --board copy
    gunzip -c mine.jsonl.gz | lavagna import - --private
    """,
)
async def import_(
    invocation: Invocation,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A file of `lavagna export`; - is standard input."),
    ],
    *,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Write over keys that the board has had already, too."),
    ] = False,
) -> None:
    """Commit the history of an export again, with you as the author.

    Who wrote a version first, when and at which revision stands among its sources. The file is
    checked to its end before the first commit. After an interruption run the same command again: it
    goes on where it stopped.
    """
    screen = invocation.screen
    with opened(file) as source:
        with progress.bar(screen, "Checking", total=None) as report:
            survey = surveyed(source, report)
        async with invocation.board(PATIENT) as board:
            replay = Replay(
                board=board,
                header=survey.header,
                identity=await _identity(invocation, board, survey),
                last_lines=survey.last_lines,
                overwrite=overwrite,
            )
            commits, changes = await _replay(invocation, replay, source, survey.lines)
    if survey.displaced:
        screen.remark(
            f"{survey.displaced} versions had as many sources as fit;"
            " the last one gave way to where the version comes from."
        )
    screen.done(
        {"board": board.name, "commits": commits, "changes": changes},
        bare=str(commits),
        remark=f"Imported {changes} changes in {commits} commits into {board.name}",
    )


async def _identity(invocation: Invocation, board: Board, survey: Survey) -> str:
    """Names this file on its way to this place: not another board, nor one made anew since."""
    welcome = await board.agents.hello()
    return "\n".join([survey.digest, board.name, invocation.space, welcome.epoch])


async def _replay(
    invocation: Invocation, replay: Replay, source: BinaryIO, lines: int
) -> tuple[int, int]:
    commits = changes = 0
    with progress.bar(invocation.screen, "Importing", total=lines) as report:
        for batch in batches(lines_again(source)):
            try:
                made = await replay.commit(batch)
            except LavagnaError as error:
                error.add_note(_after(error, batch))
                raise
            commits, changes = commits + bool(made), changes + made
            report(batch.number)
    return commits, changes


def _after(error: LavagnaError, batch: Batch) -> str:
    """What to do about an error at this batch."""
    at = f"That was line {batch.number} of the import, and all before it is committed."
    if isinstance(error, Conflict):
        return f"{at} Import into another board, or write over what this one has with --overwrite."
    return f"{at} Run the same command again to go on."
