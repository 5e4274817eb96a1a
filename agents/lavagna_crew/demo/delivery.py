"""Delivery: takes the program off the board, and lays it down in a folder."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lavagna import Board
from lavagna_crew.sandbox.suites import SuiteRun, run_suite

LIST = ".lavagna-demo.json"
"""Names the files that a demonstration laid down, so that the next one may replace them."""


class FolderTaken(Exception):
    """The folder holds files that are not a demonstration's."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is not empty; name another folder with --out, or empty it")
        self.folder = folder


@dataclass(frozen=True, slots=True)
class Program:
    """What was built."""

    files: Mapping[str, str]
    tests: Mapping[str, str]

    @property
    def all(self) -> Mapping[str, str]:
        """Everything that runs."""
        return {**self.files, **self.tests}


def check_folder(folder: Path) -> None:
    """Makes sure that nothing of anybody's would be lost.

    Raises:
        FolderTaken: It would.
    """
    if not folder.exists():
        return
    if not folder.is_dir() or (any(folder.iterdir()) and not (folder / LIST).is_file()):
        raise FolderTaken(folder)


async def collected(board: Board) -> Program:
    """The program as it stands on the board."""
    files = {_name(entry.key): entry.value async for entry in board.entries("code/**")}
    tests = {_name(entry.key): entry.value async for entry in board.entries("tests/**")}
    return Program(files, tests)


async def delivered(
    program: Program, folder: Path, goal: Mapping[str, Any] | None, verdict: str
) -> SuiteRun:
    """Lays the program down, and runs its tests once more from what lies there."""
    _lay_down(folder, {**program.all, "README.md": _readme(program, goal, verdict)})
    return await run_suite(_read(folder, program.all))


def _lay_down(folder: Path, contents: Mapping[str, str]) -> None:
    _clear(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / LIST).write_text(json.dumps(sorted(contents), indent=1) + "\n", encoding="utf-8")


def _read(folder: Path, names: Iterable[str]) -> dict[str, str]:
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


def _clear(folder: Path) -> None:
    """Takes away what an earlier demonstration laid down, and nothing else."""
    if (folder / LIST).is_file():
        for name in json.loads((folder / LIST).read_text(encoding="utf-8")):
            (folder / Path(name).name).unlink(missing_ok=True)


def _readme(program: Program, goal: Mapping[str, Any] | None, verdict: str) -> str:
    title = goal["title"] if goal else "A program"
    lines = [f"# {title}", "", "Built by the demonstration crew of Lavagna.", ""]
    if goal:
        lines += [goal["statement"], "", *(f"* {point}" for point in goal["acceptance"]), ""]
    lines += [f"Verdict: {verdict}", "", "```sh", "python -m unittest", "```", ""]
    lines += [f"* `{name}`" for name in sorted(program.all)]
    return "\n".join([*lines, ""])


def _name(key: str) -> str:
    return key.rpartition("/")[2]
