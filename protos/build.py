"""Compiles the wire contract into Python, for builds and for `make protos`.

Hatchling runs this file as a build hook, so `uv sync`, `pip install .` and
`python -m build` all produce the generated modules. None of them is committed;
wheels and sdists carry them, so a user never needs a protobuf compiler.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CONTRACT = Path("protos")
OUTPUT = Path("agents")
GENERATORS = {"python": "", "grpc_python": "", "mypy": "quiet:", "mypy_grpc": "quiet:"}


def compile_contract(root: Path) -> list[Path]:
    """Replaces the generated modules under `root` and returns their paths.

    A contract that does not compile leaves the modules as they were.
    """
    sources = sorted(str(path) for path in (root / CONTRACT).rglob("*.proto"))
    # protoc finds its mypy plugin on PATH, beside whichever Python is building.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with TemporaryDirectory() as fresh:
        outputs = [f"--{name}_out={options}{fresh}" for name, options in GENERATORS.items()]
        subprocess.run(
            [sys.executable, "-m", "grpc_tools.protoc", f"-I{root / CONTRACT}", *outputs, *sources],
            check=True,
            env={**os.environ, "PATH": path},
        )
        for stale in generated(root / OUTPUT):
            stale.unlink()
        shutil.copytree(fresh, root / OUTPUT, dirs_exist_ok=True)
    return generated(root / OUTPUT)


def generated(folder: Path) -> list[Path]:
    """Every generated module under `folder`."""
    patterns = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi")
    return sorted(path for pattern in patterns for path in folder.rglob(pattern))


class ContractHook(BuildHookInterface[Any]):
    """Compiles the contract before Hatchling chooses the files to ship."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        modules = compile_contract(root)
        build_data["artifacts"] += [path.relative_to(root).as_posix() for path in modules]


if __name__ == "__main__":
    compile_contract(Path(__file__).resolve().parent.parent)
