"""Guarantees: which test files bear which promise's number, and README's table of them.

    python -m tests.guarantees

writes the links into the table anew. The words of the promises are README's own.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
README = REPOSITORY / "README.md"
PROMISES = [
    *(f"S{number}" for number in range(1, 9)),
    *(f"W{number}" for number in range(1, 10)),
    *(f"A{number}" for number in range(1, 10)),
    *(f"C{number}" for number in range(1, 6)),
]
"""What this version promises, in the table's order."""

_TABLE = re.compile(r"(?<=<!-- guarantees: )[^\n]*\n(.*?)(?=^## )", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^\| \*\*(\w+)\*\* \| ([^|\n]+) \| [^|\n]* \|$", re.MULTILINE)


def marked(marker: str) -> Mapping[str, set[str]]:
    """The test files that bear each number of a marker."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted((REPOSITORY / "tests").rglob("test_*.py")):
        for number in _numbers(path, marker):
            found[number].add(path.relative_to(REPOSITORY).as_posix())
    return found


def _numbers(path: Path, marker: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"pytest.mark.{marker}":
            (number,) = node.args
            assert isinstance(number, ast.Constant), f"{path}:{node.lineno} names no number"
            yield str(number.value)


def promised(readme: str) -> list[str]:
    """The numbers of the table's rows, as they come."""
    return [row[1] for row in _ROW.finditer(_table(readme))]


def linked(readme: str) -> str:
    """The same text, with every row of the table linked to the tests that bear its number."""
    proofs = marked("guarantee")
    table = _table(readme)
    return readme.replace(
        table,
        _ROW.sub(lambda row: f"| **{row[1]}** | {row[2]} | {_links(proofs[row[1]])} |", table),
    )


def _table(readme: str) -> str:
    found = _TABLE.search(readme)
    assert found is not None, "README has no table of guarantees"
    return found[1]


def _links(files: Set[str]) -> str:
    named = sorted(
        (Path(file).stem.removeprefix("test_").replace("_", " "), file) for file in files
    )
    return ", ".join(f"[{words}]({file})" for words, file in named)


if __name__ == "__main__":
    README.write_text(linked(README.read_text()))
