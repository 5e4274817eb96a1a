"""The wheel: it installs beside every protobuf that agents' frameworks ask for, and runs there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PARTS = ("pyproject.toml", "README.md", "LICENSE", "protos", "agents", "server")

PROBE = """
import importlib.resources
import sys
import google.protobuf
import lavagna
from lavagna.changes import change_message
from lavagna.entries import entry_of
from lavagna.v1 import entries_pb2

written = change_message(lavagna.Put("plan/1", {"a": [1, 2]}, tags=["x"], ttl=1.5))
read = entries_pb2.Change.FromString(written.SerializeToString())
assert read == written
entry = entry_of(entries_pb2.Entry(key=read.key, version=1, value=read.put.value, confidence=0.5))
assert entry.value == {"a": [1, 2]}
extra = [name for name in sys.modules if name.startswith(("lavagna_server", "pydantic", "sqlmodel"))]
assert not extra, extra
assert importlib.resources.files("lavagna").joinpath("py.typed").is_file()
print(google.protobuf.__version__)
"""


def run(*command: str | Path) -> str:
    """What the command prints; its errors when it fails."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def uv() -> str:
    """The uv that the project is set up with."""
    found = shutil.which(
        "uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    assert found is not None, "make setup brings uv"
    return found


@pytest.fixture(scope="module")
def wheel(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: building compiles the contract into the source tree."""
    source = tmp_path_factory.mktemp("source")
    for part in PARTS:
        if (REPOSITORY / part).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*_pb2*")
            shutil.copytree(REPOSITORY / part, source / part, ignore=ignored)
        else:
            shutil.copy(REPOSITORY / part, source / part)
    run(uv, "build", "--quiet", "--wheel", "--out-dir", source / "dist", source)
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.mark.slow
@pytest.mark.parametrize("protobuf", ["5.29", "6.33", "7"])
def test_the_wheel_runs_beside_protobuf(
    uv: str, wheel: Path, tmp_path: Path, protobuf: str
) -> None:
    home = tmp_path / "venv"
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(uv, "venv", "--quiet", "--python", sys.executable, home)
    run(uv, "pip", "install", "--quiet", "--python", python, wheel, f"protobuf=={protobuf}.*")
    version = run(python, "-W", "error", "-c", PROBE)
    assert version.startswith(protobuf)
