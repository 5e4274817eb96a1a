"""The mind of an agent: a model, and the account of what its thoughts cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lavagna import Work
from lavagna_crew import keys
from lavagna_crew.models.choice import Price
from lavagna_crew.models.errors import InvalidReply, ModelError, ModelRefused, NoScript
from lavagna_crew.models.port import Model, Prompt, Tokens
from lavagna_crew.records import Usage

TOKENS_PER_PRICE = 1_000_000

LASTING = (InvalidReply, ModelRefused, NoScript)
"""Faults that another attempt, minutes later, would meet again."""

REASON_CHARACTERS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Thought:
    """What a model replied, and the entry that accounts for it."""

    value: Mapping[str, Any]
    usage: Mapping[str, Usage]
    """To be written together with what the thought leads to."""


class Mind:
    """Thinks for one agent."""

    def __init__(self, agent: str, model: Model, *, price: Price | None = None) -> None:
        self._agent = agent
        self._model = model
        self._price = price

    @property
    def model_name(self) -> str:
        """What people know its model by."""
        return self._model.name

    async def think(self, work: Work, prompt: Prompt) -> Thought:
        """What the model replies; tokens that were spent in vain are put on the board at once.

        Raises:
            ModelError: There is no reply. The attempt has failed for good, if another one would
                not help.
        """
        try:
            reply = await self._model.reply(prompt)
        except ModelError as fault:
            if fault.tokens != Tokens():
                key = f"{keys.usage(self._agent)}/{work.activation.id}-{work.attempt}"
                await work.board.put(key, self._usage(prompt, fault.tokens, calls=1))
            if isinstance(fault, LASTING):
                await work.fail(str(fault)[:REASON_CHARACTERS_MAX], final=True)
            raise
        usage = self._usage(prompt, reply.tokens, calls=reply.calls)
        return Thought(reply.value, {f"{keys.usage(self._agent)}/{work.activation.id}": usage})

    async def close(self) -> None:
        """Lets go of the model."""
        await self._model.close()

    def _usage(self, prompt: Prompt, tokens: Tokens, *, calls: int) -> Usage:
        dollars = None
        if self._price is not None:
            cost = tokens.prompt * self._price.prompt + tokens.completion * self._price.completion
            dollars = cost / TOKENS_PER_PRICE
        return Usage(
            turn=prompt.turn,
            model=self._model.name,
            calls=calls,
            prompt_tokens=tokens.prompt,
            completion_tokens=tokens.completion,
            dollars=dollars,
        )
