"""The log: events with fields, on standard error."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import Processor


def configure(level: str, form: str, stream: TextIO = sys.stderr) -> None:
    """Logs what is at least of `level`; `form` is `json`, `text`, or `auto`: text on a terminal and JSON elsewhere."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    # Libraries speak up in trouble alone, and in plain lines.
    logging.basicConfig(
        level=logging.WARNING, stream=stream, format="%(levelname)s %(name)s: %(message)s"
    )
    is_text = form == "text" or (form == "auto" and stream.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(_text(stream) if is_text else _json()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=True,
    )


# Neither way of showing an exception shows local variables, which hold values and tokens.


def _text(stream: TextIO) -> list[Processor]:
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain)]


def _json() -> list[Processor]:
    exceptions = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [structlog.processors.ExceptionRenderer(exceptions), structlog.processors.JSONRenderer()]
