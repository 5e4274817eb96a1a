"""A model that plays recorded replies, so that a crew can be shown and tested without one."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeGuard

from lavagna_crew.models.errors import InvalidReply, NoScript
from lavagna_crew.models.port import Prompt, Reply
from lavagna_crew.models.shapes import Invalid, is_object

CHARACTERS_PER_SECOND = 2_500
"""How fast a reply is played at pace 1: about as fast as a quick model writes."""

THINKING_SECONDS = 0.4
"""How long the player seems to think before it writes, at pace 1."""

SECONDS_MAX = 1.6
"""How long playing one reply takes at most, at pace 1."""


@dataclass(frozen=True, slots=True)
class Script:
    """The recorded replies for one task."""

    name: str
    task: str
    """The task, in the words of the one who sets it."""
    replies: Mapping[str, Mapping[str, Any]]
    """The replies, by the turn of the prompt."""
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """How long single turns take at pace 1, where the length of the reply does not tell."""


class ScriptedModel:
    """Plays a script. It thinks nothing, spends no tokens, and gives the same reply every time."""

    name = "scripted"

    def __init__(self, script: Script, *, pace: float = 1.0) -> None:
        self._script = script
        self._pace = pace

    async def reply(self, prompt: Prompt) -> Reply:
        """The recorded reply for the prompt's turn.

        Raises:
            NoScript: There is none.
            InvalidReply: The recording has not the shape asked for.
        """
        value = self._script.replies.get(prompt.turn)
        if value is None:
            raise NoScript(self._script.name, prompt.turn)
        outcome = prompt.shape.judge(value)
        if isinstance(outcome, Invalid):
            raise InvalidReply(self.name, shape=prompt.shape.name, complaints=outcome.complaints)
        seconds = self._script.seconds.get(prompt.turn, _seconds(value))
        await asyncio.sleep(self._pace * seconds)
        return Reply(value, self.name)

    async def close(self) -> None:
        """Holds nothing that could be closed."""


@cache
def scripts() -> Sequence[Script]:
    """Every script of the package, by name."""
    folder = files("lavagna_crew") / "scripts"
    recordings = sorted(
        (path for path in folder.iterdir() if path.name.endswith(".json")),
        key=lambda path: path.name,
    )
    return tuple(read(path.read_text(encoding="utf-8")) for path in recordings)


def script_for(task: str) -> Script | None:
    """The script that a name or the words of its task ask for, spacing and case aside."""
    wanted = _plain(task)
    return next((one for one in scripts() if wanted in {one.name, _plain(one.task)}), None)


def read(text: str) -> Script:
    """A script from its file, in which long texts stand as `{"lines": [...]}` to be readable."""
    recording = json.loads(text)
    return Script(
        recording["name"],
        recording["task"],
        _whole(recording["replies"]),
        recording.get("seconds", {}),
    )


def _whole(value: Any) -> Any:
    if is_object(value):
        if set(value) == {"lines"}:
            return "".join(f"{line}\n" for line in value["lines"])
        return {name: _whole(part) for name, part in value.items()}
    if _is_list(value):
        return [_whole(part) for part in value]
    return value


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _seconds(value: Mapping[str, Any]) -> float:
    characters = len(json.dumps(value))
    return min(SECONDS_MAX, THINKING_SECONDS + characters / CHARACTERS_PER_SECOND)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
