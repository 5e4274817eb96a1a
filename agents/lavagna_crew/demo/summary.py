"""The summary: what was built, how its tests came out, and what it took."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lavagna import ActivationState, Board
from lavagna_crew import keys
from lavagna_crew.demo.delivery import Program
from lavagna_crew.demo.scene import Scene
from lavagna_crew.demo.story import hours
from lavagna_crew.sandbox.suites import SuiteRun

LOST = (ActivationState.DEAD, ActivationState.OVERRUN, ActivationState.EXPIRED)
"""How activations end that did not do what they were fired for."""


async def why_stuck(board: Board) -> list[str]:
    """What keeps a crew from going on: work that was given up, conditions that cannot be evaluated."""
    lost = [
        f"{one.trigger_id} {one.key}: {one.reason}"
        async for one in board.activations.list(states=LOST)
    ]
    broken = [
        f"{one.id}: {one.statistics.last_error}"
        async for one in board.triggers.list()
        if one.statistics.errors
    ]
    return [*lost, *broken]


async def summary(
    board: Board, scene: Scene, program: Program, run: SuiteRun, folder: Path
) -> list[str]:
    """The lines to end with."""
    states = Counter([one.state async for one in board.activations.list()])
    verdict = scene.verdict
    said = verdict["reason"] if verdict else "the CEO said nothing"
    word = "Accepted" if verdict and verdict["accepted"] else "Not accepted"
    return [
        f"{word}: {said}",
        *_built(scene, program, folder),
        *scene.agreement.polls_told,
        *await _effort(board, scene),
        f"Tests:  {run.passed} passed, {len(run.failures)} failed, run once more in {folder}",
        f"Work:   {_work(scene)}",
        f"Board:  {scene.revision} commits, {states.total()} activations "
        f"({', '.join(f'{count} {state.value}' for state, count in sorted(states.items()))})",
        f"Model:  {await _spent(board)}",
        f"Time:   {scene.seconds:.1f} s",
        f"Try it: cd {folder} && python -m unittest",
    ]


def _built(scene: Scene, program: Program, folder: Path) -> Iterator[str]:
    title = scene.newest.get("goal", {}).get("title", "nothing")
    yield f"Built:  {title}, {len(program.files)} files and {len(program.tests)} of tests, in {folder}"
    for name, text in sorted(program.all.items()):
        yield f"        {name:<28} {len(text.splitlines()):>4} lines"


async def _effort(board: Board, scene: Scene) -> list[str]:
    """The estimate, and what went into it, as the server explains it."""
    if scene.agreement.estimate is None:
        return []
    explanation = await board.explain(keys.ESTIMATE)
    said = ", ".join(
        f"{one.agent} {one.claim.value:g} (weighs {one.weight:g})"
        for one in explanation.contributions
        if one.claim is not None
    )
    return [
        f"Effort: {hours(scene.agreement.estimate)}, {scene.agreement.spread}, by the rule "
        f"{explanation.rule}",
        f"        {said}",
    ]


def _work(scene: Scene) -> str:
    attempts = [
        value["attempt"] for key, value in scene.newest.items() if key.startswith("submissions/")
    ]
    work = f"{len(attempts)} tasks in {sum(attempts)} attempts"
    if scene.failed_runs:
        runs = "run of tests" if scene.failed_runs == 1 else "runs of tests"
        work += f"; {scene.failed_runs} {runs} failed on the way"
    return work


async def _spent(board: Board) -> str:
    names, calls, prompt, completion, dollars = set[str](), 0, 0, 0, 0.0
    priced = True
    async for entry in board.entries("usage/**"):
        usage = entry.value
        names.add(usage["model"])
        calls += usage["calls"]
        prompt += usage["prompt_tokens"]
        completion += usage["completion_tokens"]
        priced = priced and usage["dollars"] is not None
        dollars += usage["dollars"] or 0.0
    cost = f", ${dollars:.4f}" if priced and calls else ""
    tokens = f"{prompt:,} prompt and {completion:,} completion tokens in {calls} calls{cost}"
    return f"{', '.join(sorted(names)) or 'none'}; {tokens}"
