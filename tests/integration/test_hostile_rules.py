"""Rules written to hurt: each gets an answer, and the process that answers lives on with bounded memory."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from tests.integration import hostile_rules

HANG_SECONDS = 120


async def answers(which: str) -> dict[str, str]:
    """What each rule came to, in a process of its own."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        hostile_rules.__name__,
        which,
        stdout=PIPE,
        stderr=PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        output, errors = await asyncio.wait_for(child.communicate(), HANG_SECONDS)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    assert (child.returncode, errors.decode()) == (0, "")
    return dict(json.loads(line) for line in output.splitlines())


async def test_hostile_conditions_are_refused_or_come_to_an_outcome() -> None:
    became = await answers("conditions")
    assert became.keys() == hostile_rules.CONDITIONS.keys()
    assert (
        became["a pattern out of a value"]
        == "refused: the pattern of matches must be a literal string"
    )
    assert (
        became["search in each round"]
        == "error: it may take more than 10000000 steps over values of this size"
    )
    assert became["a long list"] == "error: Iteration budget exceeded"
    assert became["a pattern that backtracks"] == "value: False"
    assert all(answer.startswith(("refused: ", "error: ", "value: ")) for answer in became.values())


async def test_hostile_schemas_are_refused_or_come_to_a_verdict() -> None:
    became = await answers("schemas")
    assert became.keys() == hostile_rules.SCHEMAS.keys()
    assert "nothing is fetched" in became["a remote reference"]
    assert "nothing is fetched" in became["a file"]
    assert became["all different"] == "valid"
    assert became["a pattern that backtracks"] == 'fault: : the value does not match "(a+)+$b"'
    assert all(answer.startswith(("refused: ", "fault: ", "valid")) for answer in became.values())
