"""The log: events with fields, on standard error."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import grpc.aio
import structlog
from structlog.typing import Processor


def configure(level: str, form: str, stream: TextIO = sys.stderr) -> None:
    """Logs what is at least of `level`; `form` is `json`, `text`, or `auto`: text on a terminal and JSON elsewhere.

    What libraries log is in that form too. Only gRPC's core, which is no Python, writes past it.
    """
    threshold = logging.getLevelNamesMapping()[level.upper()]
    is_text = form == "text" or (form == "auto" and stream.isatty())
    stamped: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    shown = _text(stream) if is_text else _json()
    structlog.configure(
        processors=[*stamped, *shown],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=True,
    )
    # Libraries speak up in trouble alone.
    handler = logging.StreamHandler(stream)
    if threshold > logging.DEBUG:
        handler.addFilter(_is_trouble)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*stamped, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *shown],
        )
    )
    logging.basicConfig(level=max(threshold, logging.WARNING), handlers=[handler])


def _is_trouble(record: logging.LogRecord) -> bool:
    """Whether it is any: gRPC also reports as an error that a caller left before all was sent to it."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, grpc.aio.InternalError)


# Neither way of showing an exception shows local variables, which hold values and tokens.


def _text(stream: TextIO) -> list[Processor]:
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain)]


def _json() -> list[Processor]:
    exceptions = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [structlog.processors.ExceptionRenderer(exceptions), structlog.processors.JSONRenderer()]
