"""Which model a crew thinks with: a real one when the environment names it, else a script."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from lavagna_crew.models.errors import NoModel
from lavagna_crew.models.port import Model
from lavagna_crew.models.scripted import Script, ScriptedModel, script_for, scripts

OPENAI_ADDRESS = "https://api.openai.com/v1"
"""Where the model is when OPENAI_BASE_URL names no other place."""

OPENAI_MODEL = "gpt-5-mini"
"""The model at api.openai.com when LAVAGNA_MODEL names none."""

SCRIPTED = "scripted"
"""The value of LAVAGNA_MODEL that asks for a script although a real model is set."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a crew thinks with."""

    script: Script | None
    """The script that is played; None when a real model thinks."""

    @property
    def first_line(self) -> str:
        """What to tell people before anything else."""
        if self.script is None:
            return "A real model thinks: what it does takes its time, and may cost money."
        return (
            "A scripted model plays recorded replies; set OPENAI_API_KEY or OPENAI_BASE_URL "
            "for a real one. All else is real."
        )


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in dollars per million tokens."""

    prompt: float
    completion: float


def choose(task: str, *, environment: Mapping[str, str] = os.environ) -> Choice:
    """What to think with about this task.

    Raises:
        NoModel: The task has no script, and no model is set.
    """
    if has_model(environment):
        return Choice(script=None)
    if script := script_for(task):
        return Choice(script)
    raise NoModel(task, [(one.name, one.task) for one in scripts()])


def has_model(environment: Mapping[str, str]) -> bool:
    """Whether the environment names a real model."""
    if environment.get("LAVAGNA_MODEL") == SCRIPTED:
        return False
    return bool(environment.get("OPENAI_API_KEY") or environment.get("OPENAI_BASE_URL"))


def price(environment: Mapping[str, str] = os.environ) -> Price | None:
    """The price that LAVAGNA_MODEL_PRICE states, as `0.25/2.00`; None when it states none.

    Raises:
        ValueError: It states something else.
    """
    stated = environment.get("LAVAGNA_MODEL_PRICE", "")
    if not stated:
        return None
    try:
        prompt, completion = (float(part) for part in stated.split("/"))
    except ValueError:
        msg = f"LAVAGNA_MODEL_PRICE is {stated!r}; say dollars per million tokens, as 0.25/2.00"
        raise ValueError(msg) from None
    return Price(prompt, completion)


def opened(
    script: Script | None, *, pace: float = 1.0, environment: Mapping[str, str] = os.environ
) -> Model:
    """The model itself: the script's player, or the real one that the environment names.

    Raises:
        ValueError: LAVAGNA_MODEL_TOKENS_MAX is no number.
    """
    if script is not None:
        return ScriptedModel(script, pace=pace)
    # Only here, because importing it takes a second or two.
    from openai import AsyncOpenAI  # noqa: PLC0415

    from lavagna_crew.models.openai_chat import OpenAIModel  # noqa: PLC0415

    address = environment.get("OPENAI_BASE_URL")
    tokens_max = environment.get("LAVAGNA_MODEL_TOKENS_MAX")
    client = AsyncOpenAI(
        api_key=environment.get("OPENAI_API_KEY") or "none",
        base_url=address or OPENAI_ADDRESS,
        max_retries=0,
    )
    return OpenAIModel(
        client,
        environment.get("LAVAGNA_MODEL") or (None if address else OPENAI_MODEL),
        completion_tokens_max=int(tokens_max) if tokens_max else None,
    )
