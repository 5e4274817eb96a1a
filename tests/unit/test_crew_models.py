"""What is pure in the crew's models: shapes, dialects, waits, and the choice of a model."""

import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from lavagna_crew.models.choice import Price, choose, has_model, price
from lavagna_crew.models.dialect import Dialect, Form
from lavagna_crew.models.errors import NoModel
from lavagna_crew.models.patience import Patience, told_to_wait
from lavagna_crew.models.shapes import Invalid, Shape, Valid

POINT = Shape(
    "point",
    {
        "type": "object",
        "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
        "required": ["x", "y"],
        "additionalProperties": False,
    },
)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def complaints(outcome: Valid | Invalid) -> list[str]:
    """What is wrong with a reply, which must be wrong."""
    assert isinstance(outcome, Invalid)
    return list(outcome.complaints)


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 1, "y": 2}',
        'Sure!\n```json\n{"x": 1, "y": 2}\n```',
        '```\n{"x": 1, "y": 2}\n```',
        'The point is {"x": 1, "y": 2}, I think.',
    ],
    ids=["plain", "fenced as JSON", "fenced", "between words"],
)
def test_a_reply_is_found_however_it_is_wrapped(text: str) -> None:
    assert POINT.read(text) == Valid({"x": 1, "y": 2})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no idea", "it is not JSON"),
        ("[1, 2]", 'is not of type "object"'),
        ('{"x": 1}', '"y" is a required property'),
        ('{"x": 1, "y": "two"}', 'y: "two" is not of type "number"'),
        ('{"x": NaN, "y": 2}', "NaN is not a number in JSON"),
        ('{"x": 1, "y": 2, "\\ud800": 3}', "it is not JSON"),
    ],
    ids=["prose", "array", "missing", "type", "NaN", "half a character"],
)
def test_an_invalid_reply_is_told_what_is_wrong_and_where(text: str, complaint: str) -> None:
    assert complaint in " ".join(complaints(POINT.read(text)))


def test_a_complaint_quotes_no_more_than_it_must() -> None:
    long = json.dumps({"x": "a" * 10_000, "y": 2})

    assert len(complaints(POINT.read(long))[0]) <= 300


def test_rules_are_asked_only_about_replies_that_satisfy_the_schema() -> None:
    def on_the_diagonal(reply: Mapping[str, Any]) -> list[str]:
        return [] if reply["x"] == reply["y"] else ["it is off the diagonal"]

    diagonal = POINT.with_rules(on_the_diagonal)

    assert diagonal.read('{"x": 2, "y": 2}') == Valid({"x": 2, "y": 2})
    assert complaints(diagonal.read('{"x": 2, "y": 3}')) == ["it is off the diagonal"]
    assert complaints(diagonal.read("{}")) == complaints(POINT.read("{}"))


def test_a_shape_that_refers_to_an_address_is_refused_and_nothing_is_fetched() -> None:
    with pytest.raises(Exception, match="nothing outside itself"):
        Shape("remote", {"$ref": "http://example.invalid/schema.json"})


def test_waits_grow_are_random_and_never_shorter_than_told() -> None:
    patience = Patience(first_wait_seconds=1, wait_seconds_max=5)
    chance = random.Random(7)
    waits = {
        attempt: [patience.wait_seconds(attempt, told=None, chance=chance) for _ in range(300)]
        for attempt in (1, 2, 3, 9)
    }

    longest = {attempt: max(some) for attempt, some in waits.items()}
    assert {attempt: round(wait) for attempt, wait in longest.items()} == {1: 1, 2: 2, 3: 4, 9: 5}
    assert min(waits[9]) < 0.5
    assert patience.wait_seconds(1, told=3.0, chance=chance) >= 3.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
    ],
    ids=["not told", "seconds", "milliseconds", "both", "date", "past", "nonsense"],
)
def test_a_wait_is_read_in_every_form_it_is_told_in(
    headers: Mapping[str, str], seconds: float | None
) -> None:
    assert told_to_wait(headers, now=NOON) == seconds


def test_a_dialect_gives_up_only_what_was_refused() -> None:
    dialect = Dialect()

    assert dialect.without("unknown field stream_options") == Dialect(counts_tokens=False)
    assert dialect.without("response_format is not supported") == Dialect(Form.OBJECT)
    assert Dialect(Form.OBJECT).without("json_object?") == Dialect(Form.TEXT)
    assert Dialect(Form.TEXT).without("response_format is not supported") is None
    assert dialect.without("the context is full") is None


def test_the_prompt_states_the_shape_where_the_server_does_not_enforce_it() -> None:
    assert Dialect().instruction(POINT) == ""
    assert json.dumps(POINT.schema) in Dialect(Form.OBJECT).instruction(POINT)
    assert "response_format" not in Dialect(Form.TEXT).fields(POINT, completion_tokens_max=None)


@pytest.mark.parametrize(
    ("environment", "real"),
    [
        ({}, False),
        ({"OPENAI_API_KEY": ""}, False),
        ({"OPENAI_API_KEY": "k"}, True),
        ({"OPENAI_BASE_URL": "http://localhost:1"}, True),
        ({"OPENAI_API_KEY": "k", "LAVAGNA_MODEL": "scripted"}, False),
        ({"LAVAGNA_MODEL": "a-model"}, False),
    ],
    ids=["nothing", "empty", "key", "address", "asked for a script", "name alone"],
)
def test_a_real_model_thinks_exactly_when_the_environment_names_one(
    environment: Mapping[str, str], real: bool
) -> None:
    assert has_model(environment) is real


def test_any_task_will_do_for_a_real_model() -> None:
    assert choose("prove Fermat", environment={"OPENAI_API_KEY": "k"}).script is None


def test_a_scripted_task_is_found_by_its_name_and_by_its_words() -> None:
    first = choose("lru-cache", environment={}).script
    assert first is not None

    shouted = f"  {first.task.upper()}  "
    assert choose(shouted, environment={}).script == first


def test_a_task_that_nobody_can_think_about_is_an_error_that_says_what_can_be_done() -> None:
    with pytest.raises(NoModel) as no:
        choose("prove Fermat", environment={})

    text = str(no.value)
    assert "'prove Fermat'" in text
    assert len(no.value.scripted) >= 3
    for name, task in no.value.scripted:
        assert name in text
        assert task in text
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LAVAGNA_MODEL"):
        assert variable in text


def test_a_price_is_dollars_per_million_tokens() -> None:
    assert price({}) is None
    assert price({"LAVAGNA_MODEL_PRICE": "0.25/2"}) == Price(prompt=0.25, completion=2.0)
    with pytest.raises(ValueError, match="dollars per million"):
        price({"LAVAGNA_MODEL_PRICE": "cheap"})
