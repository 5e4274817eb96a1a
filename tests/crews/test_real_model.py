"""The adapter for real models, against a real one: SmolLM2 behind llama.cpp's server.

It is far too small to judge anything, so only the shape of what it says is looked at.
"""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from openai import AsyncOpenAI

from lavagna_crew.models.dialect import Form
from lavagna_crew.models.errors import InvalidReply, ModelRefused, ModelUnavailable
from lavagna_crew.models.hearing import Hearing
from lavagna_crew.models.openai_chat import OpenAIModel
from lavagna_crew.models.patience import Patience
from lavagna_crew.models.port import Message, Prompt
from lavagna_crew.models.shapes import Shape
from lavagna_crew.roles.ceo import GOAL, VERDICT
from lavagna_crew.roles.cto import DESIGN
from lavagna_crew.roles.programmer import CODE
from lavagna_crew.roles.tester import SUITE
from lavagna_crew.roles.voter import OPINION
from tests.crews import llama_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(llama_server.missing()), reason=llama_server.missing()),
]

REVIEW = Shape(
    "review",
    {
        "type": "object",
        "properties": {
            "verdict": {"enum": ["good", "mixed", "bad"]},
            "stars": {"type": "integer", "minimum": 1, "maximum": 5},
            "traits": {
                "type": "array",
                "items": {"enum": ["short", "long", "funny", "sad"]},
                "minItems": 1,
                "maxItems": 3,
            },
        },
        "required": ["verdict", "stars", "traits"],
        "additionalProperties": False,
    },
)
QUESTION = Message("user", "Review the novel Pedro Páramo.")


@pytest.fixture(scope="session")
async def client() -> AsyncIterator[AsyncOpenAI]:
    """A client of the real model's server."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(Path(llama_server.__file__)), stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    address = (await process.stdout.readline()).decode().strip()
    async with AsyncOpenAI(api_key="none", base_url=f"{address}/v1", max_retries=0) as one:
        yield one
    process.stdin.close()
    await process.wait()


def prompt(message: Message = QUESTION) -> Prompt:
    """A question that the model can only answer in the shape of a review."""
    return Prompt("a-turn", "You review books.", (message,), REVIEW)


async def test_a_real_model_replies_in_the_shape_asked_for_and_counts_its_tokens(
    client: AsyncOpenAI,
) -> None:
    reply = await OpenAIModel(client, None).reply(prompt())

    assert reply.value["verdict"] in {"good", "mixed", "bad"}
    assert 1 <= reply.value["stars"] <= 5
    assert 1 <= len(reply.value["traits"]) <= 3
    assert reply.calls == 1
    assert reply.tokens.prompt > 10
    assert reply.tokens.completion > 10
    assert "SmolLM2" in reply.model


async def test_a_real_model_is_heard_part_by_part(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="any",
        messages=[{"role": "user", "content": "Count to five."}],
        stream=True,
        max_completion_tokens=12,
    )
    hearing, lengths = Hearing(), list[int]()
    async for chunk in stream:
        hearing.add(chunk)
        lengths.append(hearing.characters)

    assert len(set(lengths)) > 3
    assert len(hearing.answer().text) == lengths[-1]


async def test_a_question_too_long_for_a_real_model_is_refused_with_a_remedy(
    client: AsyncOpenAI,
) -> None:
    endless = Message("user", "word " * 3 * llama_server.CONTEXT_TOKENS)

    with pytest.raises(ModelRefused, match="set LAVAGNA_MODEL"):
        await OpenAIModel(client, "any").reply(prompt(endless))


async def test_a_real_model_that_is_given_up_answers_the_next_question(
    client: AsyncOpenAI,
) -> None:
    with pytest.raises(ModelUnavailable, match="no reply within"):
        await OpenAIModel(client, "any", patience=Patience(reply_seconds_max=0.02)).reply(prompt())

    reply = await OpenAIModel(client, "any").reply(prompt())

    assert set(reply.value) == {"verdict", "stars", "traits"}


@pytest.mark.parametrize(
    "shape", [GOAL, DESIGN, OPINION, CODE, SUITE, VERDICT], ids=lambda shape: shape.name
)
async def test_a_real_server_can_be_held_to_every_shape_of_the_crew(
    client: AsyncOpenAI, shape: Shape
) -> None:
    model = OpenAIModel(client, "any", completion_tokens_max=6)
    question = Prompt("a-turn", "You build programs.", (Message("user", "Go."),), shape)

    with pytest.raises(InvalidReply, match="cut off for its length"):
        await model.reply(question)

    assert model.dialect.form is Form.SCHEMA
