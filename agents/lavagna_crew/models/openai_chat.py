"""A model behind the OpenAI chat interface, wherever it runs."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam

from lavagna_crew.models.dialect import Dialect
from lavagna_crew.models.errors import InvalidReply, ModelRefused, ModelUnavailable
from lavagna_crew.models.faults import FAULTS, Lasting, Passing, judged
from lavagna_crew.models.hearing import Answer, Hearing
from lavagna_crew.models.patience import Patience
from lavagna_crew.models.port import Message, Prompt, Reply, Tokens
from lavagna_crew.models.shapes import Invalid, Shape, Valid

FORM_STATUSES = frozenset({400, 415, 422, 501})
"""Statuses with which servers refuse a form that they do not know."""


@dataclass(slots=True)
class Spent:
    """What one reply has taken so far."""

    calls: int = 0
    tokens: Tokens = field(default_factory=Tokens)


class OpenAIModel:
    """Asks an OpenAI-compatible server, streaming, until the reply has the shape asked for.

    What passes is asked again after growing waits; an invalid reply goes back once, with what is
    wrong with it. Without a name it takes the first model that the server lists.
    """

    def __init__(
        self,
        client: AsyncOpenAI,
        name: str | None,
        *,
        patience: Patience | None = None,
        completion_tokens_max: int | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._name = name
        self._client = client
        self._patience = patience or Patience()
        self._completion_tokens_max = completion_tokens_max
        self._pause = pause
        self._chance = random.Random()  # noqa: S311 - it spreads waits, and hides nothing
        self.dialect = Dialect()
        """What the server was found to understand."""

    @property
    def name(self) -> str:
        """The model's name, as far as it is known."""
        return self._name or "the model server"

    async def reply(self, prompt: Prompt) -> Reply:
        """A reply of the prompt's shape.

        Raises:
            InvalidReply: It was invalid twice.
            ModelRefused: Asking again will not help.
            ModelUnavailable: Nothing came within the patience.
        """
        spent = Spent()
        seconds = self._patience.reply_seconds_max
        try:
            async with asyncio.timeout(seconds):
                value = await self._valid(prompt, spent)
        except TimeoutError:
            last = f"no reply within {seconds:g} s"
            raise ModelUnavailable(
                self.name, attempts=spent.calls, last=last, tokens=spent.tokens
            ) from None
        return Reply(value.value, self.name, calls=spent.calls, tokens=spent.tokens)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def _valid(self, prompt: Prompt, spent: Spent) -> Valid:
        answer = await self._answer(prompt, prompt.messages, spent)
        outcome = _judged(answer, prompt.shape)
        if isinstance(outcome, Invalid):
            repair = Message("user", _complaint(outcome.complaints))
            messages = (*prompt.messages, Message("assistant", answer.text), repair)
            outcome = _judged(await self._answer(prompt, messages, spent), prompt.shape)
        if isinstance(outcome, Invalid):
            raise InvalidReply(
                self.name,
                shape=prompt.shape.name,
                complaints=outcome.complaints,
                tokens=spent.tokens,
            )
        return outcome

    async def _answer(self, prompt: Prompt, messages: Sequence[Message], spent: Spent) -> Answer:
        """One answer, however often it has to be asked for."""
        attempt = 1
        while True:
            try:
                return await self._ask(prompt, messages, spent)
            except FAULTS as fault:
                if self._speaks_looser_after(fault):
                    continue
                await self._pause(self._wait_seconds(judged(fault), attempt, spent))
                attempt += 1

    async def _ask(self, prompt: Prompt, messages: Sequence[Message], spent: Spent) -> Answer:
        spent.calls += 1
        instruction = self.dialect.instruction(prompt.shape)
        self._name = self._name or await self._first_listed()
        stream = await self._client.chat.completions.create(
            model=self._name,
            messages=_on_the_wire(f"{prompt.role}\n\n{instruction}".strip(), messages),
            stream=True,
            timeout=self._patience.silence_seconds_max,
            extra_body=self.dialect.fields(
                prompt.shape, completion_tokens_max=self._completion_tokens_max
            ),
        )
        hearing = Hearing()
        async with stream:
            async for chunk in stream:
                hearing.add(chunk)
                if hearing.endless:
                    break
        spent.tokens += hearing.tokens
        return hearing.answer()

    async def _first_listed(self) -> str:
        models = await self._client.models.list()
        if not models.data:
            raise ModelRefused(
                self.name, why="it lists no model", remedy="set LAVAGNA_MODEL to the name of one"
            )
        return models.data[0].id

    def _speaks_looser_after(self, fault: Exception) -> bool:
        """Whether the server refused the form of the question, and a looser one is left."""
        status: object = getattr(fault, "status_code", None)
        looser = self.dialect.without(str(fault)) if status in FORM_STATUSES else None
        self.dialect = looser or self.dialect
        return looser is not None

    def _wait_seconds(self, fault: Passing | Lasting, attempt: int, spent: Spent) -> float:
        """How long to wait before asking again, if that makes sense."""
        if isinstance(fault, Lasting):
            raise ModelRefused(self.name, why=fault.why, remedy=fault.remedy, tokens=spent.tokens)
        told = fault.told_seconds
        if (told or 0.0) > self._patience.wait_seconds_max:
            last = f"{fault.why} (it asks to wait {told:g} s)"
            raise ModelUnavailable(self.name, attempts=attempt, last=last, tokens=spent.tokens)
        if attempt >= self._patience.attempts_max:
            raise ModelUnavailable(self.name, attempts=attempt, last=fault.why, tokens=spent.tokens)
        return self._patience.wait_seconds(attempt, told=told, chance=self._chance)


def _judged(answer: Answer, shape: Shape) -> Valid | Invalid:
    if answer.too_long:
        return Invalid(["it was cut off for its length; be briefer"])
    return shape.read(answer.text)


def _complaint(complaints: Sequence[str]) -> str:
    faults = "\n".join(f"- {complaint}" for complaint in complaints)
    return f"Your reply is not valid:\n{faults}\nGive the whole reply again, corrected."


def _on_the_wire(role: str, messages: Iterable[Message]) -> list[ChatCompletionMessageParam]:
    wire: list[ChatCompletionMessageParam] = [{"role": "system", "content": role}]
    for message in messages:
        if message.author == "user":
            wire.append({"role": "user", "content": message.text})
        else:
            wire.append({"role": "assistant", "content": message.text})
    return wire
