"""The log: events with fields, in the form and from the level that the settings say, and no secrets."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import grpc.aio
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


def logged_by_libraries(level: str) -> list[dict[str, Any]]:
    """What becomes of what two libraries say, the second as gRPC does when a caller left."""
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging, "root", logging.RootLogger(logging.WARNING))
        logs.configure(level, "json", stream)
        for name, error in (("asyncio", ValueError("lost")), ("grpc", grpc.aio.InternalError())):
            raised = (type(error), error, None)
            logging.root.info("hello")
            logging.root.handle(
                logging.LogRecord(name, logging.ERROR, "", 0, "raised in %s", ("/m",), raised)
            )
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_libraries_log_in_the_same_form_and_speak_up_in_trouble_alone() -> None:
    (failed,) = logged_by_libraries("info")
    assert (failed["logger"], failed["event"]) == ("asyncio", "raised in /m")
    assert (failed["level"], failed["timestamp"][-1]) == ("error", "Z")
    assert failed["exception"][0]["exc_value"] == "lost"


def test_that_a_caller_left_is_told_to_those_who_look_for_faults() -> None:
    assert "grpc" in [event["logger"] for event in logged_by_libraries("debug")]


@pytest.mark.parametrize("form", ["json", "text"])
def test_no_variable_of_a_failed_function_is_logged(form: str) -> None:
    assert "lav_secret" not in logged(form)
