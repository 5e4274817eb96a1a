"""What the board's things look like as JSON; programs rely on these names.

Times are RFC 3339 in UTC, lengths of time are seconds, bytes are in base64, and a field that does not apply is null.
"""

import base64
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, cast

from lavagna import Entry
from lavagna_cli import values
from lavagna_cli.jsontext import Document


def time(at: datetime | None) -> str | None:
    """The time as RFC 3339 has it, to the microsecond, in UTC."""
    return None if at is None else at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def entry(entry: Entry) -> dict[str, Document]:
    """An entry with everything that is known of it."""
    return {
        "key": entry.key,
        "kind": entry.kind.value,
        "version": entry.version,
        "revision": entry.revision,
        "change": entry.change.value,
        "author": entry.author,
        "committed_at": time(entry.committed_at),
        "form": values.form_of(entry),
        "value": values.document(entry),
        "tags": list(entry.tags),
        "confidence": entry.confidence,
        "sources": list(entry.sources),
        "expires_at": time(entry.expires_at),
        "cause": of(entry.cause),
        "basis": of(entry.basis) if entry.basis else None,
    }


def of(thing: Any) -> Document:
    """Any other thing of the SDK, with its fields by their names."""
    match thing:
        case Entry():
            return entry(thing)
        case datetime():
            return time(thing)
        case None | bool() | int() | float() | str():
            return thing
        case bytes():
            return base64.b64encode(thing).decode()
        case Mapping():
            members = cast("Mapping[str, Any]", thing)
            return {name: of(each) for name, each in members.items()}
        case _:
            return _parts(thing)


def _parts(thing: Any) -> Document:
    if is_dataclass(thing):
        return {field.name: of(getattr(thing, field.name)) for field in fields(thing)}
    return [of(each) for each in thing]
