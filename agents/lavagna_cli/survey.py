"""Reads an export through before the first commit, so that a bad line is found in time."""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import typer

from lavagna_cli.exportlines import Header
from lavagna_cli.importlines import Line, read_header, read_lines
from lavagna_cli.progress import Report
from lavagna_cli.replay import displaces_a_source


@dataclass(slots=True)
class Survey:
    """What is known of an export once it has been read through."""

    header: Header
    digest: str = ""
    """Of the whole file."""
    lines: int = 0
    """Between the header and the end."""
    last_lines: dict[str, int] = field(default_factory=dict[str, int])
    """The line with the last version of each key."""
    displaced: int = 0
    """How many versions lose their last source to the origin."""
    left_out: int = 0
    """How many versions are of kinds that only a server makes."""


@contextmanager
def opened(file: Path) -> Generator[BinaryIO]:
    """The file, ready to be read from the start twice; `-` is standard input, set aside first.

    Raises:
        typer.BadParameter: It cannot be read.
    """
    if str(file) == "-":
        with tempfile.TemporaryFile() as set_aside:
            shutil.copyfileobj(sys.stdin.buffer, set_aside)
            yield set_aside
        return
    try:
        source = file.open("rb")
    except OSError as error:
        raise typer.BadParameter(f"Cannot read {file}: {error.strerror}.") from None
    with source:
        yield source


def surveyed(source: BinaryIO, report: Report) -> Survey:
    """Reads the whole export and checks every line of it.

    Raises:
        BadInput: A line is malformed, or the end is missing.
    """
    digest = hashlib.sha256()

    def lines() -> Iterator[bytes]:
        for line in source:
            digest.update(line)
            yield line

    source.seek(0)
    reading = lines()
    survey = Survey(read_header(next(reading, b"")))
    for line in read_lines(reading):
        survey.lines += 1
        survey.last_lines.update((entry.key, line.number) for entry in line.entries)
        survey.left_out += line.left_out
        survey.displaced += sum(displaces_a_source(entry) for entry in line.entries)
        report(line.number)
    survey.digest = digest.hexdigest()
    return survey


def lines_again(source: BinaryIO) -> Iterator[Line]:
    """The lines of an export that has been surveyed."""
    source.seek(0)
    reading = iter(source)
    next(reading)
    return read_lines(reading)
