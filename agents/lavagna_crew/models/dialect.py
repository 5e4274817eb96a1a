"""The dialect of a model server: what of the OpenAI interface it understands.

Servers differ in how they can be held to a shape. The strictest way is tried first, and what a
server refuses is left out from then on.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from lavagna_crew.models.shapes import Shape


class Form(Enum):
    """How a server is held to a shape."""

    SCHEMA = "json_schema"
    """It writes nothing else."""
    OBJECT = "json_object"
    """It writes JSON; the prompt says which."""
    TEXT = "text"
    """It writes anything; the prompt says what."""


LOOSER = {Form.SCHEMA: Form.OBJECT, Form.OBJECT: Form.TEXT}


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is asked of a server."""

    form: Form = Form.SCHEMA
    counts_tokens: bool = True
    """Whether it can count tokens at the end of a stream."""

    def fields(self, shape: Shape, *, completion_tokens_max: int | None) -> Mapping[str, Any]:
        """The fields of a request beyond the model and the messages."""
        fields: dict[str, Any] = {}
        if self.counts_tokens:
            fields["stream_options"] = {"include_usage": True}
        if completion_tokens_max is not None:
            fields["max_completion_tokens"] = completion_tokens_max
        if self.form is Form.SCHEMA:
            form = {"name": shape.name, "strict": True, "schema": shape.schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": form}
        elif self.form is Form.OBJECT:
            fields["response_format"] = {"type": "json_object"}
        return fields

    def instruction(self, shape: Shape) -> str:
        """What the prompt must say about the shape; nothing where the server enforces it."""
        if self.form is Form.SCHEMA:
            return ""
        return (
            "Answer with one JSON object and nothing else. It must satisfy this JSON Schema:\n"
            + json.dumps(shape.schema, ensure_ascii=False)
        )

    def without(self, refusal: str) -> "Dialect | None":
        """The next looser dialect, when a refusal is about the dialect; else None."""
        words = refusal.lower()
        if self.counts_tokens and "stream_options" in words:
            return replace(self, counts_tokens=False)
        about_form = any(word in words for word in ("response_format", "schema", "grammar", "json"))
        if about_form and self.form in LOOSER:
            return replace(self, form=LOOSER[self.form])
        return None
