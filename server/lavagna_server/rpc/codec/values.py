"""Values: checked at the door, byte for byte the same on the way back."""

from __future__ import annotations

from lavagna.v1 import entries_pb2
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.values import Form, Value, check_value


def value_from_wire(message: entries_pb2.Value, *, field: str, limits: Limits) -> Value:
    """The value of a message.

    Raises:
        Invalid: It has no content, is too large, or is JSON that readers disagree about.
    """
    match message.WhichOneof("content"):
        case "json":
            value = Value(Form.JSON, message.json)
            check_value(value, field=f"{field}.json", limits=limits)
        case "text":
            value = Value(Form.TEXT, message.text)
            check_value(value, field=f"{field}.text", limits=limits)
        case "data":
            value = Value(Form.DATA, message.data)
            check_value(value, field=f"{field}.data", limits=limits)
        case _:
            raise Invalid(field, "a value is required: give json, text or data")
    return value


def value_to_wire(value: Value) -> entries_pb2.Value:
    """The value as a message."""
    content = value.content
    if isinstance(content, bytes):
        return entries_pb2.Value(data=content)
    if value.form is Form.JSON:
        return entries_pb2.Value(json=content)
    return entries_pb2.Value(text=content)
