"""The adapter for real models, against a server that misbehaves in every way it is told to."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from openai import AsyncOpenAI

from lavagna_crew.models.errors import InvalidReply, ModelRefused, ModelUnavailable
from lavagna_crew.models.openai_chat import OpenAIModel
from lavagna_crew.models.patience import Patience
from lavagna_crew.models.port import Message, Prompt, Tokens
from lavagna_crew.models.shapes import Shape
from tests.crews.openai_server import (
    Act,
    Breaks,
    Cuts,
    Ends,
    Fails,
    OpenAIServer,
    Says,
    Stalls,
    openai_server,
)

TITLE = Shape(
    "title",
    {
        "type": "object",
        "properties": {"title": {"type": "string"}, "pages": {"type": "integer"}},
        "required": ["title", "pages"],
        "additionalProperties": False,
    },
)
PROMPT = Prompt("a-turn", "You name books.", (Message("user", "Name one."),), TITLE)
GOOD = json.dumps({"title": "Ficciones", "pages": 203})


class Talk:
    """A model, the server behind it, and the waits that it would have made."""

    def __init__(self, server: OpenAIServer, patience: Patience, name: str | None) -> None:
        self.server = server
        self.waits: list[float] = []
        client = AsyncOpenAI(api_key="none", base_url=server.address, max_retries=0)
        self.model = OpenAIModel(client, name, patience=patience, pause=self._pause)

    async def _pause(self, seconds: float) -> None:
        self.waits.append(seconds)


@asynccontextmanager
async def talk(
    *acts: Act, patience: Patience | None = None, name: str | None = "a-model"
) -> AsyncGenerator[Talk, None]:
    """A talk with a server that plays these acts."""
    async with openai_server(*acts, models=("first", "second")) as server:
        one = Talk(server, patience or Patience(), name)
        try:
            yield one
        finally:
            await one.model.close()


async def test_a_reply_comes_with_its_value_and_its_tokens() -> None:
    async with talk(Says(GOOD, tokens=(31, 12))) as one:
        reply = await one.model.reply(PROMPT)

    assert reply.value == {"title": "Ficciones", "pages": 203}
    assert (reply.tokens, reply.calls, reply.model) == (Tokens(31, 12), 1, "a-model")


async def test_the_server_is_held_to_the_schema() -> None:
    async with talk(Says(GOOD)) as one:
        await one.model.reply(PROMPT)

    asked = one.server.questions[0]["response_format"]["json_schema"]
    assert (asked["name"], asked["schema"], asked["strict"]) == ("title", TITLE.schema, True)


async def test_an_invalid_reply_goes_back_once_with_what_is_wrong_and_is_repaired() -> None:
    bad = json.dumps({"title": "Ficciones", "pages": "many"})
    async with talk(Says(bad, tokens=(30, 10)), Says(GOOD, tokens=(60, 12))) as one:
        reply = await one.model.reply(PROMPT)

    first, second = one.server.questions
    assert reply.value["pages"] == 203
    assert (reply.tokens, reply.calls) == (Tokens(90, 22), 2)
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["messages"][-2] == {"role": "assistant", "content": bad}
    assert 'pages: "many" is not of type "integer"' in second["messages"][-1]["content"]


async def test_a_reply_that_stays_invalid_is_an_error_that_says_why_and_what_it_took() -> None:
    async with talk(Says("{}", tokens=(5, 1)), Says("sorry", tokens=(7, 2))) as one:
        with pytest.raises(InvalidReply, match="a-model gave no valid title: it is not JSON") as no:
            await one.model.reply(PROMPT)

    assert no.value.tokens == Tokens(12, 3)
    assert len(one.server.questions) == 2


async def test_a_rule_beyond_the_schema_is_a_reason_for_repair_too() -> None:
    def thin(reply: object) -> list[str]:
        return [] if "203" in str(reply) else ["that is not the one I mean"]

    other = json.dumps({"title": "Dubliners", "pages": 152})
    prompt = Prompt("a-turn", "You name books.", PROMPT.messages, TITLE.with_rules(thin))
    async with talk(Says(other), Says(GOOD)) as one:
        reply = await one.model.reply(prompt)

    assert reply.value["title"] == "Ficciones"
    assert "that is not the one I mean" in one.server.questions[1]["messages"][-1]["content"]


async def test_a_reply_cut_off_for_its_length_is_asked_for_more_briefly() -> None:
    async with talk(Says(GOOD[:20], end="length"), Says(GOOD)) as one:
        reply = await one.model.reply(PROMPT)

    assert reply.calls == 2
    assert "be briefer" in one.server.questions[1]["messages"][-1]["content"]


async def test_a_busy_server_is_given_the_time_that_it_asks_for() -> None:
    busy = Fails(429, "slow down", headers={"retry-after": "7"})
    async with talk(busy, Says(GOOD)) as one:
        reply = await one.model.reply(PROMPT)

    assert reply.calls == 2
    assert len(one.waits) == 1
    assert 7 <= one.waits[0] <= 7 + Patience().first_wait_seconds


async def test_a_server_that_asks_for_too_long_a_wait_is_given_up_at_once() -> None:
    async with talk(Fails(429, "come back", headers={"retry-after": "3600"})) as one:
        with pytest.raises(ModelUnavailable, match="it asks to wait 3600 s"):
            await one.model.reply(PROMPT)

    assert one.waits == []


@pytest.mark.parametrize(
    "act",
    [
        Fails(500),
        Fails(503),
        Fails(408),
        Cuts(),
        Cuts(after=GOOD[:20]),
        Ends(after=GOOD[:20]),
        Breaks("overloaded"),
    ],
    ids=["500", "503", "408", "cut at once", "cut in the middle", "half a reply", "broke off"],
)
async def test_what_passes_is_asked_again(act: Act) -> None:
    async with talk(act, act, Says(GOOD)) as one:
        reply = await one.model.reply(PROMPT)

    bounds = [Patience().first_wait_seconds * factor for factor in (1, 2)]
    assert reply.value["title"] == "Ficciones"
    assert reply.calls == 3
    assert [wait <= bound for wait, bound in zip(one.waits, bounds, strict=True)] == [True, True]


async def test_what_does_not_pass_is_given_up_after_the_last_attempt() -> None:
    patience = Patience(attempts_max=3)
    async with talk(Fails(500, "oh"), Fails(500, "oh"), Fails(500, "oh"), patience=patience) as one:
        with pytest.raises(ModelUnavailable, match="asked 3 times") as no:
            await one.model.reply(PROMPT)

    assert no.value.attempts == 3
    assert len(one.waits) == 2


async def test_a_server_that_falls_silent_counts_as_gone() -> None:
    patience = Patience(attempts_max=2, silence_seconds_max=1.0)
    async with talk(Stalls(), Stalls(after=GOOD[:20]), patience=patience) as one:
        with pytest.raises(ModelUnavailable, match="timed out"):
            await one.model.reply(PROMPT)

    assert len(one.server.questions) == 2


async def test_a_reply_that_takes_too_long_is_given_up() -> None:
    async with talk(Stalls(), patience=Patience(reply_seconds_max=0.2)) as one:
        with pytest.raises(ModelUnavailable, match=r"no reply within 0\.2 s"):
            await one.model.reply(PROMPT)


async def test_a_server_that_is_not_there_is_named_as_unavailable() -> None:
    async with openai_server() as gone:
        pass
    one = Talk(gone, Patience(attempts_max=2), "a-model")

    with pytest.raises(ModelUnavailable, match="asked 2 times"):
        await one.model.reply(PROMPT)
    await one.model.close()


@pytest.mark.parametrize(
    ("act", "remedy"),
    [
        (Fails(401, "bad key"), "set OPENAI_API_KEY"),
        (Fails(403, "not yours"), "set OPENAI_API_KEY"),
        (Fails(404, "no such model"), "set LAVAGNA_MODEL"),
        (Fails(429, "paid up?", code="insufficient_quota"), "raise the quota"),
        (Fails(400, "context too long"), "set LAVAGNA_MODEL to another model"),
        (Says("", refusal="I would rather not"), "word the task differently"),
        (Says("", end="content_filter"), "word the task differently"),
    ],
    ids=["key", "rights", "model", "quota", "request", "refusal", "filter"],
)
async def test_what_does_not_pass_by_itself_is_said_at_once_with_its_remedy(
    act: Act, remedy: str
) -> None:
    async with talk(act) as one:
        with pytest.raises(ModelRefused, match=remedy):
            await one.model.reply(PROMPT)

    assert one.waits == []
    assert len(one.server.questions) == 1


async def test_a_server_without_schemas_is_told_the_shape_in_the_prompt_from_then_on() -> None:
    refused = Fails(400, "response_format: json_schema is not supported")
    async with talk(refused, Says(GOOD), Says(GOOD)) as one:
        await one.model.reply(PROMPT)
        await one.model.reply(PROMPT)

    _, second, third = one.server.questions
    for question in (second, third):
        assert question["response_format"] == {"type": "json_object"}
        assert json.dumps(TITLE.schema) in question["messages"][0]["content"]
    assert one.waits == []


async def test_a_server_that_only_writes_prose_is_read_between_its_words() -> None:
    refused = Fails(400, "unknown field response_format")
    prose = f"Here it is:\n```json\n{GOOD}\n```\nEnjoy!"
    async with talk(refused, refused, Says(prose)) as one:
        reply = await one.model.reply(PROMPT)

    assert reply.value["title"] == "Ficciones"
    assert "response_format" not in one.server.questions[2]


async def test_a_server_that_cannot_count_is_not_asked_to() -> None:
    async with talk(Fails(422, "stream_options: extra field"), Says(GOOD, tokens=(1, 1))) as one:
        reply = await one.model.reply(PROMPT)

    assert reply.tokens == Tokens()
    assert "response_format" in one.server.questions[1]


async def test_without_a_name_the_first_model_of_the_server_thinks() -> None:
    async with talk(Says(GOOD), name=None) as one:
        reply = await one.model.reply(PROMPT)

    assert reply.model == "first"
    assert one.server.questions[0]["model"] == "first"
