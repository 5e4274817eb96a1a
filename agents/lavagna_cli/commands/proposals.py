"""proposals: the writes that wait, or waited, for votes."""

from typing import Annotated

import typer

from lavagna import NotFound, NotInTime, Outcome, Proposal
from lavagna_cli import completion, contents, documents, polls, values
from lavagna_cli.arguments import At, Patience, ProposalKey
from lavagna_cli.choices import one_of
from lavagna_cli.command import Scope, command
from lavagna_cli.exits import ExitCode
from lavagna_cli.failures import TimedOut
from lavagna_cli.invocation import Invocation
from lavagna_cli.options import Format

app = typer.Typer(no_args_is_help=True)

_EXIT_CODES = {
    Outcome.ACCEPTED: ExitCode.OK,
    Outcome.REJECTED: ExitCode.REJECTED,
    Outcome.UNDECIDED: ExitCode.UNDECIDED,
    Outcome.SUPERSEDED: ExitCode.SUPERSEDED,
    Outcome.WITHDRAWN: ExitCode.WITHDRAWN,
}


@command(
    app,
    name="list",
    scope=Scope.BOARD,
    example="""
    lavagna proposals list --mine
    lavagna proposals list 'design/**' --open
    lavagna proposals list --outcome rejected --outcome undecided -o json
    """,
)
async def list_(
    invocation: Invocation,
    pattern: Annotated[
        str,
        typer.Argument(
            metavar="PATTERN",
            help="Which entries they would change: a key or a pattern; all when left out.",
            autocompletion=completion.keys,
        ),
    ] = "",
    *,
    is_open: Annotated[
        bool, typer.Option("--open", help="Only those that wait for votes.")
    ] = False,
    mine: Annotated[
        bool, typer.Option("--mine", help="Only those that wait for your vote.")
    ] = False,
    outcome: Annotated[
        list[Outcome] | None,
        one_of(Outcome, explained="Only those that stand or ended so; may be given again."),
    ] = None,
    at: At = None,
) -> None:
    """List proposals by key, decided ones too, all of one revision."""
    if (is_open or mine) and outcome:
        raise typer.BadParameter("--outcome goes with neither --open nor --mine.")
    outcomes = [Outcome.OPEN] if is_open or mine else outcome or []
    async with invocation.board() as board:
        found = board.proposals.list(pattern, outcomes=outcomes, awaiting_me=mine, at=at)
        await polls.LISTING.show(invocation.screen, found)


@command(
    app,
    scope=Scope.BOARD,
    example="""
    lavagna proposals get design/000000000007-000
    lavagna proposals get design/000000000007-000 -o json
    """,
)
async def get(invocation: Invocation, key: ProposalKey, *, at: At = None) -> None:
    """Show a proposal, what it would change, and how everybody voted."""
    async with invocation.board() as board:
        try:
            proposal = await board.proposals.get(key, at=at)
        except NotFound as error:
            await polls.name_open(board, key, error)
            raise
    screen = invocation.screen
    screen.properties(documents.of(proposal), polls.properties(proposal))
    if screen.format in {None, Format.TABLE}:
        screen.gap()
        polls.show_electors(screen, proposal)


@command(
    app,
    scope=Scope.BOARD,
    example="""
    lavagna proposals wait design/000000000007-000 --timeout 10m
    lavagna proposals wait design/000000000007-000 && ./deploy
    """,
)
async def wait(invocation: Invocation, key: ProposalKey, *, patience: Patience = None) -> None:
    """Wait until a proposal is decided, then print how; the exit code says it too.

    0 accepted, 11 rejected, 12 undecided, 13 superseded, 14 withdrawn; 9 when --timeout passed.
    """
    async with invocation.board() as board:
        try:
            proposal = await board.proposals.wait(key, timeout=patience)
        except NotInTime as late:
            raise TimedOut(
                late.message, hint=f"See who votes: lavagna proposals get {key}"
            ) from None
        except NotFound as error:
            await polls.name_open(board, key, error)
            raise
    invocation.screen.done(documents.of(proposal), bare=proposal.outcome, remark=_decided(proposal))
    raise typer.Exit(_EXIT_CODES.get(proposal.outcome, ExitCode.UNEXPECTED))


def _decided(proposal: Proposal) -> str:
    at = f" at revision {proposal.decided_revision}"
    value = f": {contents.proposed(proposal)}" if proposal.outcome is Outcome.ACCEPTED else ""
    return f"{values.printable(proposal.key)} was {polls.stand(proposal)}{at}{value}"
