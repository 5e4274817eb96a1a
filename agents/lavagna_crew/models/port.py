"""What the crew asks of a language model: one structured reply to one prompt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from lavagna_crew.models.shapes import Shape


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation so far."""

    author: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question to a model, and the shape that its answer must have."""

    turn: str
    """Where in the work this is, as `programmer/cache/2`; a script finds its reply by it."""
    role: str
    """Who the model is to be: the system message."""
    messages: tuple[Message, ...]
    shape: Shape


@dataclass(frozen=True, slots=True)
class Tokens:
    """What replies took, as the model counted it; zero where it did not say."""

    prompt: int = 0
    completion: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        """What both took together."""
        return Tokens(self.prompt + other.prompt, self.completion + other.completion)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that has the shape asked for."""

    value: Mapping[str, Any]
    model: str
    calls: int = 0
    """How often the model was called for it, repairs and retries counted."""
    tokens: Tokens = field(default_factory=Tokens)


class Model(Protocol):
    """Thinks for an agent."""

    @property
    def name(self) -> str:
        """What people know the model by."""
        ...

    async def reply(self, prompt: Prompt) -> Reply:
        """A reply of the prompt's shape.

        Raises:
            ModelError: There is no such reply to be had.
        """
        ...

    async def close(self) -> None:
        """Lets go of connections."""
        ...
