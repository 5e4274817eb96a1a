"""The whole command line: the frame with every command in it."""

import typer

from lavagna_cli.command import CONSENSUS, COORDINATION, SERVER
from lavagna_cli.commands import (
    activations,
    agents,
    boards,
    claiming,
    demo,
    explaining,
    exporting,
    history,
    importing,
    proposals,
    reading,
    regions,
    serving,
    triggers,
    trying,
    upkeep,
    voting,
    watching,
    writing,
)
from lavagna_cli.frame import frame

_SINGLE = (
    serving,
    demo,
    writing,
    reading,
    history,
    watching,
    voting,
    claiming,
    explaining,
    trying,
    upkeep,
    exporting,
    importing,
)
_GROUPS = (
    ("proposals", proposals.app, CONSENSUS, "The writes that wait, or waited, for votes."),
    ("triggers", triggers.app, COORDINATION, "The standing preconditions that wake agents."),
    ("activations", activations.app, COORDINATION, "The work that triggers fired."),
    ("agents", agents.app, COORDINATION, "Who may act on a board."),
    ("regions", regions.app, COORDINATION, "Subtrees of a board with rules of their own."),
    ("boards", boards.app, SERVER, "The boards of a server."),
)


def _application() -> typer.Typer:
    app = frame()
    for module in _SINGLE:
        app.add_typer(module.app)
    for name, group, panel, about in _GROUPS:
        app.add_typer(group, name=name, help=about, rich_help_panel=panel)
    return app


app = _application()
"""The command line; calling it runs one."""
