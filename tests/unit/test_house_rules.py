"""The rules of the house that no linter knows: names that say nothing, and sizes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
VAGUE = re.compile(r"(^|_)(utils?|helpers?|common|base|managers?|handlers?|services?|data|infos?)$")
MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50


def modules() -> Iterator[Path]:
    """Every Python module that a person wrote."""
    for root in ("server", "agents", "tests", "protos"):
        for path in sorted((REPOSITORY / root).rglob("*.py")):
            if not path.stem.endswith(("_pb2", "_pb2_grpc")):
                yield path


def where(path: Path) -> str:
    """The path as a person would name it."""
    return path.relative_to(REPOSITORY).as_posix()


def test_every_module_and_package_is_named_for_what_it_holds() -> None:
    names = {part for path in modules() for part in Path(where(path)).with_suffix("").parts}

    assert not sorted(name for name in names if VAGUE.search(name))


def test_every_module_can_be_read_in_one_sitting() -> None:
    lines = {where(path): len(path.read_text().splitlines()) for path in modules()}

    assert not {name: count for name, count in lines.items() if count > MODULE_LINES_MAX}


def test_every_function_fits_on_a_screen() -> None:
    long = {
        f"{where(path)}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES_MAX
    }

    assert not long
