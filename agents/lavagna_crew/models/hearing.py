"""Hearing: how the parts of a streamed answer become one answer, or show that it is none."""

from dataclasses import dataclass, field

from openai.types.chat import ChatCompletionChunk

from lavagna_crew.models.faults import CutOff, SaysNo
from lavagna_crew.models.port import Tokens

TEXT_CHARACTERS_MAX = 400_000
"""A model that repeats itself for ever is stopped here."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said once."""

    text: str
    too_long: bool
    """Whether it was stopped for its length, so that its end is missing."""


@dataclass(slots=True)
class Hearing:
    """What of an answer has come so far."""

    end: str | None = None
    """Why the model stopped; None while it has not."""
    characters: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    _parts: list[str] = field(default_factory=list[str])
    _refusal: list[str] = field(default_factory=list[str])

    def add(self, chunk: ChatCompletionChunk) -> None:
        """Takes in the next part."""
        for choice in chunk.choices:
            part = choice.delta.content or ""
            self.characters += len(part)
            self._parts.append(part)
            self._refusal.append(choice.delta.refusal or "")
            self.end = choice.finish_reason or self.end
        if chunk.usage is not None:
            self.tokens = Tokens(chunk.usage.prompt_tokens, chunk.usage.completion_tokens)

    @property
    def endless(self) -> bool:
        """Whether it is longer than any answer should be."""
        return self.characters > TEXT_CHARACTERS_MAX

    def answer(self) -> Answer:
        """What was heard.

        Raises:
            CutOff: The model had not come to its end.
            SaysNo: The model says that it will not answer.
        """
        if refusal := "".join(self._refusal):
            raise SaysNo(refusal)
        if self.end == "content_filter":
            raise SaysNo("its content filter stopped the reply")
        if self.end is None and not self.endless:
            raise CutOff("the connection ended in the middle of the reply")
        return Answer("".join(self._parts), too_long=self.endless or self.end == "length")
