"""A small OpenAI-compatible server that does what a test tells it to, one act per question."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

PART_CHARACTERS = 9
"""Replies are streamed in parts of this size."""


@dataclass(frozen=True)
class Says:
    """Streams a text to its end."""

    text: str
    tokens: tuple[int, int] = (0, 0)
    end: str = "stop"
    refusal: str | None = None


@dataclass(frozen=True)
class Fails:
    """Answers with an error status."""

    status: int
    message: str = "no"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Cuts:
    """Drops the connection after a part of the text."""

    after: str = ""


@dataclass(frozen=True)
class Ends:
    """Ends the stream properly, but before the reply is whole."""

    after: str = ""


@dataclass(frozen=True)
class Breaks:
    """Reports an error in the middle of the stream."""

    message: str


@dataclass(frozen=True)
class Stalls:
    """Says nothing more after a part of the text, and keeps the connection."""

    after: str = ""


Act = Says | Fails | Cuts | Ends | Breaks | Stalls


class OpenAIServer:
    """Plays its acts in order; every question it was asked stays to be looked at."""

    def __init__(
        self,
        acts: Sequence[Act],
        *,
        answer: Callable[[Mapping[str, Any]], Act] | None,
        models: Sequence[str],
        port: int,
    ) -> None:
        self.questions: list[dict[str, Any]] = []
        self.address = f"http://127.0.0.1:{port}/v1"
        self._acts = list(acts)
        self._answer = answer
        self._models = models

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the requests of one connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lengths = [line for line in head.lower().splitlines() if "content-length" in line]
                body = await reader.readexactly(int(lengths[0].split(":")[1]) if lengths else 0)
                if head.startswith("GET /v1/models"):
                    self._list_models(writer)
                elif not await self._play(json.loads(body), writer):
                    break
                await writer.drain()
        writer.close()

    def _list_models(self, writer: asyncio.StreamWriter) -> None:
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "a test"}
            for name in self._models
        ]
        _respond(writer, 200, {"object": "list", "data": listed})

    async def _play(self, question: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        """Plays the next act; gives whether the connection is still of use."""
        self.questions.append(question)
        act = self._acts.pop(0) if self._acts or self._answer is None else self._answer(question)
        if isinstance(act, Fails):
            error = {"message": act.message, "code": act.code, "type": "error", "param": None}
            _respond(writer, act.status, {"error": error}, act.headers)
            return True
        _begin(writer)
        match act:
            case Says():
                _say(writer, act, count=bool(question.get("stream_options")))
            case Breaks():
                _event(writer, {"error": {"message": act.message, "code": 500}})
            case _:
                _parts(writer, act.after)
        await writer.drain()
        if isinstance(act, Cuts):
            writer.transport.abort()
            return False
        if isinstance(act, Stalls):
            await asyncio.Event().wait()
        _chunk(writer, b"")
        return True


@asynccontextmanager
async def openai_server(
    *acts: Act,
    answer: Callable[[Mapping[str, Any]], Act] | None = None,
    models: Sequence[str] = ("a-model",),
) -> AsyncGenerator[OpenAIServer, None]:
    """The server on a free port, and no connection left of it afterwards.

    When its acts are used up it does what `answer` says to a question.
    """
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(server.serve(reader, writer))
        connections.add(task)
        with suppress(asyncio.CancelledError):
            await task
        writer.transport.abort()

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    port: int = listener.sockets[0].getsockname()[1]
    server = OpenAIServer(acts, answer=answer, models=models, port=port)
    try:
        yield server
    finally:
        listener.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


def _respond(
    writer: asyncio.StreamWriter,
    status: int,
    content: object,
    headers: Mapping[str, str] | None = None,
) -> None:
    body = json.dumps(content).encode()
    lines = [f"HTTP/1.1 {status} Status", "content-type: application/json"]
    lines += [f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)


def _begin(writer: asyncio.StreamWriter) -> None:
    writer.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )


def _say(writer: asyncio.StreamWriter, act: Says, *, count: bool) -> None:
    _parts(writer, act.text)
    if act.refusal is not None:
        _event(writer, _completion({"refusal": act.refusal}))
    _event(writer, _completion({}, end=act.end))
    if count:
        prompt, completion = act.tokens
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        usage["total_tokens"] = prompt + completion
        _event(writer, {**_completion({}), "choices": [], "usage": usage})
    _chunk(writer, b"data: [DONE]\n\n")


def _parts(writer: asyncio.StreamWriter, text: str) -> None:
    for start in range(0, len(text), PART_CHARACTERS):
        _event(writer, _completion({"content": text[start : start + PART_CHARACTERS]}))


def _completion(delta: Mapping[str, str], *, end: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": end}
    kind = "chat.completion.chunk"
    return {"id": "1", "object": kind, "created": 0, "model": "a-model", "choices": [choice]}


def _event(writer: asyncio.StreamWriter, content: object) -> None:
    _chunk(writer, f"data: {json.dumps(content)}\n\n".encode())


def _chunk(writer: asyncio.StreamWriter, content: bytes) -> None:
    writer.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
