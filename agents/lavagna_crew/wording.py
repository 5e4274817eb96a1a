"""Wording: what prompts are made of."""

from collections.abc import Iterable, Mapping, Sequence

from lavagna import Ballot
from lavagna_crew.records import Design, FailedTest, Goal, Task

HOUSE = (
    "You work in a crew that builds a small Python program together. The program runs on Python "
    "3.11 with nothing but the standard library. All of its files lie in one folder, and import "
    "one another by name. Write complete files: typed, with docstrings, readable, without "
    "placeholders."
)


def section(title: str, *lines: str) -> str:
    """A part of a prompt under a heading."""
    body = "\n".join(line for line in lines if line)
    return f"## {title}\n{body}"


def sections(*parts: str) -> str:
    """Parts of a prompt, one below the other."""
    return "\n\n".join(part for part in parts if part)


def goal(value: Goal) -> str:
    """The goal."""
    return section(f"Goal: {value['title']}", value["statement"], *bullets(value["acceptance"]))


def task(name: str, value: Task) -> str:
    """A task."""
    depends = ", ".join(value["depends_on"]) or "nothing"
    return section(
        f"Task {name}: {value['title']}",
        value["brief"],
        f"Files: {', '.join(value['files'])}. Builds on: {depends}.",
    )


def design(title: str, value: Design) -> str:
    """A design with its tasks."""
    tasks = (task(name, value["parts"][name]) for name in value["tasks"])
    return sections(section(title, value["summary"]), *tasks)


def votes(title: str, ballots: Iterable[Ballot]) -> str:
    """Who voted how, and why."""
    said = (f"{one.agent}: {one.choice.value}: {one.reason or 'no reason'}" for one in ballots)
    return section(title, *bullets(said))


def files(title: str, contents: Mapping[str, str]) -> str:
    """Files with what is in them; nothing when there are none."""
    if not contents:
        return ""
    blocks = [f"### {name}\n```python\n{text}```" for name, text in sorted(contents.items())]
    return section(title, *blocks)


def failures(failed: Sequence[FailedTest]) -> str:
    """Tests that failed."""
    return section(
        "Failed tests", *(f"### {one['test']}\n```\n{one['text']}\n```" for one in failed)
    )


def bullets(lines: Iterable[str]) -> list[str]:
    """Lines as a list."""
    return [f"- {line}" for line in lines]
