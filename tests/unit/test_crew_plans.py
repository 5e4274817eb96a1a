"""What the crew plans: which designs are refused, and what builds on what."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lavagna_crew.models.shapes import Invalid, Valid
from lavagna_crew.program import Plan, suite_file
from lavagna_crew.records import Design, Goal, Task
from lavagna_crew.roles.cto import DESIGN, faults_of


def reply(*tasks: tuple[str, Sequence[str], Sequence[str]]) -> Mapping[str, Any]:
    """A CTO's reply with these tasks: name, files, dependencies."""
    listed = [
        {
            "name": name,
            "title": name,
            "brief": "do it",
            "files": list(files),
            "depends_on": list(depends_on),
            "priority": 1,
        }
        for name, files, depends_on in tasks
    ]
    return {"summary": "parts", "tasks": listed, "hours": 2, "confidence": 0.5}


def plan_of(**depends_on: Sequence[str]) -> Plan:
    """A plan whose tasks depend on one another like this."""
    tasks = {
        name: Task(title=name, brief="", files=[f"{name}.py"], depends_on=list(others), priority=1)
        for name, others in depends_on.items()
    }
    goal = Goal(title="", statement="", acceptance=[])
    design = Design(edition=1, summary="", tasks=list(tasks), parts=tasks)
    return Plan(goal, design, tasks)


def test_a_sound_design_has_no_faults() -> None:
    design = reply(("a", ["a.py"], []), ("b", ["b.py", "c.py"], ["a"]))

    assert isinstance(DESIGN.with_rules(faults_of).judge(design), Valid)


@pytest.mark.parametrize(("name", "value"), [("hours", 0), ("hours", "two"), ("confidence", 1.5)])
def test_an_estimate_that_is_none_is_refused(name: str, value: object) -> None:
    outcome = DESIGN.judge({**reply(("a", ["a.py"], [])), name: value})

    assert isinstance(outcome, Invalid)
    assert outcome.complaints[0].startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("tasks", "fault"),
    [
        ([("a", ["a.py"], ()), ("a", ["b.py"], ())], "two tasks are called 'a'"),
        ([("a", ["a.py"], ()), ("b", ["a.py"], ())], "two tasks write 'a.py'"),
        ([("a", ["test_a.py"], ())], "'test_a.py' is a test"),
        ([("a", ["a.py"], ["b"])], "'a' builds on 'b', which is no task"),
        ([("a", ["a.py"], ["b"]), ("b", ["b.py"], ["a"])], "in a circle"),
        ([("a", ["a.py"], ["a"])], "in a circle"),
    ],
    ids=["name", "file", "test", "unknown", "circle", "itself"],
)
def test_a_design_that_cannot_be_built_is_sent_back_with_the_reason(
    tasks: Sequence[tuple[str, Sequence[str], Sequence[str]]], fault: str
) -> None:
    assert fault in " ".join(faults_of(reply(*tasks)))


def test_a_brief_that_is_a_book_is_sent_back() -> None:
    design = reply(("a", ["a.py"], ()))
    design["tasks"][0]["brief"] = "word " * 5_000

    assert list(faults_of(design)) == ["the brief of 'a' is longer than 8000 characters"]


@pytest.mark.parametrize("file", ["../a.py", "a/b.py", "/etc/a.py", "a.txt", "A.py", "a.py\n"])
def test_a_file_outside_the_programs_folder_is_refused(file: str) -> None:
    outcome = DESIGN.judge(reply(("a", [file], [])))

    assert isinstance(outcome, Invalid)
    assert "tasks/0/files/0" in outcome.complaints[0]


def test_foundations_are_all_that_a_task_builds_on_deepest_first() -> None:
    plan = plan_of(top=["left", "right"], left=["base"], right=["base"], base=[], other=[])

    assert plan.foundations("top") == ["base", "left", "right"]
    assert plan.foundations("base") == []


def test_code_lies_below_its_task() -> None:
    plan = plan_of(a=[], b=["a"])

    assert plan.code_keys(["a", "b"]) == ["code/a/a.py", "code/b/b.py"]


def test_each_task_has_one_test_file() -> None:
    assert suite_file("lru-cache") == "test_lru_cache.py"
