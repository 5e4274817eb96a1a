"""try: what a trigger would do, without doing it."""

from typing import Annotated

import typer
from rich.text import Text

from lavagna import Evaluation, Trial, Trigger, Verdict
from lavagna_cli import documents, triggerspecs, values
from lavagna_cli.arguments import At
from lavagna_cli.command import COORDINATION, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.layout import Column
from lavagna_cli.screen import Rows
from lavagna_cli.triggerspecs import Changes, Kinds, On, Rating, Reads, When

app = typer.Typer()

_VERDICT_STYLES = {Verdict.TRUE: "green", Verdict.FALSE: "yellow", Verdict.ERROR: "red"}


@command(
    app,
    name="try",
    panel=COORDINATION,
    example="""
    lavagna try programmer.build
    lavagna try --on 'tasks/{task}' --when "entry.value.status == 'ready'" --at 12
    """,
)
async def try_(
    invocation: Invocation,
    trigger_id: Annotated[
        str | None,
        typer.Argument(metavar="TRIGGER", help="A trigger that is set; else say one by options."),
    ] = None,
    *,
    on: On = None,
    when: When = "",
    rating: Rating = "",
    reads: Reads = None,
    change: Changes = None,
    kind: Kinds = None,
    key: Annotated[str, typer.Option(help="Look at this key alone.", metavar="KEY")] = "",
    at: At = None,
) -> None:
    """Say whether a trigger would fire, now or at a revision, and why not; changes nothing."""
    if (trigger_id is None) == (on is None):
        raise typer.BadParameter("Name a trigger that is set, or say one with --on and --when.")
    subject = trigger_id or Trigger(
        id="try",
        on=triggerspecs.sources(on, change, kind),
        reads=reads or (),
        when=when,
        rating=rating,
        space=invocation.space,
    )
    async with invocation.board() as board:
        trial = await board.triggers.try_(subject, at=at, key=key)
    screen = invocation.screen
    screen.rows(documents.of(trial), _listed(trial))
    screen.remark(
        f"At revision {trial.revision} it would {'' if trial.would_fire else 'not '}fire."
    )


def _listed(trial: Trial) -> Rows:
    columns = [
        Column("KEY", "bold", folds=True),
        Column("VERDICT"),
        Column("RATING", "cyan", right=True),
        Column("BOUND"),
        Column("WHY", fills=True),
    ]
    return Rows(columns, [_row(each) for each in trial.evaluations], nothing="No entry matches.")


def _row(evaluation: Evaluation) -> tuple[str | Text, ...]:
    bound = " ".join(f"{name}={value}" for name, value in evaluation.bind.items())
    return (
        values.printable(evaluation.key),
        Text(evaluation.verdict, _VERDICT_STYLES.get(evaluation.verdict, "")),
        str(evaluation.rating),
        values.printable(bound),
        values.printable(evaluation.reason),
    )
