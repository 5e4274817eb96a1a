"""Files that a command makes: there when they are whole, and never over another unasked."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import typer

from lavagna_cli.failures import NotAllowed


@contextmanager
def made(file: Path, *, overwrite: bool) -> Generator[Path]:
    """A path beside the file to write to; it becomes the file when the block ends well.

    Raises:
        typer.BadParameter: Nothing can be written there.
        NotAllowed: The file exists, and `overwrite` is not asked for.
        OSError: Writing failed; it names the file that the user named.
    """
    _check(file, overwrite=overwrite)
    target = file.resolve()  # what a link leads to is replaced, not the link
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        yield unfinished
        unfinished.replace(target)
    except OSError as error:
        if error.filename in {None, str(unfinished)}:
            raise OSError(error.errno, error.strerror, str(file)) from None
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def _check(file: Path, *, overwrite: bool) -> None:
    if file.is_dir():
        raise typer.BadParameter(f"Cannot write {file}: it is a directory.")
    if not file.parent.is_dir():
        raise typer.BadParameter(f"Cannot write {file}: there is no directory {file.parent}.")
    if file.exists() and not overwrite:
        raise NotAllowed(
            f"{file} exists already.", hint="Choose another name, or replace it with --overwrite."
        )
