"""doctor, backup, restore: what an operator does with a server's data on its own machine."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich.text import Text

from lavagna_cli import documents, local, outfiles, progress, values
from lavagna_cli.arguments import DataDir, OverwriteFile
from lavagna_cli.command import SERVER, Scope, command
from lavagna_cli.exits import ExitCode
from lavagna_cli.invocation import Invocation
from lavagna_cli.layout import Column
from lavagna_cli.local import Finding
from lavagna_cli.screen import Rows

app = typer.Typer()


@command(
    app,
    panel=SERVER,
    scope=Scope.LOCAL,
    example="""
    lavagna doctor
    lavagna doctor --data-dir /var/lib/lavagna --repair
    """,
)
def doctor(
    invocation: Invocation,
    *,
    data_dir: DataDir = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Set right what can be, with the server stopped.")
    ] = False,
) -> None:
    """Look for drift between the log and what follows from it, stuck leases, bad tokens, clock trouble.

    Without --repair it changes nothing, and a server may run meanwhile.
    """
    where, screen = data_dir or local.data_dir(), invocation.screen
    with progress.bar(screen, "Verifying", total=None) as report:
        found = local.examined(where, repair=repair, report=report)
    is_healthy = all(finding.is_repaired for finding in found)
    screen.rows(
        {
            "data_dir": str(where),
            "is_healthy": is_healthy,
            "findings": [documents.of(each) for each in found],
        },
        _listed(found, where),
    )
    if not is_healthy:
        screen.flush()
        raise typer.Exit(ExitCode.UNHEALTHY)


def _listed(found: list[Finding], where: Path) -> Rows:
    columns = [Column("AREA", "bold"), Column("WHAT", wraps=True), Column("REMEDY", wraps=True)]
    rows = [
        (
            finding.area,
            values.printable(finding.what),
            Text("repaired", "green") if finding.is_repaired else Text(finding.remedy, "yellow"),
        )
        for finding in found
    ]
    return Rows(columns, rows, nothing=f"Nothing is wrong with {where}.")


@command(
    app,
    panel=SERVER,
    scope=Scope.LOCAL,
    example="""
    lavagna backup lavagna-monday.db
    lavagna backup /backups/today.db --data-dir /var/lib/lavagna
    """,
)
def backup(
    invocation: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the copy.")],
    *,
    data_dir: DataDir = None,
    overwrite: OverwriteFile = False,
) -> None:
    """Copy all boards to one file, as they are now; the server may run meanwhile."""
    where = data_dir or local.data_dir()
    with (
        outfiles.made(file, overwrite=overwrite) as unfinished,
        progress.bar(invocation.screen, "Copying", total=None) as report,
    ):
        local.backup(where, unfinished, report)
    invocation.screen.done(
        {"data_dir": str(where), "file": str(file)},
        bare=str(file),
        remark=f"Copied the boards of {where} to {file}",
    )


@command(
    app,
    panel=SERVER,
    scope=Scope.LOCAL,
    example="lavagna restore lavagna-monday.db --data-dir /var/lib/lavagna",
)
def restore(
    invocation: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `lavagna backup`.")],
    *,
    data_dir: DataDir = None,
) -> None:
    """Make a backup the boards of an empty directory, once it is verified.

    The boards begin a new epoch, so that nobody goes on with a token or a revision from after the
    backup.
    """
    where = data_dir or local.data_dir()
    with progress.bar(invocation.screen, "Verifying", total=None) as report:
        local.restore(file, where, report)
    invocation.screen.done(
        {"data_dir": str(where), "file": str(file)},
        bare=str(where),
        remark=f"Restored {file} to {where}; start it: lavagna serve --data-dir {quote(str(where))}",
    )
