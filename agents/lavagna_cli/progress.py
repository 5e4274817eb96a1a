"""Progress bars on standard error, for work that takes long; silent where nobody watches."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from lavagna_cli.screen import Screen


class Report(Protocol):
    """Is told how far the work has come."""

    def __call__(self, completed: int, total: int | None = None, /) -> None:
        """Takes what is done, counted from the beginning, and what there is when that is news."""
        ...


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

        def report(completed: int, total: int | None = None, /) -> None:
            progress.update(task, completed=completed, total=total)

        yield report
