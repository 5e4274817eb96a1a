"""watch and wait: the commands that follow a board as it changes."""

from datetime import timedelta
from shlex import quote
from typing import Annotated

import typer

from lavagna import Commit, Kind, State, Target, Watch
from lavagna_cli import completion, documents, values
from lavagna_cli.arguments import KindChoice, Patience
from lavagna_cli.changelines import commit_lines, state_lines
from lavagna_cli.choices import one_of
from lavagna_cli.command import ENTRIES, command
from lavagna_cli.durations import spelt
from lavagna_cli.failures import TimedOut
from lavagna_cli.invocation import Invocation
from lavagna_cli.jsontext import Document
from lavagna_cli.screen import Screen

app = typer.Typer()


Resume = Annotated[
    str | None,
    typer.Option(
        help="Go on where this token of an earlier watch of the same patterns left off.",
        metavar="TOKEN",
    ),
]


@command(
    app,
    panel=ENTRIES,
    example="""
    lavagna watch
    lavagna watch 'plan/**' 'tasks/*/status' --state
    lavagna watch --since 40 --count 1 -o json
    lavagna watch --kind proposal --kind ballot
    """,
)
async def watch(
    invocation: Invocation,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            help="Which keys; all when left out.",
            metavar="PATTERN",
            autocompletion=completion.keys,
        ),
    ] = None,
    *,
    resume: Resume = None,
    since: Annotated[
        int | None,
        typer.Option(help="Begin after this revision; 0: all there is.", metavar="REVISION", min=0),
    ] = None,
    kind: Annotated[
        list[Kind] | None,
        one_of(Kind, explained="Only entries of this kind; may be given again."),
    ] = None,
    state: Annotated[
        bool, typer.Option("--state", help="Begin with the entries that there are.")
    ] = False,
    count: Annotated[
        int | None, typer.Option(help="End after this many commits.", metavar="COUNT", min=1)
    ] = None,
) -> None:
    """Print changes as they are committed, a line each, until Ctrl-C.

    Proposals, ballots, claims and what they come to are changes too; --kind narrows it.

    Nothing is missed while the server restarts. With -o json there is an object per commit, with the
    token that resumes after it.
    """
    if sum((resume is not None, since is not None, state)) > 1:
        raise typer.BadParameter("Pass only one of --resume, --since and --state.")
    async with invocation.board() as board:
        # A watch tries for ever; asking once first tells a wrong target or token at once.
        welcome = await board.agents.hello()
        invocation.screen.remark(f"Watching {board.name} as {welcome.member.id}. Ctrl-C ends.")
        targets = [Target(each, kinds=kind or ()) for each in patterns or [""]]
        watching = board.watch(*targets, token=resume, after=since, initial_state=state)
        async with watching:
            try:
                await _follow(invocation.screen, watching, count)
            finally:
                if watching.token and count is None:
                    invocation.screen.remark(f"Go on with --resume {watching.token}")


async def _follow(screen: Screen, watching: Watch[Commit | State], count: int | None) -> None:
    commits = 0
    async for item in watching:
        if screen.is_json:
            screen.document(_document(item, watching.token))
        else:
            for line in commit_lines(item) if isinstance(item, Commit) else state_lines(item):
                screen.line(line)
        commits += isinstance(item, Commit)
        if commits == count:
            return


def _document(item: Commit | State, token: str) -> Document:
    entries: Document = [documents.entry(entry) for entry in item.entries]
    if isinstance(item, State):
        return {
            "type": "state",
            "space": item.space.value,
            "revision": item.revision,
            "entries": entries,
            "synced": item.synced,
            "token": token,
        }
    return {
        "type": "commit",
        "space": item.space.value,
        "revision": item.revision,
        "committed_at": documents.time(item.committed_at),
        "author": item.author,
        "occasion": item.occasion.value,
        "cause": documents.of(item.cause),
        "entries": entries,
        "token": token,
    }


@command(
    app,
    panel=ENTRIES,
    example="""
    lavagna wait "entry.value == 'done'" --on plan/status --timeout 10m
    lavagna wait "board['tests'].passed && entry.value > 2" --on counter --reads tests
    """,
)
async def wait(
    invocation: Invocation,
    condition: Annotated[
        str,
        typer.Argument(
            metavar="CEL", help="What must hold, in CEL over entry, board, bind and now."
        ),
    ],
    *,
    on: Annotated[str, typer.Option(help="Which entries to look at.", metavar="PATTERN")] = "**",
    reads: Annotated[
        list[str] | None,
        typer.Option(
            help="Further entries that the condition looks at, as board[KEY]; may be given again.",
            metavar="PATTERN",
        ),
    ] = None,
    kind: KindChoice = Kind.NOTE,
    patience: Patience = None,
) -> None:
    """Wait until a condition holds for an entry, then print its key.

    The condition is tried on the newest state and on every revision after it, so nothing is missed.
    """
    async with invocation.board() as board:
        try:
            met = await board.wait(condition, on=on, reads=reads or (), timeout=patience, kind=kind)
        except TimeoutError:
            of_kind = "" if kind is Kind.NOTE else f" --kind {kind}"
            raise TimedOut(
                f"The condition did not hold within {spelt(patience or timedelta())}.",
                hint=f"See why: lavagna try --on {quote(on)} --when {quote(condition)}{of_kind}",
            ) from None
    invocation.screen.done(documents.of(met), bare=met.key, remark=values.printable(met.key))
