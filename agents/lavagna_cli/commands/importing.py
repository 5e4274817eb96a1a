"""import: an export's history, committed again."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from lavagna import Board, Conflict, Invalid, LavagnaError, Written
from lavagna.retry import PATIENT
from lavagna_cli import progress
from lavagna_cli.command import SERVER, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.replay import Batch, Replay, batches
from lavagna_cli.screen import Screen
from lavagna_cli.survey import Survey, lines_again, opened, surveyed

app = typer.Typer()

_CHANGE = re.compile(r"changes\[(\d+)\]")
"""How the server names a change of a commit that it finds malformed."""


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

    Who wrote a version first, when and at which revision stands among its sources. Proposals,
    ballots and claims are left out; what they came to is imported as it was. The file is
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
            tally = Tally(await _newest_revision(board))
            await _replay(invocation, replay, source, survey.lines, tally)
    _tell(screen, survey)
    screen.done(
        {
            "board": board.name,
            "commits": tally.commits,
            "changes": tally.changes,
            "changes_there_already": tally.there_already,
            "left_out": survey.left_out,
        },
        bare=str(tally.commits),
        remark=tally.told(board.name),
    )


def _tell(screen: Screen, survey: Survey) -> None:
    """Says what the import could not take over as it was."""
    if survey.displaced:
        screen.remark(
            f"{survey.displaced} versions had as many sources as fit;"
            " the last one gave way to where the version comes from."
        )
    if survey.left_out:
        screen.remark(
            f"{survey.left_out} versions of proposals, ballots and claims were left out, which only a"
            " server makes; what they came to is there."
        )


@dataclass(slots=True)
class Tally:
    """What an import came to so far."""

    newest_revision: int
    """The space's, before the import; what is not newer was there already."""
    commits: int = 0
    changes: int = 0
    there_already: int = 0
    """Changes that an earlier run of the same import made."""

    def add(self, written: Sequence[Written]) -> None:
        """Takes in what one commit changed."""
        if written and written[0].revision > self.newest_revision:
            self.commits += 1
            self.changes += len(written)
        else:
            self.there_already += len(written)

    def told(self, board: str) -> str:
        """The whole import in a sentence."""
        if self.there_already and not self.changes:
            return f"Nothing is new: {board} has all {self.there_already} changes already"
        return f"Imported {self} into {board}"

    def __str__(self) -> str:
        made = f"{_counted(self.changes, 'change')} in {_counted(self.commits, 'commit')}"
        return f"{made} ({self.there_already} there already)" if self.there_already else made


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


async def _identity(invocation: Invocation, board: Board, survey: Survey) -> str:
    """Names this file on its way to this place: not another board, nor one made anew since."""
    welcome = await board.agents.hello()
    return "\n".join([survey.digest, board.name, invocation.space, welcome.epoch])


async def _newest_revision(board: Board) -> int:
    """The newest revision of the space, which only the beginning of an export tells of any space."""
    async for part in board.export():
        return part.last_revision
    return 0


async def _replay(
    invocation: Invocation, replay: Replay, source: BinaryIO, lines: int, tally: Tally
) -> None:
    with progress.bar(invocation.screen, "Importing", total=lines) as report:
        for batch in batches(lines_again(source)):
            try:
                tally.add(await replay.commit(batch))
            except LavagnaError as error:
                error.add_note(_after(error, batch, tally))
                raise
            report(batch.number)


def _after(error: LavagnaError, batch: Batch, tally: Tally) -> str:
    """What to do about an error at this batch."""
    at = f"That was line {_line(error, batch)} of the import, after {tally}."
    if isinstance(error, Conflict):
        return f"{at} Import into another board, or write over what this one has with --overwrite."
    return f"{at} Run the same command again to go on."


def _line(error: LavagnaError, batch: Batch) -> int:
    """The line that the error is about, as far as it says so."""
    if isinstance(error, Conflict) and error.failed:
        return batch.number_of(error.failed[0].key)
    if isinstance(error, Invalid) and error.violations:
        change = _CHANGE.match(error.violations[0].field)
        if change and len(batch.lines) > 1:  # entries of the state, each of them one change
            return batch.lines[int(change[1])].number
    return batch.number
