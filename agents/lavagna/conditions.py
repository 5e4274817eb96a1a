"""Conditions: what must hold for a commit's changes to apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from lavagna.checks import checked_count, checked_text, checked_type
from lavagna.v1 import entries_pb2 as wire
from lavagna.values import Value, encoded


@dataclass(frozen=True, slots=True)
class VersionIs:
    """The entry's newest version is this one; 0 means that the key was never written."""

    key: str
    version: int


@dataclass(frozen=True, slots=True)
class Exists:
    """The entry exists."""

    key: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The entry does not exist: it was never written, or is deleted or expired."""

    key: str


@dataclass(frozen=True, slots=True)
class ValueIs:
    """The entry exists with exactly this value, byte for byte as the SDK would write it."""

    key: str
    value: Value


@dataclass(frozen=True, slots=True)
class UnchangedSince:
    """The entry has not changed after this revision."""

    key: str
    revision: int


Condition: TypeAlias = VersionIs | Exists | Absent | ValueIs | UnchangedSince
"""What must hold."""


def condition_message(condition: Condition, *, field: str = "condition") -> wire.Condition:
    """The condition as the wire has it.

    Raises:
        Invalid: JSON cannot hold the value, or a number is out of its range.
    """
    kinds = (VersionIs, Exists, Absent, ValueIs, UnchangedSince)
    checked_type(condition, kinds, field=field)
    message = wire.Condition(key=checked_text(condition.key, field=f"{field}.key"))
    match condition:
        case VersionIs(version=version):
            message.version = checked_count(version, field=f"{field}.version")
        case Exists():
            message.exists = True
        case Absent():
            message.exists = False
        case ValueIs(value=value):
            message.value.CopyFrom(encoded(value, field=f"{field}.value"))
        case UnchangedSince(revision=revision):
            message.unchanged_since = checked_count(revision, field=f"{field}.revision")
    return message
