"""triggers: the standing preconditions that wake agents."""

from typing import Annotated

import typer

from lavagna import Mode, Source, Trigger
from lavagna_cli import documents, moments, triggerspecs, values
from lavagna_cli.arguments import Yes, confirmed
from lavagna_cli.command import Scope, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.layout import Cells, Column
from lavagna_cli.listing import Listing
from lavagna_cli.screen import Screen
from lavagna_cli.triggerspecs import (
    Changes,
    Cron,
    DueAt,
    Kinds,
    LimitPairs,
    ModeChoice,
    On,
    Rating,
    Reads,
    TimeZone,
    When,
)

app = typer.Typer(no_args_is_help=True)

Id = Annotated[str, typer.Argument(metavar="TRIGGER", help="The trigger's id.")]


@command(app, name="list", scope=Scope.BOARD, example="lavagna triggers list")
async def list_(invocation: Invocation) -> None:
    """List the triggers that you may see, by id."""
    async with invocation.board() as board:
        await _TRIGGERS.show(invocation.screen, board.triggers.list())


@command(app, scope=Scope.BOARD, example="lavagna triggers get programmer.build")
async def get(invocation: Invocation, trigger_id: Id) -> None:
    """Show a trigger and what became of its activations."""
    async with invocation.board() as board:
        trigger = await board.triggers.get(trigger_id)
    _show(invocation.screen, trigger)


Team = Annotated[
    str,
    typer.Option(
        help="The team whose members take its work; you alone if left out.", metavar="TEAM"
    ),
]


@command(
    app,
    name="set",
    example="""
    lavagna triggers set programmer.build --on 'tasks/{task}' --when "entry.value.status == 'ready'"
    lavagna triggers set reviewer.vote --on 'design/**' --change proposed --mode every
    lavagna triggers set reviewer.nightly --cron '0 2 * * *' --time-zone Europe/Rome --limit lease=5m
    """,
)
async def set_(
    invocation: Invocation,
    trigger_id: Id,
    *,
    on: On = None,
    when: When = "",
    rating: Rating = "",
    reads: Reads = None,
    change: Changes = None,
    kind: Kinds = None,
    mode: ModeChoice = None,
    cron: Cron = "",
    due_at: DueAt = None,
    time_zone: TimeZone = "",
    limit: LimitPairs = None,
    team: Team = "",
    own_writes: Annotated[
        bool, typer.Option("--own-writes", help="Your own writes wake it too.")
    ] = False,
    expect: Annotated[
        int,
        typer.Option(
            help="Only if the trigger is still at this version.",
            metavar="VERSION",
            show_default=False,
        ),
    ] = 0,
) -> None:
    """Create or replace a trigger; setting the same again changes nothing."""
    chosen_mode, schedule = triggerspecs.timing(mode, cron=cron, due_at=due_at, zone=time_zone)
    trigger = Trigger(
        id=trigger_id,
        on=triggerspecs.sources(on, change, kind),
        reads=reads or (),
        when=when,
        rating=rating,
        mode=chosen_mode,
        schedule=schedule,
        limits=triggerspecs.limits(limit),
        space=invocation.space,
        team=team,
        own_writes=own_writes,
        version=expect,
    )
    async with invocation.board() as board:
        _show(invocation.screen, await board.triggers.set(trigger))


@command(app, scope=Scope.BOARD, example="lavagna triggers suspend programmer.build")
async def suspend(invocation: Invocation, trigger_id: Id) -> None:
    """Stop a trigger from firing; what it fired already stays."""
    async with invocation.board() as board:
        _show(invocation.screen, await board.triggers.suspend(trigger_id))


@command(app, scope=Scope.BOARD, example="lavagna triggers resume programmer.build")
async def resume(invocation: Invocation, trigger_id: Id) -> None:
    """Let a trigger fire again, at once for what holds by now."""
    async with invocation.board() as board:
        _show(invocation.screen, await board.triggers.resume(trigger_id))


@command(app, scope=Scope.BOARD, example="lavagna triggers delete programmer.build --yes")
async def delete(invocation: Invocation, trigger_id: Id, *, yes: Yes = False) -> None:
    """Delete a trigger and cancel what waits of it."""
    confirmed(f"Delete trigger {trigger_id} and cancel what waits of it?", yes=yes)
    async with invocation.board() as board:
        await board.triggers.delete(trigger_id)
    invocation.screen.done({"deleted": trigger_id}, bare=trigger_id, remark=f"Deleted {trigger_id}")


def _row(trigger: Trigger) -> Cells:
    return (
        trigger.id,
        f"{trigger.agent} (team {trigger.team})" if trigger.team else trigger.agent,
        "suspended" if trigger.suspended else trigger.mode.value,
        str(trigger.statistics.fired),
        str(trigger.statistics.completed),
        str(trigger.statistics.dead),
        _on(trigger),
        values.printable(trigger.when),
    )


_TRIGGERS = Listing(
    "triggers",
    (
        Column("TRIGGER", "bold", folds=True),
        Column("AGENT", "magenta"),
        Column("MODE"),
        Column("FIRED", right=True),
        Column("COMPLETED", right=True),
        Column("DEAD", "red", right=True),
        Column("ON"),
        Column("WHEN", fills=True),
    ),
    _row,
    nothing="There is no trigger.",
)


def _on(trigger: Trigger) -> str:
    patterns = (each.pattern if isinstance(each, Source) else each for each in trigger.on)
    return values.printable(" ".join(patterns)) or _times(trigger)


def _narrowed(trigger: Trigger) -> dict[str, str]:
    """Which kinds and changes alone wake it, where not all of its patterns' do."""
    sources = [each for each in trigger.on if isinstance(each, Source)]
    kinds = dict.fromkeys(kind.value for each in sources for kind in each.kinds)
    changes = dict.fromkeys(change.value for each in sources for change in each.changes)
    return {"kinds": " ".join(kinds), "changes": " ".join(changes)}


def _times(trigger: Trigger) -> str:
    schedule = trigger.schedule
    if schedule is None:
        return ""
    if schedule.cron:
        return f"{schedule.cron} {schedule.time_zone}".strip()
    return moments.shown(schedule.at)


def _show(screen: Screen, trigger: Trigger) -> None:
    statistics = trigger.statistics
    counted = ("fired", "completed", "failed", "obviated", "dead", "overrun", "errors")
    screen.properties(
        documents.of(trigger),
        {
            "trigger": trigger.id,
            "version": str(trigger.version),
            "agent": trigger.agent,
            "team": trigger.team,
            "mode": trigger.mode.value,
            "suspended": "yes" if trigger.suspended else "",
            "on": _on(trigger) if trigger.mode is not Mode.DUE else "",
            **_narrowed(trigger),
            "reads": values.printable(" ".join(trigger.reads)),
            "when": values.printable(trigger.when),
            "rating": values.printable(trigger.rating),
            "schedule": _times(trigger),
            "next due": moments.shown(trigger.next_due_at),
            "so far": ", ".join(f"{getattr(statistics, name)} {name}" for name in counted),
            "last fired": moments.shown(statistics.last_fired_at),
            "last error": values.printable(statistics.last_error),
        },
    )
