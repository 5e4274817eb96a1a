"""activations: the work that triggers fired, and what became of it."""

from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from lavagna import Activation, ActivationState
from lavagna_cli import documents, moments, values
from lavagna_cli.choices import one_of
from lavagna_cli.command import Scope, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.layout import Cells, Column
from lavagna_cli.listing import Listing, first
from lavagna_cli.moments import moment
from lavagna_cli.screen import Screen

app = typer.Typer(no_args_is_help=True)

Id = Annotated[str, typer.Argument(metavar="ACTIVATION", help="The activation's id.")]

_STATE_STYLES = {
    ActivationState.WAITING: "yellow",
    ActivationState.HELD: "yellow",
    ActivationState.LEASED: "cyan",
    ActivationState.COMPLETED: "green",
    ActivationState.DEAD: "bold red",
    ActivationState.OVERRUN: "red",
}


@command(
    app,
    name="list",
    example="""
    lavagna activations list --state waiting --state leased
    lavagna activations list --trigger programmer.build --state dead -o json
    """,
)
async def list_(
    invocation: Invocation,
    *,
    state: Annotated[
        list[ActivationState] | None,
        one_of(ActivationState, explained="Only in this state; may be given again."),
    ] = None,
    trigger: Annotated[str, typer.Option(help="Only of this trigger.", metavar="TRIGGER")] = "",
    limit: Annotated[
        int, typer.Option(help="At most this many; 0: all.", metavar="COUNT", min=0)
    ] = 100,
) -> None:
    """List activations, the newest first."""
    async with invocation.board() as board:
        found = board.activations.list(
            states=state or (), trigger_id=trigger, space=invocation.space
        )
        await _ACTIVATIONS.show(invocation.screen, first(found, limit or None))


@command(app, scope=Scope.BOARD, example="lavagna activations get 01J9Z")
async def get(invocation: Invocation, activation_id: Id) -> None:
    """Show an activation."""
    async with invocation.board() as board:
        _show(invocation.screen, await board.activations.get(activation_id))


@command(
    app,
    scope=Scope.BOARD,
    example="""
    lavagna activations hold 01J9Z
    lavagna activations hold 01J9Z --until 2030-01-01T09:00
    """,
)
async def hold(
    invocation: Invocation,
    activation_id: Id,
    *,
    until: Annotated[
        datetime | None,
        typer.Option(
            help="Until when; until it is released if left out.", parser=moment, metavar="TIME"
        ),
    ] = None,
) -> None:
    """Hold a waiting activation back from being offered."""
    async with invocation.board() as board:
        _show(invocation.screen, await board.activations.hold(activation_id, until=until))


@command(app, scope=Scope.BOARD, example="lavagna activations release 01J9Z")
async def release(invocation: Invocation, activation_id: Id) -> None:
    """Let go an activation that is held back."""
    async with invocation.board() as board:
        released = await board.activations.release(activation_id=activation_id)
    _show(invocation.screen, released)


@command(app, scope=Scope.BOARD, example="lavagna activations cancel 01J9Z --reason 'not needed'")
async def cancel(
    invocation: Invocation,
    activation_id: Id,
    *,
    reason: Annotated[str, typer.Option(help="Why, for people.", metavar="TEXT")] = "",
) -> None:
    """End an activation without a result; whoever works on it can write no more for it."""
    async with invocation.board() as board:
        _show(invocation.screen, await board.activations.cancel(activation_id, reason))


@command(app, scope=Scope.BOARD, example="lavagna activations replay 01J9Z")
async def replay(invocation: Invocation, activation_id: Id) -> None:
    """Offer an ended activation again, with its attempts counted anew."""
    async with invocation.board() as board:
        _show(invocation.screen, await board.activations.replay(activation_id))


def _row(activation: Activation) -> Cells:
    return (
        activation.id,
        Text(activation.state, _STATE_STYLES.get(activation.state, "dim")),
        activation.trigger_id,
        values.printable(activation.key),
        str(activation.rating),
        f"{activation.attempt}/{activation.attempts_max}",
        activation.holder,
        moments.shown(activation.fired_at),
        values.printable(activation.reason),
    )


_ACTIVATIONS = Listing(
    "activations",
    (
        Column("ACTIVATION", "bold", folds=True),
        Column("STATE"),
        Column("TRIGGER"),
        Column("KEY"),
        Column("RATING", "cyan", right=True),
        Column("ATTEMPT", right=True),
        Column("HOLDER", "magenta"),
        Column("FIRED", "dim"),
        Column("REASON", fills=True),
    ),
    _row,
    nothing="There is no activation.",
)


def _show(screen: Screen, activation: Activation) -> None:
    bound = " ".join(f"{name}={value}" for name, value in activation.bind.items())
    screen.properties(
        documents.of(activation),
        {
            "activation": activation.id,
            "state": activation.state.value,
            "trigger": activation.trigger_id,
            "key": values.printable(activation.key),
            "bound": values.printable(bound),
            "rating": str(activation.rating),
            "fired": f"{moments.shown(activation.fired_at)}, revision {activation.fired_revision}",
            "due": moments.shown(activation.slot_at) + (", late" if activation.late else ""),
            "attempt": f"{activation.attempt} of {activation.attempts_max}",
            "holder": activation.holder,
            "lease ends": moments.shown(activation.lease_expires_at),
            "not before": moments.shown(activation.not_before),
            "because of": activation.parent_id,
            "reason": values.printable(activation.reason),
            "finished": moments.shown(activation.finished_at),
        },
    )
