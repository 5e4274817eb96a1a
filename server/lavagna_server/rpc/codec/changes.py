"""Changes and conditions: what a caller wants to become of entries, checked as far as that needs no board."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import timedelta

from lavagna.v1 import entries_pb2
from lavagna_server.domain.entries import Change, Condition, EntryId, Operation, Requirement
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.values import Form, Value, check_value
from lavagna_server.rpc.codec.checks import check_bytes, check_count, check_label, not_negative
from lavagna_server.rpc.codec.entries import entry_id, written_id
from lavagna_server.rpc.codec.times import LONGEST, span_from_wire
from lavagna_server.rpc.codec.values import value_from_wire

SHORTEST_TTL = timedelta(milliseconds=1)


def changes_from_wire(
    messages: Sequence[entries_pb2.Change], *, field: str, limits: Limits
) -> tuple[Change, ...]:
    """The changes of a commit, no entry twice among them.

    Raises:
        Invalid: Naming the field, as in `changes[3].put.value.json`.
    """
    check_count(messages, limits.commit_changes_max, field=field, limit="commit_changes_max")
    changes: list[Change] = []
    seen: set[EntryId] = set()
    size_bytes = 0
    for index, message in enumerate(messages):
        change = change_from_wire(message, field=f"{field}[{index}]", limits=limits)
        if change.operation is not Operation.APPEND:
            if change.id in seen:
                raise Invalid(
                    f"{field}[{index}].key", f"{change.id.key} is changed twice in one commit"
                )
            seen.add(change.id)
        size_bytes += change.weight_bytes
        changes.append(change)
    if size_bytes > limits.commit_bytes_max:
        raise Invalid(
            field,
            f"a commit is limited to {limits.commit_bytes_max} bytes (commit_bytes_max), this has {size_bytes}",
        )
    return tuple(changes)


def conditions_from_wire(
    messages: Sequence[entries_pb2.Condition], *, field: str, limits: Limits
) -> tuple[Condition, ...]:
    """The conditions of a commit.

    Raises:
        Invalid: Naming the field, as in `conditions[0].version`.
    """
    check_count(messages, limits.commit_changes_max, field=field, limit="commit_changes_max")
    return tuple(
        _condition(message, field=f"{field}[{index}]", limits=limits)
        for index, message in enumerate(messages)
    )


def expected_version_from_wire(
    message: entries_pb2.Change | entries_pb2.RevertRequest, *, prefix: str = ""
) -> int | None:
    """The version that the author saw; None when it does not say."""
    if not message.HasField("expected_version"):
        return None
    if message.overwrite:
        raise Invalid(
            f"{prefix}overwrite", "give either the version that you saw or overwrite, not both"
        )
    return not_negative(message.expected_version, field=f"{prefix}expected_version")


def tags_from_wire(tags: Iterable[str], *, field: str, limits: Limits) -> tuple[str, ...]:
    """Labels in Unicode normal form C, sorted, none twice."""
    return tuple(
        sorted({_label(tag, f"{field}[{index}]", limits) for index, tag in enumerate(tags)})
    )


def change_from_wire(message: entries_pb2.Change, *, field: str, limits: Limits) -> Change:
    """One change.

    Raises:
        Invalid: Naming the field, as in `change.put.value.json`.
    """
    id_ = written_id(
        message.kind,
        message.key,
        limits=limits,
        kind_field=f"{field}.kind",
        key_field=f"{field}.key",
    )
    operation, value = _operation(message, field, limits)
    expected = expected_version_from_wire(message, prefix=f"{field}.")
    if operation is Operation.APPEND and (expected is not None or message.overwrite):
        raise Invalid(
            field, "an append makes a new key: it takes no expected_version and no overwrite"
        )
    if operation is Operation.DELETE:
        _check_bare(message, field)
        return Change(id_, operation, expected_version=expected, overwrite=message.overwrite)
    return Change(
        id_,
        operation,
        value,
        expected,
        message.overwrite,
        _tags(message, field, limits) if message.tags else (),
        confidence_from_wire(message.confidence, field=f"{field}.confidence")
        if message.HasField("confidence")
        else None,
        _sources(message, field, limits) if message.sources else (),
        _ttl(message, field, limits) if message.HasField("ttl") else None,
    )


def _operation(
    message: entries_pb2.Change, field: str, limits: Limits
) -> tuple[Operation, Value | None]:
    match message.WhichOneof("operation"):
        case "put":
            return Operation.PUT, value_from_wire(
                message.put.value, field=f"{field}.put.value", limits=limits
            )
        case "append":
            value = value_from_wire(
                message.append.value, field=f"{field}.append.value", limits=limits
            )
            return Operation.APPEND, value
        case "patch":
            patch = Value(Form.JSON, message.patch.merge_json)
            check_value(patch, field=f"{field}.patch.merge_json", limits=limits)
            return Operation.PATCH, patch
        case "delete":
            return Operation.DELETE, None
        case _:
            raise Invalid(field, "say what to do: put, patch, append or delete")


def _check_bare(message: entries_pb2.Change, field: str) -> None:
    """A deletion leaves no version that could carry labels; dropping them silently would be a lie."""
    given = {part.name for part, _ in message.ListFields()}
    for name in ("tags", "confidence", "sources", "ttl"):
        if name in given:
            raise Invalid(f"{field}.{name}", "a deletion cannot carry this")


def confidence_from_wire(confidence: float, *, field: str) -> float:
    """How sure an author is, as given."""
    if not 0.0 <= confidence <= 1.0:  # also false for NaN
        raise Invalid(field, f"must be from 0 to 1, not {confidence}")
    return confidence


def _tags(message: entries_pb2.Change, field: str, limits: Limits) -> tuple[str, ...]:
    check_count(message.tags, limits.tags_max, field=f"{field}.tags", limit="tags_max")
    return tags_from_wire(message.tags, field=f"{field}.tags", limits=limits)


def _label(tag: str, field: str, limits: Limits) -> str:
    check_bytes(tag, limits.tag_bytes_max, field=field, limit="tag_bytes_max")
    label = unicodedata.normalize(
        "NFC", check_label(tag, field=field, characters_max=limits.tag_bytes_max)
    )
    if not label:
        raise Invalid(field, "must not be empty")
    return label


def _sources(message: entries_pb2.Change, field: str, limits: Limits) -> tuple[str, ...]:
    check_count(message.sources, limits.sources_max, field=f"{field}.sources", limit="sources_max")
    for index, source in enumerate(message.sources):
        path = f"{field}.sources[{index}]"
        check_bytes(source, limits.source_bytes_max, field=path, limit="source_bytes_max")
        if not check_label(source, field=path, characters_max=limits.source_bytes_max):
            raise Invalid(path, "must not be empty")
    return tuple(message.sources)


def _ttl(message: entries_pb2.Change, field: str, limits: Limits) -> timedelta:
    most = min(LONGEST, timedelta(seconds=limits.ttl_seconds_max))
    return span_from_wire(message.ttl, field=f"{field}.ttl", least=SHORTEST_TTL, most=most)


def _condition(message: entries_pb2.Condition, *, field: str, limits: Limits) -> Condition:
    id_ = entry_id(
        message.kind,
        message.key,
        limits=limits,
        kind_field=f"{field}.kind",
        key_field=f"{field}.key",
    )
    match message.WhichOneof("requirement"):
        case "version":
            number = not_negative(message.version, field=f"{field}.version")
            return Condition(id_, Requirement.VERSION, number)
        case "exists":
            return Condition(id_, Requirement.EXISTS, int(message.exists))
        case "unchanged_since":
            number = not_negative(message.unchanged_since, field=f"{field}.unchanged_since")
            return Condition(id_, Requirement.UNCHANGED_SINCE, number)
        case "value":
            value = value_from_wire(message.value, field=f"{field}.value", limits=limits)
            return Condition(id_, Requirement.VALUE, value=value)
        case _:
            raise Invalid(field, "say what must hold: version, exists, value or unchanged_since")
