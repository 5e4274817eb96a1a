"""The log: events with fields, in the form and from the level that the settings say, and no secrets."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest
import structlog

from lavagna_server import logs


@pytest.fixture(autouse=True)
def _defaults() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] (pytest uses it)
    yield
    structlog.reset_defaults()


def fail(token: str) -> None:
    raise ValueError(f"a token of {len(token)} characters")


def logged(form: str, level: str = "info") -> str:
    stream = io.StringIO()
    logs.configure(level, form, stream)
    log = structlog.get_logger("lavagna.test")
    log.debug("looked")
    log.info("started", address="127.0.0.1:1")
    try:
        fail("lav_" + "secret")
    except ValueError:
        log.exception("failed")
    return stream.getvalue()


def test_json_has_an_object_per_event() -> None:
    started, failed = (json.loads(line) for line in logged("json").splitlines())
    assert (started["event"], started["level"], started["address"]) == (
        "started",
        "info",
        "127.0.0.1:1",
    )
    assert started["timestamp"].endswith("Z")
    assert failed["exception"][0]["exc_value"] == "a token of 10 characters"


def test_text_has_a_line_per_event() -> None:
    text = logged("text")
    assert "started" in text.splitlines()[0]
    assert "ValueError: a token of 10 characters" in text


def test_what_is_no_terminal_gets_json() -> None:
    assert json.loads(logged("auto").splitlines()[0])["event"] == "started"


def test_the_level_decides_what_is_logged() -> None:
    assert "looked" in logged("json", "debug")
    assert "looked" not in logged("json", "info")
    assert "started" not in logged("json", "error")


@pytest.mark.parametrize("form", ["json", "text"])
def test_no_variable_of_a_failed_function_is_logged(form: str) -> None:
    assert "lav_secret" not in logged(form)
