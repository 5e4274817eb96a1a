"""Progress bars on standard error, for work that takes long; silent where nobody watches."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from lavagna_cli.screen import Screen

Report = Callable[[int], None]
"""Takes how far the work has come, counted from the beginning."""


@contextmanager
def bar(screen: Screen, title: str, *, total: int | None) -> Generator[Report]:
    """A bar that goes from 0 to `total`; None when nobody knows how far."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=screen.err,
        transient=True,
        disable=not screen.err.is_terminal,
    ) as progress:
        task = progress.add_task(title, total=total)

        def report(completed: int) -> None:
            progress.update(task, completed=completed)

        yield report
